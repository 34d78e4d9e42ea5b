"""Wraps the prose of the pages at 100 columns: `make docs`.

Only paragraphs with a line that is too wide are laid out again. Code blocks, tables, headings and
pictures stay as they are.
"""

from __future__ import annotations

import re
from pathlib import Path

WIDTH = 100
ROOT = Path(__file__).parents[1]
# Words between blanks; a code span or a link is not broken.
_WORD = re.compile(r"(?:`[^`]*`|\[[^\]]*\]\([^)]*\)|[^\s`\[]|\[|`)+")
_ITEM = re.compile(r"(\s*(?:[-*+]|\d+\.)\s+(?:\[[ x]\] )?)(.*)")
_LEFT_ALONE = ("|", "#", "!", "<", "```", ">", "---")
# At the start of a line these would begin a list, a heading, a quotation or a table.
_BEGINS_SOMETHING = re.compile(r"([-*+>|]|#+|\d+[.)])$|[|>#`]{3}")


def pages() -> list[Path]:
    """Return the pages for users and contributors; decisions and the changelog tell how it was."""
    top = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "AGENTS.md")]
    return [
        *top,
        *sorted((ROOT / "docs").glob("*.md")),
        *sorted((ROOT / "docs").glob("guides/*.md")),
    ]


def wrap_page(text: str) -> str:
    lines: list[str] = []
    paragraph: list[str] = []
    fence = ""
    for line in text.splitlines():
        bare = line.strip()
        if fence or bare.startswith("```"):
            lines += [*wrap_paragraph(paragraph), line]
            paragraph = []
            fence = "" if fence and bare == "```" else "```"
        elif not bare or bare.startswith(_LEFT_ALONE):
            lines += [*wrap_paragraph(paragraph), line]
            paragraph = []
        elif _ITEM.match(line):
            lines += wrap_paragraph(paragraph)
            paragraph = [line]
        else:
            paragraph.append(line)
    return "\n".join([*lines, *wrap_paragraph(paragraph)]) + "\n"


def wrap_paragraph(lines: list[str]) -> list[str]:
    """Lay one paragraph or list item out, if it is too wide."""
    if all(len(line) <= WIDTH for line in lines):
        return lines
    item = _ITEM.match(lines[0])
    indent = len(lines[0]) - len(lines[0].lstrip())
    first, rest = (item[1], " " * len(item[1])) if item else (" " * indent, " " * indent)
    text = " ".join([item[2] if item else lines[0], *lines[1:]])
    wrapped: list[str] = []
    line = first
    for number, part in enumerate(split_words(text)):
        if number and len(line) + len(part) + 1 > WIDTH:
            wrapped.append(line)
            line = rest + part
        else:
            line += f" {part}" if number else part
    return [*wrapped, line]


def split_words(text: str) -> list[str]:
    """Return the parts between which a line may end."""
    parts: list[str] = []
    for word in _WORD.findall(text):
        if parts and _BEGINS_SOMETHING.match(word):
            parts[-1] += f" {word}"
        else:
            parts.append(word)
    return parts


def main() -> None:
    for page in pages():
        text = page.read_text(encoding="utf-8")
        if (wrapped := wrap_page(text)) != text:
            page.write_text(wrapped, encoding="utf-8")


if __name__ == "__main__":
    main()
