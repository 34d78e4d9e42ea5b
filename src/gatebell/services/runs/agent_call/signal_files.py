"""The papers of a run in its agents' folder: how an agent signals by file, and what it may read up.

Agents write in that folder. So each turn has a signal file of its own, nothing is followed out of
the folder, and what stands there is read without trust.
"""

from __future__ import annotations

import os
import stat
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from gatebell.errors import GateError

if TYPE_CHECKING:
    from collections.abc import Iterator

CONTEXT = os.path.join(".agents", "context.md")
_PAPERS, _SIGNALS = ".agents", "signals"
_MOST_BYTES = 1_000_000
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def file_of(role: str, turn_id: str) -> str:
    """Within the run's folder."""
    return os.path.join(_PAPERS, _SIGNALS, _name(role, turn_id))


def _name(role: str, turn_id: str) -> str:
    return f"{role}-{turn_id}.json"


def environ(run_id: int, turn_id: str, folder: str, role: str, told_in: str = "") -> dict[str, str]:
    """What an agent needs around it to signal; the folder of its file is made.

    `told_in` is the turn in which it was told of its file, where that is another one.
    """
    with _opened(folder, _PAPERS, _SIGNALS):
        path = os.path.join(folder, file_of(role, told_in or turn_id))
    return {"GATE_TURN": turn_id, "GATE_RUN": str(run_id), "GATE_SIGNAL_FILE": path}


def write_context(folder: str, words: str) -> None:
    """What was said in the run so far; a new file in the old one's place, never through a link."""
    with _opened(folder, _PAPERS) as papers, _opened(folder, _PAPERS, _SIGNALS) as drafts:
        # Papers are no part of anybody's commits.
        _write(papers, drafts, ".gitignore", "*\n")
        _write(papers, drafts, os.path.basename(CONTEXT), words)


def _write(folder: int, drafts: int, name: str, words: str) -> None:
    """Written beside, among what is named by chance: somebody killed here leaves it there."""
    new = f"{name}-{os.urandom(6).hex()}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(os.open(new, flags, 0o644, dir_fd=drafts), "w", encoding="utf-8") as file:
        file.write(words)
    os.rename(new, name, src_dir_fd=drafts, dst_dir_fd=folder)


def clear(folder: str, role: str, turn_id: str) -> None:
    """Remove the file of a turn that is over, before its session is opened once more."""
    with suppress(OSError, GateError), _opened(folder, _PAPERS, _SIGNALS) as signals:
        os.unlink(_name(role, turn_id), dir_fd=signals)
    if text(folder, role, turn_id) is not None:
        path = os.path.join(folder, file_of(role, turn_id))
        raise GateError(
            f"{path} cannot be removed, and its old signal must not count: remove it, then try again"
        )


def text(folder: str, role: str, turn_id: str) -> str | None:
    """What stands in the file of this turn alone; no link, no device, nothing huge."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        with _opened(folder, _PAPERS, _SIGNALS) as signals:
            descriptor = os.open(_name(role, turn_id), flags, dir_fd=signals)
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                return None
            data = os.read(descriptor, _MOST_BYTES + 1)
        finally:
            os.close(descriptor)
    except (OSError, GateError):
        return None
    return data.decode("utf-8", "replace") if len(data) <= _MOST_BYTES else None


@contextmanager
def _opened(folder: str, *inner: str) -> Iterator[int]:
    """A folder within the run's folder, made if it is not there; a link is not followed."""
    here = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for name in inner:
            with suppress(FileExistsError):
                os.mkdir(name, dir_fd=here)
            try:
                deeper = os.open(name, _FOLDER, dir_fd=here)
            except OSError as error:
                raise GateError(
                    f"{os.path.join(folder, *inner)} must be a folder, and no link leads to it "
                    f"({error.strerror}): remove what is in its place, then gate resume"
                ) from None
            os.close(here)
            here = deeper
        yield here
    finally:
        os.close(here)
