"""Retired words: `python -m tests.retired_words` prints how often they are still used.

With `--lower` it lowers the ceilings of tests/retired_words.txt to the present counts.
"""

from __future__ import annotations

import re
import sys
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
LIST = Path(__file__).with_suffix(".txt")
_FOLDERS = ("src", "docs", "examples", "bench")
_PAGES = ("README.md", "CONTRIBUTING.md", "AGENTS.md", "SECURITY.md")
_ENDINGS = (".py", ".md", ".html", ".sql", ".js", ".css", ".sh")
# Decisions describe the past, and a released migration is never edited.
_HISTORY = {ROOT / "docs" / "decisions", ROOT / "src/gatebell/adapters/sqlite/migrations"}
# HighRoad counts as two words.
_INNER_CAPITAL = re.compile(r"(?<=[a-z])(?=[A-Z])")


class Retired(NamedTuple):
    """One line of the list."""

    words: tuple[str, ...]
    instead: str
    ceiling: int
    allowed: tuple[str, ...] = ()

    def count(self, text: str) -> int:
        """Return how often the words are used, also inside of names, without the allowed uses."""
        text = _lower(text)
        # Most words are never used, and an expression reads a text much more slowly than `in`.
        if not any(word in text for word in self.words):
            return 0
        if self.allowed:
            uses = "|".join(re.escape(use.lower()) for use in self.allowed)
            text = re.sub(rf"(?<![a-z])(?:{uses})", "", text)
        return len(re.findall(rf"(?<![a-z])(?:{'|'.join(self.words)})(?![a-z])", text))

    def __str__(self) -> str:
        line = f"{' '.join(self.words)} | {self.instead} | {self.ceiling} | "
        return (line + "; ".join(self.allowed)).rstrip(" ")


@lru_cache(1)
def _lower(text: str) -> str:
    """Return a text in small letters; each word of the list is counted in the same long text."""
    return text.lower()


def parse_line(line: str) -> Retired:
    words, instead, ceiling, allowed = (part.strip() for part in line.split("|"))
    uses = tuple(one.strip() for one in allowed.split(";") if one.strip())
    return Retired(tuple(words.split()), instead, int(ceiling), uses)


def read_list() -> list[Retired]:
    lines = LIST.read_text(encoding="utf-8").splitlines()
    return [parse_line(line) for line in lines if line and not line.startswith("#")]


def read_project() -> dict[str, str]:
    """Return the text of each file that must not use these words, with inner capitals set apart."""
    below = (path for folder in _FOLDERS for path in sorted((ROOT / folder).rglob("*")))
    paths = [
        path for path in below if path.suffix in _ENDINGS and _HISTORY.isdisjoint(path.parents)
    ]
    paths += [ROOT / page for page in _PAGES]
    return {
        path.relative_to(ROOT).as_posix(): _INNER_CAPITAL.sub("_", path.read_text(encoding="utf-8"))
        for path in paths
    }


def lower_ceilings(whole: str) -> None:
    lines = LIST.read_text(encoding="utf-8").splitlines()
    for number, line in enumerate(lines):
        if line and not line.startswith("#"):
            word = parse_line(line)
            lines[number] = str(word._replace(ceiling=min(word.ceiling, word.count(whole))))
    LIST.write_text("\n".join(lines) + "\n", encoding="utf-8")


def main(words: list[str]) -> int:
    """Print each retired word with its count, and the files that use it most."""
    texts = read_project()
    if words == ["--lower"]:
        lower_ceilings("\n".join(texts.values()))
    for word in read_list():
        found = {name: number for name, text in texts.items() if (number := word.count(text))}
        most = sorted(found, key=lambda name: -found[name])[:3]
        places = ", ".join(f"{name} {found[name]}" for name in most)
        print(f"{sum(found.values()):4} of {word.ceiling:4}  {word.words[0]:12} {places}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
