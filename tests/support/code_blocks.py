"""The code blocks of README and docs, as tests read and play them."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
PAGES = ("README.md", "CONTRIBUTING.md", "SECURITY.md")
_FENCE = re.compile(
    r"^(?P<indent> *)```(?P<info>[^\n`]*)\n(?P<text>.*?)^(?P=indent)```$", re.MULTILINE | re.DOTALL
)
_NOT_RUN = re.compile(r"\bnot run: (\S.*)$")


class Block(NamedTuple):
    """One block between two fences."""

    page: str
    line: int
    info: str
    text: str

    @property
    def language(self) -> str:
        return self.info.partition(" ")[0]

    @property
    def not_run(self) -> str:
        """The reason why no test runs it; empty if a test runs it."""
        found = _NOT_RUN.search(self.info)
        return found[1] if found else ""

    @property
    def commands(self) -> list[str]:
        """Its command lines: the lines with `$ ` if there are any, else all lines."""
        lines = self.text.replace("\\\n", " ").splitlines()
        typed = [line[2:] for line in lines if line.startswith("$ ")]
        return [line.strip() for line in typed or lines if line.strip()]

    @property
    def exchanges(self) -> list[tuple[str, list[str]]]:
        """Its command lines behind `$ `, each with the lines of output that the block shows."""
        _, *parts = re.split(r"^\$ ", self.text, flags=re.MULTILINE)
        return [(command, shown) for command, *shown in map(str.splitlines, parts)]

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def read_pages() -> dict[str, str]:
    """Return the text of each page for users and contributors; decisions describe the past."""
    paths = [
        *(ROOT / page for page in PAGES),
        *sorted((ROOT / "docs").glob("*.md")),
        *sorted((ROOT / "docs").glob("guides/*.md")),
    ]
    return {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in paths}


def find_blocks(page: str, text: str) -> list[Block]:
    return [
        Block(page, text[: match.start()].count("\n") + 1, match["info"].strip(), match["text"])
        for match in _FENCE.finditer(text)
    ]


def read_blocks() -> list[Block]:
    return [block for page, text in read_pages().items() for block in find_blocks(page, text)]


def find_block(page: str, beginning: str) -> Block:
    """Return the only block of a page with this start."""
    text = (ROOT / page).read_text(encoding="utf-8")
    found = [one for one in find_blocks(page, text) if one.text.startswith(beginning)]
    assert len(found) == 1, f"{len(found)} blocks of {page} begin with {beginning!r}"
    return found[0]


def split_gate_commands(line: str) -> list[list[str]]:
    """Return the words behind each `gate` of a command line, comments left out."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.whitespace_split, lexer.commenters = True, "#"
    commands: list[list[str]] = [[]]
    for word in lexer:
        if set(word) <= set("();<>|&"):
            commands.append([])
        else:
            commands[-1].append(word)
    named = [drop_assignments(words) for words in commands]
    return [words[1:] for words in named if words and words[0] == "gate"]


def drop_assignments(words: list[str]) -> list[str]:
    first = next((n for n, word in enumerate(words) if not re.match(r"[A-Z_]+=", word)), len(words))
    return words[first:]
