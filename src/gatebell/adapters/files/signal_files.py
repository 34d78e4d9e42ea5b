"""The files of a run in its agents' folder: the signal files, and a context file.

Agents write in that folder. So each turn has its own signal file, no link is followed out of the
folder, and the text is untrusted.
"""

from __future__ import annotations

import os
import stat
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from gatebell.domain.runs import signals
from gatebell.errors import GateError

if TYPE_CHECKING:
    from collections.abc import Iterator

_MAX_BYTES = 1_000_000
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_TOP, _CONTEXT = os.path.split(signals.CONTEXT_FILE)
_SIGNALS = signals.SIGNAL_FOLDER.split(os.sep)


class LocalSignalFiles:
    """The files of agents on this machine."""

    def prepare(self, folder: str, role: str, turn_id: str) -> str:
        with _open_folder(folder, *_SIGNALS):
            return os.path.join(folder, signals.signal_file(role, turn_id))

    def read(self, folder: str, role: str, turn_id: str) -> str | None:
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        try:
            with _open_folder(folder, *_SIGNALS) as opened:
                descriptor = os.open(_name(role, turn_id), flags, dir_fd=opened)
            try:
                if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                    return None
                data = os.read(descriptor, _MAX_BYTES + 1)
            finally:
                os.close(descriptor)
        except (OSError, GateError):
            return None
        return data.decode("utf-8", "replace") if len(data) <= _MAX_BYTES else None

    def remove(self, folder: str, role: str, turn_id: str) -> None:
        with suppress(OSError, GateError), _open_folder(folder, *_SIGNALS) as opened:
            os.unlink(_name(role, turn_id), dir_fd=opened)
        if self.read(folder, role, turn_id) is not None:
            path = os.path.join(folder, signals.signal_file(role, turn_id))
            raise GateError(
                f"{path} has an old signal that must not count, and cannot be removed: "
                "delete it, then try again"
            )

    def write_context(self, folder: str, words: str) -> None:
        with _open_folder(folder, _TOP) as top, _open_folder(folder, *_SIGNALS) as drafts:
            # These files must not be in any commit.
            _write(top, drafts, ".gitignore", "*\n")
            _write(top, drafts, _CONTEXT, words)


def _name(role: str, turn_id: str) -> str:
    return os.path.basename(signals.signal_file(role, turn_id))


def _write(folder: int, drafts: int, name: str, words: str) -> None:
    """Replace a file, never through a link.

    The new file is first written under a random name; a process that is killed here leaves it
    there.
    """
    new = f"{name}-{os.urandom(6).hex()}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(os.open(new, flags, 0o644, dir_fd=drafts), "w", encoding="utf-8") as file:
        file.write(words)
    os.rename(new, name, src_dir_fd=drafts, dst_dir_fd=folder)


@contextmanager
def _open_folder(folder: str, *inner: str) -> Iterator[int]:
    """Open a folder below the run's folder, and create it if it is missing; follow no link."""
    here = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for name in inner:
            with suppress(FileExistsError):
                os.mkdir(name, dir_fd=here)
            try:
                deeper = os.open(name, _FOLDER, dir_fd=here)
            except OSError as error:
                raise GateError(
                    f"{os.path.join(folder, *inner)} must be a folder, not a link "
                    f"({error.strerror}): remove it, then run gate resume"
                ) from None
            os.close(here)
            here = deeper
        yield here
    finally:
        os.close(here)
