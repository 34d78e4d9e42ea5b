"""Counts of added and removed lines for each file of a diff."""

from __future__ import annotations

import re
from typing import NamedTuple

_HEAD = "diff --git "
_HUNK = re.compile(r"@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@", re.ASCII)
_NAMES = ("+++ b/", "rename to ")
_QUOTED_NAMES = ('+++ "b/', '--- "a/')


class Changed(NamedTuple):
    """One file of a diff."""

    path: str
    """As git writes it, with unusual names in quotation marks."""
    added: int = 0
    removed: int = 0
    binary: bool = False


def list_changed_files(diff: str) -> list[Changed]:
    """Return the files of a git diff, in order."""
    files: list[Changed] = []
    old = new = 0
    for line in diff.split("\n"):
        if old > 0 or new > 0:
            # A line within a hunk is never a header.
            sign = line[:1]
            old, new = old - (sign in " -"), new - (sign in " +")
            files[-1] = _count_line(files[-1], sign)
        elif line.startswith(_HEAD):
            files.append(Changed(_parse_same_name(line.removeprefix(_HEAD))))
        elif files and (hunk := _HUNK.match(line)):
            old, new = (int(count or 1) for count in hunk.groups())
        elif files:
            files[-1] = _read_head_line(files[-1], line)
    return files


def _count_line(file: Changed, sign: str) -> Changed:
    return file._replace(added=file.added + (sign == "+"), removed=file.removed + (sign == "-"))


def _read_head_line(file: Changed, line: str) -> Changed:
    """Read a header line of a file."""
    if line.startswith("Binary files "):
        return file._replace(binary=True)
    for start in _NAMES:
        if line.startswith(start):
            return file._replace(path=line.removeprefix(start).rstrip("\t"))
    for start in _QUOTED_NAMES:
        # A later +++ line replaces the old name, except for deleted files.
        if line.startswith(start):
            return file._replace(path='"' + line.removeprefix(start).rstrip("\t"))
    return file


def _parse_same_name(pair: str) -> str:
    """Return the name in `a/NAME b/NAME`; empty if the two differ."""
    length = (len(pair) - 5) // 2
    name = pair[2 : 2 + length]
    return name if pair == f"a/{name} b/{name}" else ""
