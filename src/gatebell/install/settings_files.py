"""Read and replace users' settings files: always whole, never half written."""

from __future__ import annotations

import os
import secrets
import stat
from contextlib import suppress
from typing import TYPE_CHECKING

from gatebell.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable


def read(path: str) -> bytes | None:
    """Return the file's bytes; None if there is no such file."""
    try:
        # Without waiting: a pipe in its place would block the read.
        with open(path, "rb", opener=_open_file) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise UsageError(f"{path} is not a regular file, so it is left alone")
            return file.read()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from None


def _open_file(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK)


def text_of(content: bytes | None, path: str) -> str:
    try:
        return (content or b"").decode("utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not UTF-8 (byte {error.start}), so it is left alone") from None


def write(path: str, content: bytes, private: bool = False, mode: int | None = None) -> None:
    """Replace the file's content in one step; keep its mode, unless `mode` is given."""
    folder = os.path.dirname(path)
    temporary = os.path.join(folder, f".{os.path.basename(path)}.{secrets.token_hex(4)}")
    try:
        os.makedirs(folder, mode=0o700 if private else 0o777, exist_ok=True)
        made = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600 if private else 0o666)
        try:
            with os.fdopen(made, "wb") as file:
                if mode is not None:
                    os.fchmod(made, mode)
                elif os.path.exists(path):
                    os.fchmod(made, os.stat(path).st_mode & 0o7777)
                file.write(content)
                file.flush()
                os.fsync(made)
            os.replace(temporary, path)
        except BaseException:
            os.unlink(temporary)
            raise
        _sync(folder)
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}") from None


def remove(path: str, folders: tuple[str, ...] = ()) -> None:
    """Remove the file, and then these folders if they are empty."""
    try:
        os.unlink(path)
        _sync(os.path.dirname(path))
    except FileNotFoundError:
        pass
    except OSError as error:
        raise UsageError(f"{path} cannot be removed: {error.strerror}") from None
    for folder in folders:
        try:
            os.rmdir(folder)
        except OSError:
            return


def remove_folders(folders: Iterable[str]) -> None:
    """Remove those of the folders that are empty, the innermost first."""
    for folder in sorted(folders, key=len, reverse=True):
        with suppress(OSError):
            os.rmdir(folder)


def missing_folders(path: str) -> tuple[str, ...]:
    """Return the folders that writing this file would create, the innermost first."""
    found = []
    folder = os.path.dirname(path)
    while not os.path.isdir(folder):
        found.append(folder)
        folder = os.path.dirname(folder)
    return tuple(found)


def _sync(folder: str) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
