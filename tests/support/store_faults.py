"""A store that is out of reach at one access, chosen by its number."""

from __future__ import annotations

import threading
from contextlib import contextmanager

import psycopg

from gatebell.adapters.postgres.wire import Wire
from gatebell.errors import StoreError


class Fault:
    """Counts the accesses to a store while it is armed, and fails at one of them.

    `late`: only commits count, and the chosen one is recorded before it fails, as if the reply of
    the store was lost.
    """

    def __init__(self, number: int, *, late: bool = False) -> None:
        self._number, self.late = number, late
        self._passed = 0
        self._lock = threading.Lock()
        self._armed = False

    @property
    def struck(self) -> bool:
        return self._passed >= self._number

    @contextmanager
    def armed(self):
        self._armed = True
        try:
            yield
        finally:
            self._armed = False

    def hits(self, *, times: int = 1) -> bool:
        """Count an access; return whether it fails, as do the next ones up to `times`."""
        if not self._armed:
            return False
        with self._lock:
            self._passed += 1
            return self._number <= self._passed < self._number + times


def break_sqlite(store, fault: Fault, monkeypatch) -> None:
    """Let one read, or one transaction, of this store fail."""
    read = store.connection.rows

    def rows(*words):
        if not fault.late and fault.hits():
            raise StoreError("the store cannot be read")
        return read(*words)

    def wrap(begin):
        @contextmanager
        def transaction():
            if not fault.late and fault.hits():
                raise StoreError("the store cannot be written")
            with begin() as at:
                yield at
            if fault.late and fault.hits():
                raise StoreError("the store was lost during a commit")

        return transaction

    monkeypatch.setattr(store.connection, "rows", rows)
    for name in ("transaction", "quiet_transaction"):
        monkeypatch.setattr(store, name, wrap(getattr(store, name)))


def break_postgres(fault: Fault, monkeypatch) -> None:
    """Let one statement fail on every connection, and what follows it: a new one is tried once."""
    execute = Wire.execute

    def failing(wire, query, *words, **named):
        # The bell rings, and seals, on its own thread and at any time.
        if threading.current_thread().name == "gate-bell":
            return execute(wire, query, *words, **named)
        if not fault.late and fault.hits(times=2):
            wire.close()
            raise psycopg.OperationalError("the server is gone")
        done = execute(wire, query, *words, **named)
        if fault.late and query == "COMMIT" and fault.hits():
            wire.close()
            raise psycopg.OperationalError("the server is gone")
        return done

    monkeypatch.setattr(Wire, "execute", failing)
