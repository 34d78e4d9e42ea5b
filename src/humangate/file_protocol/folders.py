"""The folders of the file protocol, held open: nothing in them can lead anywhere else."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING

from humangate.domain.file_questions import MOST_BYTES
from humangate.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

HELPERS = ".helpers"
INNER = ("questions", "answers", "agents", "queue")
LOCK, PID = ".listener.lock", ".listener.pid"
_OPEN_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_MOST_NAMES = 20_000
_MODE = 0o700


class OddFileError(UsageError):
    """What stands there is no file that anybody should read."""


class Folder:
    """One folder, by its descriptor: whatever its path leads to by now."""

    def __init__(self, path: str, descriptor: int) -> None:
        self.path, self._descriptor = path, descriptor

    def names(self) -> list[str]:
        with os.scandir(self._descriptor) as entries:
            return sorted(entry.name for entry in islice(entries, _MOST_NAMES))

    def stamp(self) -> int:
        """Another one whenever something was made, renamed or removed in it."""
        return os.fstat(self._descriptor).st_mtime_ns

    def file_stamp(self, name: str) -> tuple[int, ...]:
        """Another one whenever the file was written or replaced; empty: it is gone."""
        with suppress(OSError):
            found = os.stat(name, dir_fd=self._descriptor, follow_symlinks=False)
            return found.st_ino, found.st_size, found.st_mtime_ns
        return ()

    def read(self, name: str) -> bytes:
        """A plain file of our own, whole; OddFileError: it is none. FileNotFoundError: it is gone."""
        try:
            # Without waiting: there may be a pipe in its place.
            descriptor = os.open(
                name,
                os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC,
                dir_fd=self._descriptor,
            )
        except FileNotFoundError:
            raise
        except OSError as error:
            raise OddFileError(f"it cannot be opened: {error.strerror}") from None
        with os.fdopen(descriptor, "rb") as file:
            found = os.fstat(descriptor)
            if why := _oddness(found):
                raise OddFileError(why)
            content = file.read(MOST_BYTES + 1)
        if len(content) > MOST_BYTES:
            raise OddFileError(f"it is longer than {MOST_BYTES} bytes")
        return content

    def write(self, name: str, content: bytes) -> None:
        """Whole or not at all, for the user alone."""
        beside = f".tmp.{os.getpid()}.{os.urandom(6).hex()}"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(beside, flags, 0o600, dir_fd=self._descriptor)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
            os.replace(beside, name, src_dir_fd=self._descriptor, dst_dir_fd=self._descriptor)
        except OSError:
            with suppress(OSError):
                os.unlink(beside, dir_fd=self._descriptor)
            raise

    def remove(self, name: str) -> None:
        with suppress(FileNotFoundError):
            os.unlink(name, dir_fd=self._descriptor)

    def inner(self, name: str) -> Folder:
        """A folder in this one, that is really in it."""
        path = os.path.join(self.path, name)
        return Folder(path, _opened(path, name, self._descriptor))

    def close(self) -> None:
        os.close(self._descriptor)


def _oddness(found: os.stat_result) -> str:
    if not stat.S_ISREG(found.st_mode):
        return "it is no plain file"
    if found.st_nlink != 1:
        return "it has several names"
    if found.st_uid != os.geteuid():
        return "it is another user's"
    return ""


class Helpers:
    """The folders of one project."""

    def __init__(self, project: str) -> None:
        """UsageError: they are not there, or not ours alone and cannot safely be made so."""
        self.project = project
        self.path = os.path.join(project, HELPERS)
        self.repaired: list[str] = []
        if not os.path.lexists(self.path):
            raise UsageError(
                f"{project} is not set up for questions in files: gate init, in that folder"
            )
        self._opened: list[Folder] = []
        self._own = self._open(self.path)
        self.questions, self.answers, self.agents, self.queue = (
            self._open_inner(name) for name in INNER
        )

    def _open(self, path: str) -> Folder:
        return self._kept(Folder(path, _opened(path, path, None)))

    def _open_inner(self, name: str) -> Folder:
        with suppress(FileExistsError):
            os.mkdir(os.path.join(self.path, name), _MODE)
            self.repaired.append(f"{name} was missing")
        return self._kept(self._own.inner(name))

    def _kept(self, folder: Folder) -> Folder:
        self._opened.append(folder)
        self.repaired += _repaired(folder)
        return folder

    def write_pid(self) -> None:
        """For those who look for it; who really listens is told by the lock."""
        self._own.write(PID, f"{os.getpid()}\n".encode())

    def remove_pid(self) -> None:
        self._own.remove(PID)

    @property
    def lock_path(self) -> str:
        return os.path.join(self.path, LOCK)

    def is_still_there(self) -> bool:
        """Whether the path still leads to the folders that are held open."""
        try:
            now = [os.stat(folder.path, follow_symlinks=False) for folder in self._opened]
        except OSError:
            return False
        held = [os.fstat(folder._descriptor) for folder in self._opened]  # noqa: SLF001
        return [one.st_ino for one in now] == [one.st_ino for one in held]

    def close(self) -> None:
        for folder in self._opened:
            folder.close()


def _opened(path: str, name: str, within: int | None) -> int:
    try:
        return os.open(name, _OPEN_FOLDER, dir_fd=within)
    except OSError as error:
        raise UsageError(
            f"{path} is no folder of this project ({error.strerror}): remove it, then gate init"
        ) from None


def _repaired(folder: Folder) -> Sequence[str]:
    """Make a folder the user's own; a sentence when it was not."""
    found = os.fstat(folder._descriptor)  # noqa: SLF001
    if found.st_uid != os.geteuid():
        raise UsageError(
            f"{folder.path} belongs to another user, who could put anything there: remove it, "
            "then gate init"
        )
    if stat.S_IMODE(found.st_mode) == _MODE:
        return []
    os.fchmod(folder._descriptor, _MODE)  # noqa: SLF001
    return [f"{folder.path} was open to others (mode {stat.S_IMODE(found.st_mode):o})"]
