"""The file with the secret of web push, beside a store of one machine."""

from __future__ import annotations

import os
from contextlib import suppress

from gatebell.errors import StoreError

_BYTES = 32


def read_or_make(path: str) -> bytes:
    """Return the secret of the file; the first process makes it, readable by its user only."""
    try:
        if not os.path.exists(path):
            _make(path)
        with open(path, encoding="ascii") as file:
            found = bytes.fromhex(file.read().strip())
    except (OSError, ValueError) as error:
        raise StoreError(
            f"the key file {path} cannot be used ({error}): if it is damaged, delete it; every "
            "device then has to be signed up again"
        ) from None
    if len(found) != _BYTES:
        raise StoreError(f"the key file {path} is damaged: delete it, and sign up devices again")
    return found


def _make(path: str) -> None:
    # Under another name first: no process reads a half-written file, and the first one wins.
    part = f"{path}.{os.getpid()}.{os.urandom(4).hex()}"
    with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(os.urandom(_BYTES).hex())
        file.flush()
        os.fsync(file.fileno())
    with suppress(FileExistsError):
        os.link(part, path)
    os.unlink(part)
