"""Read files to attach, and save received ones: new files only, with safe names."""

from __future__ import annotations

import os
import stat
from itertools import count

from gatebell.adapters.files.text_files import refuse_outside
from gatebell.domain.asks.attachments import MAX_FILE_BYTES
from gatebell.errors import UsageError


def read_file(path: str, within: str = "") -> bytes:
    """Return the bytes of a file; with `within`, only if it really is in that folder.

    Raises:
        UsageError: It cannot be read, is not a regular file, or is too large.
        RefusedError: A link leads out of the folder.
    """
    if within:
        refuse_outside(path, within)
    try:
        # Without blocking: a pipe in place of the file must not block this process.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise UsageError(f"{path} cannot be attached: {why}") from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise UsageError(f"{path} cannot be attached: it is not a regular file")
    with os.fdopen(descriptor, "rb") as file:
        if within and not _is_same(descriptor, path, within):
            raise UsageError(f"{path} was replaced while it was read: try again")
        content = file.read(MAX_FILE_BYTES + 1)
    if len(content) > MAX_FILE_BYTES:
        raise UsageError(f"{path} is longer than {MAX_FILE_BYTES} bytes: attach a shorter file")
    return content


def _is_same(descriptor: int, path: str, within: str) -> bool:
    """Return whether the open file is the one in the folder, even if a link was moved."""
    refuse_outside(path, within)
    return os.path.samestat(os.fstat(descriptor), os.stat(os.path.realpath(path)))


def save_file(folder: str, name: str, content: bytes) -> str:
    """Write a new file, or find it if it was saved before; return its path."""
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        for number in count(1):
            stem, ending = os.path.splitext(name)
            path = os.path.join(folder, name if number == 1 else f"{stem}-{number}{ending}")
            try:
                descriptor = os.open(
                    path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600
                )
            except FileExistsError:
                if _has(path, content):
                    return path
                continue
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
            return path
    except OSError as error:
        raise UsageError(f"{folder} cannot be written: {error.strerror}") from None
    raise AssertionError("the numbers never end")


def _has(path: str, content: bytes) -> bool:
    if os.path.islink(path) or not os.path.isfile(path) or os.path.getsize(path) != len(content):
        return False
    with open(path, "rb") as file:
        return file.read() == content
