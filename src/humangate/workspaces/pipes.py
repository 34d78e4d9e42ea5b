"""Pipes and devices that stand where git reads a file: it would wait for them without end."""

from __future__ import annotations

import os
import stat
from collections import deque
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_READ = (".gitignore", ".gitattributes", ".gitmodules", ".worktreeinclude")
_IN_GIT = f"{os.sep}.git{os.sep}"
_MOST_ENTRIES = 200_000


def find(folder: str, git_dir: str) -> str:
    """The first of them, of those in the worktree and in its git folder; or nothing."""
    beside, name = os.path.split(os.path.dirname(git_dir))
    shared = beside if name == "worktrees" else git_dir
    in_git = (entry.path for entry in _entries(shared) if _blocks(entry))
    in_folder = (
        entry.path
        for entry in _entries(folder)
        if (entry.name in _READ or _IN_GIT in entry.path) and _blocks(entry)
    )
    return next(in_git, "") or next(in_folder, "")


def _entries(top: str) -> Iterator[os.DirEntry[str]]:
    return islice(_all_entries(top), _MOST_ENTRIES)


def _all_entries(top: str) -> Iterator[os.DirEntry[str]]:
    """Those near the top first, so that nothing can be hidden in front of them."""
    folders = deque([top])
    while folders:
        with suppress(OSError), os.scandir(folders.popleft()) as entries:
            for entry in entries:
                yield entry
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)


def _blocks(entry: os.DirEntry[str]) -> bool:
    with suppress(OSError):
        mode = entry.stat().st_mode
        return stat.S_ISFIFO(mode) or stat.S_ISCHR(mode) or stat.S_ISBLK(mode)
    return False
