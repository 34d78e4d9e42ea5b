"""Keep what a person typed, in files of this user, while the server cannot be reached (law 6)."""

from __future__ import annotations

import os
from contextlib import suppress

from gatebell.errors import ServerError

_MAX_BYTES = 4_000_000


class Drafts:
    """One file for each ask, mode 0600."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def read(self, ask_id: str) -> str:
        """Return the text that was kept for an ask, or ""."""
        try:
            with open(self._path(ask_id), "rb") as file:
                return file.read(_MAX_BYTES).decode("utf-8", "replace")
        except OSError:
            return ""

    def write(self, ask_id: str, text: str) -> str:
        """Keep a text; return its file."""
        path = self._path(ask_id)
        os.makedirs(self._folder, mode=0o700, exist_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW
        with os.fdopen(os.open(path, flags, 0o600), "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def drop(self, ask_id: str) -> None:
        with suppress(OSError):
            os.unlink(self._path(ask_id))

    def keep(self, error: ServerError, ask_id: str, text: str, what: str) -> ServerError:
        """Keep a text that could not be sent; return the error that says where it is."""
        try:
            path = self.write(ask_id, text)
        except OSError:
            return ServerError(f"{error}. {what.capitalize()} was not recorded:\n{text}")
        return ServerError(f"{error}. {what.capitalize()} was not recorded; it is kept in {path}")

    def _path(self, ask_id: str) -> str:
        name = "".join(one for one in ask_id.lower() if one.isalnum() or one == "-")[:40]
        return os.path.join(self._folder, f"{name}.txt")
