"""Whether anything in a store has changed."""

from __future__ import annotations

import hashlib

import apsw


class Fingerprint:
    """Read the file itself, on a connection that cannot write."""

    def __init__(self, path):
        # By the same library as the store: two in one process would release each other's locks.
        self._reader = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
        self._version = self._digest = None

    def take(self):
        """Return a digest of every row, but presence; SQLite reports whether a row was written."""
        version = self._reader.execute("PRAGMA data_version").fetchall()
        if version != self._version:
            self._version, self._digest = version, self._read()
        return self._digest

    def _read(self):
        names = (
            # Who looks at the inbox is written while pages are open.
            "SELECT name FROM sqlite_master WHERE type = 'table' AND name != 'presence'"
            " ORDER BY name"
        )
        whole = hashlib.sha256()
        for (table,) in self._reader.execute(names).fetchall():
            rows = self._reader.execute(f'SELECT * FROM "{table}"').fetchall()
            whole.update(repr((table, rows)).encode())
        return whole.hexdigest()

    def close(self):
        self._reader.close()
