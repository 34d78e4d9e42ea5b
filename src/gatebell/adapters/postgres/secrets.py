"""Encrypt secrets with keys that are destroyed after a day.

PostgreSQL cannot erase a value: its log, its standbys and its backups keep it. So the database gets
only encrypted text, and the key is in a file elsewhere. Without the key, the text cannot be read.
"""

from __future__ import annotations

import base64
import fcntl
import json
import os
import secrets
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from gatebell.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

_KEPT = timedelta(hours=24)
_NONCE_BYTES = 12


class SecretKeys:
    """One key for each hour, in a file that the servers of a store share."""

    def __init__(self, path: str) -> None:
        if not path:
            raise StoreError(
                "a PostgreSQL store keeps secrets and keys only with a key file outside of the database: "
                "set GATE_KEY_FILE for its servers"
            )
        self._path = path

    def hide(self, ask_id: str, text: str, now: datetime) -> str:
        """Return the secret of an ask, encrypted with the key of this hour."""
        hour = _name_hour(now)
        with self._open_keys(now) as keys:
            key = keys.setdefault(hour, secrets.token_hex(32))
        nonce = os.urandom(_NONCE_BYTES)
        hidden = AESGCM(bytes.fromhex(key)).encrypt(nonce, text.encode(), ask_id.encode())
        return f"{hour} {base64.b64encode(nonce + hidden).decode()}"

    def show(self, ask_id: str, kept: str, now: datetime) -> str | None:
        """Return the secret of an ask; None if its key was destroyed."""
        hour, _, text = kept.partition(" ")
        with self._open_keys(now) as keys:
            key = keys.get(hour)
        if key is None:
            return None
        hidden = base64.b64decode(text)
        try:
            shown = AESGCM(bytes.fromhex(key)).decrypt(
                hidden[:_NONCE_BYTES], hidden[_NONCE_BYTES:], ask_id.encode()
            )
        except InvalidTag:
            return None
        return shown.decode()

    def get_lasting(self, name: str, now: datetime) -> bytes:
        """Return a key that is never destroyed, and make it the first time.

        Its name comes after every hour, so that older versions keep it, too.
        """
        with self._open_keys(now) as keys:
            return bytes.fromhex(keys.setdefault(name, secrets.token_hex(32)))

    def destroy_old(self, now: datetime) -> None:
        """Destroy the keys that are older than a day."""
        with self._open_keys(now):
            pass

    @contextmanager
    def _open_keys(self, now: datetime) -> Iterator[dict[str, str]]:
        """Lock the file, and write it again if a key was added or is too old."""
        try:
            handle = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise StoreError(
                f"the key file {self._path} cannot be opened ({error.strerror}): check "
                "GATE_KEY_FILE and the rights of this process"
            ) from None
        with open(handle, "r+", encoding="ascii") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            before = file.read()
            keys: dict[str, str] = json.loads(before or "{}")
            oldest = _name_hour(now - _KEPT)
            for hour in [hour for hour in keys if hour < oldest]:
                del keys[hour]
            yield keys
            after = json.dumps(keys)
            if after != before:
                # In place, not as a new file: the blocks of the old keys must not stay on the disk.
                file.seek(0)
                file.write(after.ljust(len(before)))
                file.flush()
                os.fsync(file.fileno())


def _name_hour(at: datetime) -> str:
    return at.strftime("%Y-%m-%dT%H")
