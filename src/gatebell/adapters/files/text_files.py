"""Texts that people keep in their projects for us: read whole, or refused with a sentence."""

from __future__ import annotations

import os
import re
import stat

from gatebell.adapters.system.folders import settings_file
from gatebell.errors import RefusedError, UsageError

MAX_BYTES = 1_000_000

_IN_A_WORKTREE = re.compile(r"/worktrees/run-\d+(\.old-\d+)?(/|$)")


def read_text(path: str, within: str = "") -> str:
    """The text of a file; with `within`, of one that really lies in that folder."""
    if within:
        refuse_outside(path, within)
    refuse_worktree(path)
    try:
        # Without blocking: a pipe in the file's place must hold nobody up.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise UsageError(f"{path} cannot be read: {why}") from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise UsageError(f"{path} is not a file")
    with os.fdopen(descriptor, "rb") as file:
        content = file.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        raise UsageError(f"{path} is longer than {MAX_BYTES} bytes")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise UsageError(
            f"{path}, line {line}: this is not UTF-8; save the file as UTF-8"
        ) from None


def refuse_outside(path: str, folder: str) -> None:
    """A link in a project must not lead to what is not part of it."""
    if not is_inside(path, folder):
        raise RefusedError(f"{path} leads out of {folder}: put a copy in its place")


def is_inside(path: str, folder: str) -> bool:
    """Whether a path really leads into a folder."""
    return os.path.realpath(path).startswith(os.path.join(os.path.realpath(folder), ""))


def refuse_worktree(path: str) -> None:
    """What agents may write to must not say what agents do."""
    if _IN_A_WORKTREE.search(os.path.realpath(path)):
        raise RefusedError(
            f"{path} lies in the worktree of a run, where agents write: use the one in your project"
        )


def user_folder(name: str) -> str:
    """A folder of the user's own settings."""
    return os.path.join(os.path.dirname(settings_file(os.environ)), name)


def names_in(folder: str, ending: str) -> list[str]:
    """The names of the files with this ending, without it; hidden ones and `_…` are nobody's."""
    try:
        found = os.listdir(folder)
    except OSError:
        return []
    return sorted(
        name.removesuffix(ending)
        for name in found
        if name.endswith(ending) and not name.startswith((".", "_"))
    )
