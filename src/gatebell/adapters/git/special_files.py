"""Find pipes and devices in place of git's files: git would wait for them for ever."""

from __future__ import annotations

import os
import stat
from collections import deque
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING

from gatebell.adapters.git.git_folders import read_file
from gatebell.errors import GateError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_READ = (".gitignore", ".gitattributes", ".gitmodules", ".worktreeinclude")
_IN_GIT = f"{os.sep}.git{os.sep}"
_MAX_ENTRIES = 200_000
_MAX_ALTERNATES = 100


def find(folder: str, git_dir: str) -> str:
    """Return the first pipe or device in the worktree or its git folder, or ""."""
    beside, name = os.path.split(os.path.dirname(git_dir))
    shared = beside if name == "worktrees" else git_dir
    tops = (shared, *_list_alternates(os.path.join(shared, "objects")))
    in_git = (entry.path for entry in _list_entries(*tops, links=True) if _is_blocking(entry))
    in_folder = (
        entry.path
        for entry in _list_entries(folder)
        if (entry.name in _READ or _IN_GIT in entry.path) and _is_blocking(entry)
    )
    return next(in_git, "") or next(in_folder, "")


def _list_alternates(objects: str) -> list[str]:
    """Return the other folders in which git looks for objects, and those that they name."""
    found = [objects]
    for folder in islice(found, _MAX_ALTERNATES):
        with suppress(GateError):
            named = os.fsdecode(read_file(os.path.join(folder, "info", "alternates"))).split("\n")
            found += [os.path.join(folder, name) for name in named if name and name[0] != "#"]
    # Only the parts that git reads: such a folder may have pipes that do not matter.
    return [
        os.path.join(one, part) for one in found[1:_MAX_ALTERNATES] for part in _list_parts(one)
    ]


def _list_parts(objects: str) -> list[str]:
    with suppress(OSError):
        return [name for name in os.listdir(objects) if name in ("info", "pack") or len(name) == 2]
    return []


def _list_entries(*tops: str, links: bool = False) -> Iterator[os.DirEntry[str]]:
    return islice(_walk_entries(tops, links), _MAX_ENTRIES)


def _walk_entries(tops: Iterable[str], links: bool) -> Iterator[os.DirEntry[str]]:
    """Yield entries near the top first, so that a large folder cannot hide them."""
    folders, seen = deque(tops), set()
    while folders:
        folder = folders.popleft()
        with suppress(OSError):
            here = os.stat(folder)
            if (here.st_dev, here.st_ino) in seen:
                continue
            seen.add((here.st_dev, here.st_ino))
            with os.scandir(folder) as entries:
                for entry in entries:
                    yield entry
                    if entry.is_dir(follow_symlinks=links):
                        folders.append(entry.path)


def _is_blocking(entry: os.DirEntry[str]) -> bool:
    with suppress(OSError):
        mode = entry.stat().st_mode
        return stat.S_ISFIFO(mode) or stat.S_ISCHR(mode) or stat.S_ISBLK(mode)
    return False
