"""The folders of the file protocol, kept open, so that no path in them can lead elsewhere."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import time
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING

from gatebell.app.environment import HELPERS, QUESTIONS, WAY, start_of
from gatebell.app.locks import keep_from_children
from gatebell.domain.asks.file_questions import MAX_BYTES
from gatebell.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

INNER = (QUESTIONS, "answers", "agents", "queue")
LOCK, PID, START = ".listener.lock", ".listener.pid", ".listener.start"
_IGNORED = ".gitignore"
TEMPORARY = ".tmp."
"""The prefix of files that are still being written."""
_OPEN_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Non-blocking: a pipe may have replaced the file.
_OPEN_FILE = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
MAX_NAMES = 20_000
"""Limit of files that are read in one folder."""
MODE = 0o700
_NOT_WRITABLE = (errno.EROFS, errno.EACCES, errno.EPERM)
_TRIES = 3
_TRY_EVERY_SECONDS = 0.01


class OddFileError(UsageError):
    """The entry is not a file that may be read."""


class SeveralNamesError(OddFileError):
    """The file has several names: it may also be in another folder, or be moving here."""

    def __init__(self) -> None:
        super().__init__("it has several names")


class Folder:
    """One folder, by its descriptor: a changed path has no effect."""

    def __init__(self, path: str, descriptor: int) -> None:
        self.path, self.descriptor = path, descriptor

    def names(self) -> list[str]:
        # Opened again: a network file system then shows new files.
        descriptor = os.open(".", _OPEN_FOLDER, dir_fd=self.descriptor)
        try:
            with os.scandir(descriptor) as entries:
                return sorted(entry.name for entry in islice(entries, MAX_NAMES))
        finally:
            os.close(descriptor)

    def stamp(self) -> int:
        """Return a value that changes when a file in it is made, renamed or removed."""
        return os.fstat(self.descriptor).st_mtime_ns

    def file_stamp(self, name: str) -> tuple[int, ...]:
        """Return a value that changes when the file is written or replaced; empty if it is gone."""
        with suppress(OSError):
            found = os.stat(name, dir_fd=self.descriptor, follow_symlinks=False)
            return found.st_ino, found.st_size, found.st_mtime_ns
        return ()

    def read(self, name: str) -> bytes:
        """Read a plain file of this user; OddFileError: it is another kind, FileNotFoundError: gone."""
        try:
            # Checked first: anything but a plain file is not even opened.
            _must_be_plain(os.stat(name, dir_fd=self.descriptor, follow_symlinks=False))
            descriptor = os.open(name, os.O_RDONLY | _OPEN_FILE, dir_fd=self.descriptor)
        except FileNotFoundError:
            raise
        except OSError as error:
            raise OddFileError(f"it cannot be opened: {error.strerror}") from None
        with os.fdopen(descriptor, "rb") as file:
            _must_be_plain(os.fstat(descriptor))
            content = file.read(MAX_BYTES + 1)
        if len(content) > MAX_BYTES:
            raise OddFileError(f"it is longer than {MAX_BYTES} bytes")
        return content

    def write(self, name: str, content: bytes) -> None:
        """Write a file completely or not at all, readable for this user only."""
        beside = self._draft(content)
        try:
            self._rename(beside, name)
        except OSError:
            self.remove(beside)
            raise

    def publish(self, name: str, content: bytes) -> None:
        """Write like `write`, so that programs that watch for new files notice it."""
        beside = self._draft(content)
        here = self.descriptor
        try:
            os.link(beside, name, src_dir_fd=here, dst_dir_fd=here, follow_symlinks=False)
        except OSError:
            # The file exists already, or the file system has no links.
            self._rename(beside, name)
        finally:
            self.remove(beside)

    def _rename(self, old: str, new: str) -> None:
        os.replace(old, new, src_dir_fd=self.descriptor, dst_dir_fd=self.descriptor)

    def _draft(self, content: bytes) -> str:
        """Write a new file with this content and return its temporary name."""
        beside = f"{TEMPORARY}{os.getpid()}.{os.urandom(6).hex()}"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _OPEN_FILE
        descriptor = os.open(beside, flags, 0o600, dir_fd=self.descriptor)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
        except OSError:
            self.remove(beside)
            raise
        return beside

    def remove(self, name: str) -> None:
        """Remove a file, unless it is a folder or may not be removed."""
        with suppress(OSError):
            os.unlink(name, dir_fd=self.descriptor)

    def inner(self, name: str) -> Folder:
        """Open a folder that is really inside this one."""
        path = os.path.join(self.path, name)
        return Folder(path, _open(path, name, self.descriptor))

    def close(self) -> None:
        os.close(self.descriptor)


def _must_be_plain(found: os.stat_result) -> None:
    if not stat.S_ISREG(found.st_mode):
        raise OddFileError("it is not a plain file")
    if found.st_nlink != 1:
        raise SeveralNamesError
    if found.st_uid != os.geteuid():
        raise OddFileError("it belongs to another user")
    if found.st_size > MAX_BYTES:
        raise OddFileError(f"it is longer than {MAX_BYTES} bytes")


class Helpers:
    """The folders of one project."""

    def __init__(self, project: str) -> None:
        """Open the folders; UsageError: one is missing, or belongs to others and cannot be repaired."""
        self.project = project
        self.path = os.path.join(project, HELPERS)
        self.repaired: list[str] = []
        if not os.path.lexists(self.path):
            raise UsageError(
                "Project not initialized for HIL.\nPlease run: gate init (in project directory)"
            )
        self._opened: list[Folder] = []
        self._lock = -1
        try:
            self._own = self._keep(Folder(self.path, _open(self.path, self.path, None)))
            self.questions, self.answers, self.agents, self.queue = map(self._inner, INNER)
        except OSError as error:
            self.close()
            if error.errno not in _NOT_WRITABLE:
                raise
            raise _unwritable(self.path, error) from None
        except BaseException:
            self.close()
            raise

    def _inner(self, name: str) -> Folder:
        with suppress(FileExistsError):
            os.mkdir(name, MODE, dir_fd=self._own.descriptor)
            self.repaired.append(f"{os.path.join(self.path, name)} was missing: made again")
        return self._keep(self._own.inner(name))

    def _keep(self, folder: Folder) -> Folder:
        self._opened.append(folder)
        self.repaired += _repair(folder)
        return folder

    def show_the_way(self) -> None:
        """Write the files that `.worktreeinclude` copies to worktrees."""
        self._own.write(_IGNORED, b"*\n")
        self._own.write(WAY, os.fsencode(self.project) + b"\n")

    def hide_the_way(self) -> None:
        self._own.remove(WAY)
        self._own.remove(_IGNORED)

    def hold(self) -> bool:
        """Become the listener until this is closed; return False if another process is."""
        for _ in range(_TRIES):
            self._lock = _lock(self._own, fcntl.LOCK_EX, os.O_CREAT)
            if self._lock >= 0:
                keep_from_children(self._lock)
                return True
            # A process that only checks also holds the lock for an instant.
            time.sleep(_TRY_EVERY_SECONDS)
        return False

    def holder(self) -> int:
        """Return the process that claims to listen here, or 0."""
        return _pid(self._own)

    def write_pid(self) -> None:
        """Write the process number for other programs; only the lock is proof."""
        # The start time first: a process that reads both files must not miss it.
        self._own.write(START, f"{os.getpid()} {start_of(os.getpid())}\n".encode())
        self._own.write(PID, f"{os.getpid()}\n".encode())

    def remove_pid(self) -> None:
        self._own.remove(PID)
        self._own.remove(START)

    def remove_marks(self) -> None:
        """Remove the marks of the last listener."""
        self.remove_pid()
        self._own.remove(LOCK)

    def remove_temporary(self) -> None:
        """Remove the unfinished files of a killed listener."""
        for folder in (self._own, self.answers, self.agents, self.queue):
            for name in folder.names():
                if name.startswith(TEMPORARY):
                    folder.remove(name)

    def is_still_there(self) -> bool:
        """Return whether the paths still lead to the open folders and the lock."""
        paths = [*(folder.path for folder in self._opened), os.path.join(self.path, LOCK)]
        try:
            now = [os.stat(path, follow_symlinks=False) for path in paths]
        except OSError:
            return False
        held = [os.fstat(one) for one in (*(f.descriptor for f in self._opened), self._lock)]
        return [(one.st_dev, one.st_ino) for one in now] == [
            (one.st_dev, one.st_ino) for one in held
        ]

    def close(self) -> None:
        if self._lock >= 0:
            os.close(self._lock)
        for folder in self._opened:
            folder.close()


def listener_of(project: str) -> int | None:
    """Return the process that listens in a project, or None. Changes nothing there."""
    path = os.path.join(project, HELPERS)
    own = Folder(path, _open(path, path, None))
    try:
        lock = _lock(own, fcntl.LOCK_SH, 0)
        if lock >= 0:
            os.close(lock)
            return None
        return _pid(own)
    except FileNotFoundError:
        return None
    finally:
        own.close()


def _lock(own: Folder, how: int, flags: int) -> int:
    """Return an open lock of these folders, or -1 if another process has it."""
    try:
        descriptor = os.open(LOCK, os.O_RDWR | flags | _OPEN_FILE, 0o600, dir_fd=own.descriptor)
    except FileNotFoundError:
        raise
    except OSError as error:
        if error.errno in _NOT_WRITABLE:
            raise _unwritable(own.path, error) from None
        raise UsageError(
            f"{os.path.join(own.path, LOCK)} is not a file of gate ({error.strerror}): remove it"
        ) from None
    try:
        fcntl.flock(descriptor, how | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return -1
    return descriptor


def _unwritable(path: str, error: OSError) -> UsageError:
    return UsageError(
        f"{path} cannot be written ({error.strerror}), and answers are written there: make it "
        "writable for you, or answer without files: gate inbox"
    )


def _pid(own: Folder) -> int:
    with suppress(OSError, OddFileError):
        number = own.read(PID).strip()
        if number.isdigit() and len(number) < 10:
            return int(number)
    return 0


def _open(path: str, name: str, within: int | None) -> int:
    try:
        return os.open(name, _OPEN_FOLDER, dir_fd=within)
    except OSError as error:
        if error.errno in (errno.EMFILE, errno.ENFILE):
            raise
        raise UsageError(
            f"{path} is not a folder of this project ({error.strerror}): remove it, then gate init"
        ) from None


def flaw(path: str, found: os.stat_result) -> str:
    """Describe a fault of a folder that can be repaired; UsageError: the folder is not ours."""
    if not stat.S_ISDIR(found.st_mode):
        raise UsageError(f"{path} is not a folder of this project: remove it, then gate init")
    if found.st_uid != os.geteuid():
        raise UsageError(
            f"{path} belongs to another user, who could put anything there: remove it, "
            "then gate init"
        )
    # An inherited setgid bit gives no other user access.
    mode = stat.S_IMODE(found.st_mode) & 0o777
    return "" if mode == MODE else f"mode {mode:04o}"


def _repair(folder: Folder) -> Sequence[str]:
    """Make a folder private to this user; return a sentence if it was not."""
    wrong = flaw(folder.path, os.fstat(folder.descriptor))
    if not wrong:
        return []
    os.fchmod(folder.descriptor, MODE)
    return [f"{folder.path} had {wrong} and is for you alone now"]
