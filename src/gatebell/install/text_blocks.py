"""Put our lines into a user's text file between two marks; keep every other line unchanged."""

from __future__ import annotations

from typing import NamedTuple

from gatebell.errors import UsageError


class Block(NamedTuple):
    """Our lines. The first is the begin mark, the last ends with the end mark."""

    begin: str
    end: str
    lines: tuple[str, ...]

    @property
    def text(self) -> str:
        return "\n".join(self.lines) + "\n"

    @property
    def gap(self) -> str:
        """Return the separator from the text before it."""
        return "" if self.begin == self.end else "\n"


def markdown(*lines: str, name: str = "gatebell") -> Block:
    begin, end = f"<!-- {name} -->", f"<!-- /{name} -->"
    return Block(begin, end, (begin, *lines, end))


def line(text: str) -> Block:
    """Return a block of one line, which is also its mark."""
    return Block(text, text, (text,))


def patterns(*lines: str) -> Block:
    """Return a block for files like `.gitignore`, where a comment needs its own line."""
    begin, end = "# gatebell", "# /gatebell"
    return Block(begin, end, (begin, *lines, end))


def build_comment_block(*lines: str) -> Block:
    """Return a block for files whose comments begin with `#`.

    The end mark shares a line with our last one. Codex moves a separate comment at the end of its
    settings behind the lines that it adds itself [seen with 0.166.0].
    """
    begin, end = "# gatebell: begin", "# gatebell: end"
    return Block(begin, end, (begin, *lines[:-1], f"{lines[-1]}  {end}"))


def put(text: str, file: str, block: Block, old: Block | None) -> str:
    """Return the text with the block, at its old place or at the end."""
    found = _find(text, file, block)
    if found is None:
        ended = "" if text.endswith("\n") else "\n"
        return text + _as_in(text, (ended + block.gap if text else "") + block.text)
    if old in (None, block) and is_whole(text, file, block):
        return text
    lines = text.splitlines(keepends=True)
    foreign = _find_foreign_lines(lines[found], old or block)
    return "".join(
        [*lines[: found.start], _as_in(text, block.text), *foreign, *lines[found.stop :]]
    )


def cut(text: str, file: str, block: Block) -> str:
    """Return the text without our lines; foreign lines between them stay."""
    found = _find(text, file, block)
    if found is None:
        return text
    lines = text.splitlines(keepends=True)
    head = lines[: found.start]
    if block.gap and head and not head[-1].strip():
        head.pop()
    return "".join([*head, *_find_foreign_lines(lines[found], block), *lines[found.stop :]])


def is_there(text: str, file: str, block: Block) -> bool:
    """Return whether the marks of the block are in the text, with any lines between them."""
    return _find(text, file, block) is not None


def is_whole(text: str, file: str, block: Block) -> bool:
    found = _find(text, file, block)
    if found is None:
        return False
    ours = iter(_plain(text.splitlines(keepends=True)[found]))
    return all(line in ours for line in block.lines)


def _as_in(text: str, ours: str) -> str:
    """Return our lines with the line ends of the text."""
    return ours.replace("\n", "\r\n") if text.count("\r\n") * 2 > text.count("\n") else ours


def _find(text: str, file: str, block: Block) -> slice | None:
    lines = [line.rstrip() for line in text.splitlines()]
    if block.begin not in lines:
        return None
    start = lines.index(block.begin)
    for stop in range(start, len(lines)):
        if lines[stop].endswith(block.end):
            return slice(start, stop + 1)
    raise UsageError(
        f"{file} has the line {block.begin!r} but no {block.end!r} after it: repair that"
    )


def _plain(lines: list[str]) -> list[str]:
    return [line.rstrip("\r\n") for line in lines]


def _find_foreign_lines(lines: list[str], block: Block) -> list[str]:
    """Return the lines between the marks that are not ours, in their order."""
    # Imported here: only a block with foreign lines needs it.
    from difflib import SequenceMatcher

    matcher = SequenceMatcher(None, list(block.lines), _plain(lines), autojunk=False)
    foreign: list[str] = []
    for tag, _, _, start, stop in matcher.get_opcodes():
        if tag != "equal":
            foreign += _keep_tables(lines[start:stop], block)
    return foreign


def _keep_tables(lines: list[str], block: Block) -> list[str]:
    """Return the lines that are valid without ours: in settings, from the first table on."""
    lines = [line for line in lines if not line.rstrip().endswith((block.begin, block.end))]
    if not block.begin.startswith("#"):
        return lines
    headings = [number for number, line in enumerate(lines) if line.lstrip().startswith("[")]
    return lines[headings[0] :] if headings else []
