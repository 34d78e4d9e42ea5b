"""Read text files of projects, completely or not at all."""

from __future__ import annotations

import os
import re
import stat

from gatebell.adapters.system.folders import settings_file
from gatebell.errors import RefusedError, UsageError

MAX_BYTES = 1_000_000

_IN_A_WORKTREE = re.compile(r"/worktrees/run-\d+(\.old-\d+)?(/|$)")


def read_text(path: str, within: str = "") -> str:
    """Return the text of a file; with `within`, only if it really is in that folder."""
    if within:
        refuse_outside(path, within)
    refuse_worktree(path)
    try:
        # Without blocking: a pipe in place of the file must not block this process.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise UsageError(f"{path} cannot be read: {why}") from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise UsageError(f"{path} is not a regular file")
    with os.fdopen(descriptor, "rb") as file:
        content = file.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        raise UsageError(f"{path} is longer than {MAX_BYTES} bytes: shorten it")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise UsageError(
            f"{path}, line {line}: this is not UTF-8; save the file as UTF-8"
        ) from None


def refuse_outside(path: str, folder: str) -> None:
    """Raise an error if a link leads out of the folder."""
    if not is_inside(path, folder):
        raise RefusedError(f"{path} leads out of {folder}: replace the link by a copy")


def is_inside(path: str, folder: str) -> bool:
    """Return whether a path really leads into a folder."""
    return os.path.realpath(path).startswith(os.path.join(os.path.realpath(folder), ""))


def refuse_worktree(path: str) -> None:
    """Raise an error for a file in a worktree: agents must not edit their own instructions."""
    if _IN_A_WORKTREE.search(os.path.realpath(path)):
        raise RefusedError(
            f"{path} is in the worktree of a run, where agents write: use the file in your project"
        )


def find_user_folder(name: str) -> str:
    """Return a folder beside the user's settings file."""
    return os.path.join(os.path.dirname(settings_file(os.environ)), name)


def list_names(folder: str, ending: str) -> list[str]:
    """Return the names of files with this ending, without it; skip hidden ones and `_…`."""
    try:
        found = os.listdir(folder)
    except OSError:
        return []
    return sorted(
        name.removesuffix(ending)
        for name in found
        if name.endswith(ending) and not name.startswith((".", "_"))
    )
