"""Whether anything in a store is another than before."""

from __future__ import annotations

import hashlib
import sqlite3


class Fingerprint:
    """Reads the file itself, on a connection that cannot write."""

    def __init__(self, path):
        # The server that is watched may run in another thread.
        self._reader = sqlite3.connect(f"file:{path}?mode=ro", uri=True, check_same_thread=False)

    def take(self):
        """A digest of every row of every table."""
        names = "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name"
        whole = hashlib.sha256()
        for (table,) in self._reader.execute(names).fetchall():
            rows = self._reader.execute(f'SELECT * FROM "{table}"').fetchall()
            whole.update(repr((table, rows)).encode())
        return whole.hexdigest()

    def close(self):
        self._reader.close()
