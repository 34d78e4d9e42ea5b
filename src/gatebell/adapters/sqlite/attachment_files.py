"""The bytes of attachments beside a SQLite store: one private file for each digest."""

from __future__ import annotations

import os
import time
from contextlib import suppress

from gatebell.errors import StoreError

_HEX = frozenset("0123456789abcdef")
_DIGITS = 64
_ABANDONED_SECONDS = 3600.0


class AttachmentFiles:
    """A folder of files that are written completely or not at all."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._incoming = os.path.join(folder, "incoming")

    def write(self, digest: str, content: bytes) -> None:
        path = self._find(digest)
        try:
            os.makedirs(self._incoming, mode=0o700, exist_ok=True)
            os.chmod(self._folder, 0o700)
            self._remove_abandoned()
            # Other bytes under this digest were altered: they are replaced.
            if self.read(digest) != content:
                partial = os.path.join(self._incoming, os.urandom(8).hex())
                _write_new(partial, content)
                os.replace(partial, path)
            _sync_folder(self._folder)
            _sync_folder(os.path.dirname(self._folder))
        except OSError as error:
            raise StoreError(
                f"an attachment cannot be written to {self._folder} ({error.strerror}): nothing was "
                "confirmed"
            ) from None

    def _remove_abandoned(self) -> None:
        """Remove the incomplete files of processes that were killed."""
        for name in os.listdir(self._incoming):
            path = os.path.join(self._incoming, name)
            with suppress(FileNotFoundError):
                if os.stat(path).st_mtime < time.time() - _ABANDONED_SECONDS:
                    os.unlink(path)

    def read(self, digest: str) -> bytes | None:
        try:
            descriptor = os.open(self._find(digest), os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise StoreError(
                f"an attachment cannot be read from {self._folder} ({error.strerror})"
            ) from None
        with os.fdopen(descriptor, "rb") as file:
            return file.read()

    def has(self, digest: str) -> bool:
        return os.path.isfile(self._find(digest))

    def remove(self, digest: str) -> None:
        with suppress(FileNotFoundError):
            os.unlink(self._find(digest))

    def _find(self, digest: str) -> str:
        # A forged row must not name a path.
        if len(digest) != _DIGITS or not _HEX.issuperset(digest):
            raise StoreError(f"{digest[:80]!r} is not the digest of an attachment")
        return os.path.join(self._folder, digest)


def _write_new(path: str, content: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _sync_folder(path: str) -> None:
    """Make the names in a folder survive a power cut."""
    descriptor = os.open(path or ".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


class AttachmentMemory:
    """The bytes of a store that is in memory."""

    def __init__(self) -> None:
        self._kept: dict[str, bytes] = {}

    def write(self, digest: str, content: bytes) -> None:
        self._kept[digest] = content

    def read(self, digest: str) -> bytes | None:
        return self._kept.get(digest)

    def has(self, digest: str) -> bool:
        return digest in self._kept

    def remove(self, digest: str) -> None:
        self._kept.pop(digest, None)
