"""A diff counted by file: how many lines each gained and lost."""

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
    """As git writes it: odd names in quotation marks."""
    added: int = 0
    removed: int = 0
    binary: bool = False


def list_changed_files(diff: str) -> list[Changed]:
    """The files of a diff of git's, in their order."""
    files: list[Changed] = []
    old = new = 0
    for line in diff.split("\n"):
        if old > 0 or new > 0:
            # Within a hunk nothing else counts, whatever a line says.
            sign = line[:1]
            old, new = old - (sign in " -"), new - (sign in " +")
            files[-1] = _count_line(files[-1], sign)
        elif line.startswith(_HEAD):
            files.append(Changed(_same_name(line.removeprefix(_HEAD))))
        elif files and (hunk := _HUNK.match(line)):
            old, new = (int(count or 1) for count in hunk.groups())
        elif files:
            files[-1] = _read_head_line(files[-1], line)
    return files


def _count_line(file: Changed, sign: str) -> Changed:
    return file._replace(added=file.added + (sign == "+"), removed=file.removed + (sign == "-"))


def _read_head_line(file: Changed, line: str) -> Changed:
    """What a line of a file's head says about it."""
    if line.startswith("Binary files "):
        return file._replace(binary=True)
    for start in _NAMES:
        if line.startswith(start):
            return file._replace(path=line.removeprefix(start).rstrip("\t"))
    for start in _QUOTED_NAMES:
        # The name before the change stays only where the file is gone.
        if line.startswith(start):
            return file._replace(path='"' + line.removeprefix(start).rstrip("\t"))
    return file


def _same_name(pair: str) -> str:
    """The name in `a/NAME b/NAME`; nothing where the two differ."""
    length = (len(pair) - 5) // 2
    name = pair[2 : 2 + length]
    return name if pair == f"a/{name} b/{name}" else ""
