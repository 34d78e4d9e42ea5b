"""Counts of dialect words and bare participles: `python -m tests.language` prints them.

Dialect words are counted in docstrings, comments and pages, bare participles among the names of
functions.
"""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
PAGES = ("README.md", "AGENTS.md", "CONTRIBUTING.md", "SECURITY.md")
PLACES = ("src", "tests", "bench", "docs", "examples")
# A foreign program, kept unchanged.
_FOREIGN = "original_file_protocol"
_WORST = 15
DIALECT = re.compile(
    r"""
    \bwhoever\b | \b(some|no|any)body\b | \b(stands?|stood)\b | \b(is|are|was|were)\ told\b
    | \bwhat\ (is|was|are|were|has|had|it|they|an|a|the|people|agents?|others|somebody|nobody)\b
    | \b(is|are|was)\ no\b | \ball\ (that|of\ it|of\ that)\b | \btrouble\b | \broads?\b
    | \b(anew|afresh)\b | \bmeanwhile\b
    """,
    re.VERBOSE | re.IGNORECASE,
)
# Code blocks and code spans are left out: a page must name a field as the product names it.
_CODE = re.compile(r"^ *```.*?^ *```$|`[^`]*`", re.MULTILINE | re.DOTALL)
PARTICIPLE = re.compile(r"\w+ed|told|made|kept|heard|said|found|given|taken|held|met|gone")
_WORD = re.compile(r"[^\W_][\w'’-]*")
# It finds the same comments as the module tokenize, in a thirtieth of the time.
_STRING_OR_COMMENT = re.compile(
    r"""
    \"{3} (?:\\.|[^\\])*? \"{3} | '{3} (?:\\.|[^\\])*? '{3}
    | " (?:\\.|[^"\\\n])* " | ' (?:\\.|[^'\\\n])* ' | \#[^\n]*
    """,
    re.VERBOSE | re.DOTALL,
)


class Count(NamedTuple):
    """The figures of one file, or of several together."""

    words: int = 0
    dialect: int = 0
    functions: int = 0
    participles: tuple[str, ...] = ()

    def __add__(self, other: object) -> Count:
        assert isinstance(other, Count)
        return Count(*(one + two for one, two in zip(self, other, strict=True)))

    @property
    def dialect_per_thousand(self) -> float:
        return 1000 * self.dialect / max(self.words, 1)

    @property
    def participle_percent(self) -> float:
        return 100 * len(self.participles) / max(self.functions, 1)


def list_statements(source: str) -> list[ast.AST]:
    """Return the statements of a file at every depth. Expressions are left out: they are many."""
    found: list[ast.AST] = [ast.parse(source)]
    for node in found:
        for part in ("body", "handlers", "cases", "orelse", "finalbody"):
            inner = getattr(node, part, None)
            # The body of a lambda is an expression, not a list.
            if isinstance(inner, list):
                found += inner
    return found


def read_prose(source: str, statements: list[ast.AST]) -> list[str]:
    """Return the docstrings of a file, those of attributes too, and its comments."""
    docstrings = [
        node.value.value
        for node in statements
        if isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    ]
    return [" ".join(text.split()) for text in (*docstrings, *join_comments(source))]


def join_comments(source: str) -> list[str]:
    """Return the comments, adjacent lines as one: a sentence may span two lines."""
    joined: list[str] = []
    row, last_row, place = 1, 0, 0
    for match in _STRING_OR_COMMENT.finditer(source):
        if not match[0].startswith("#"):
            continue
        row += source.count("\n", place, match.start())
        text = match[0].lstrip("#! ")
        if joined and row == last_row + 1:
            joined[-1] += f" {text}"
        else:
            joined.append(text)
        last_row, place = row, match.start()
    return joined


def is_bare_participle(name: str) -> bool:
    bare = name.strip("_")
    return "_" not in bare and bool(PARTICIPLE.fullmatch(bare))


def find_functions(statements: list[ast.AST]) -> list[str]:
    return [
        node.name for node in statements if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]


def count_source(source: str) -> Count:
    statements = list_statements(source)
    prose = read_prose(source, statements)
    functions = find_functions(statements)
    return Count(
        words=sum(len(_WORD.findall(text)) for text in prose),
        dialect=sum(len(DIALECT.findall(text)) for text in prose),
        functions=len(functions),
        participles=tuple(filter(is_bare_participle, functions)),
    )


def count_files(*places: str) -> dict[str, Count]:
    """Return the figures of each Python file below these folders of the project."""
    paths = [path for place in places for path in sorted((ROOT / place).rglob("*.py"))]
    return {
        path.relative_to(ROOT).as_posix(): count_source(path.read_text(encoding="utf-8"))
        for path in paths
        if _FOREIGN not in path.parts
    }


def count_page(text: str) -> Count:
    prose = " ".join(_CODE.sub(" ", text).split())
    return Count(words=len(_WORD.findall(prose)), dialect=len(DIALECT.findall(prose)))


def count_pages() -> dict[str, Count]:
    """Return the figures of each page for users and contributors. Decisions tell how it was."""
    paths = [
        *(ROOT / name for name in PAGES),
        *sorted((ROOT / "docs").glob("*.md")),
        *sorted((ROOT / "docs").glob("guides/*.md")),
    ]
    return {
        path.relative_to(ROOT).as_posix(): count_page(path.read_text(encoding="utf-8"))
        for path in paths
    }


def describe(name: str, count: Count) -> str:
    return (
        f"{name}: {count.dialect} dialect words, {count.dialect_per_thousand:.1f} per 1,000 of "
        f"{count.words}; {len(count.participles)} bare participles, "
        f"{count.participle_percent:.1f} % of {count.functions} functions"
    )


def main(places: list[str]) -> int:
    """Print the figures of each folder, and the files that have the most of both."""
    everything = {place: count_files(place) for place in places}
    for place, files in everything.items():
        print(describe(place, sum(files.values(), Count())))
    counts = {name: count for files in everything.values() for name, count in files.items()}
    print("\nmost dialect words:")
    for name in sorted(counts, key=lambda one: -counts[one].dialect)[:_WORST]:
        print(f"{counts[name].dialect:4}  {name}")
    print("\nmost functions named by a bare participle:")
    for name in sorted(counts, key=lambda one: -len(counts[one].participles))[:_WORST]:
        found = counts[name].participles
        print(f"{len(found):4}  {name}: {' '.join(found)}")
    pages = count_pages()
    total = sum(pages.values(), Count())
    print(f"\npages: {total.dialect_per_thousand:.1f} dialect words per 1,000 of {total.words}")
    for name in sorted(pages, key=lambda one: -pages[one].dialect):
        if pages[name].dialect:
            print(f"{pages[name].dialect_per_thousand:6.1f}  {name}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or list(PLACES)))
