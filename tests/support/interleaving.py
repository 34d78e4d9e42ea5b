"""Two verbs on one PostgreSQL store: the first stops before its COMMIT while the second runs."""

from __future__ import annotations

import threading
from typing import Any

import psycopg
import pytest

from gatebell.adapters.postgres.connection import Transaction
from gatebell.app.wiring import open_store, open_throwaway_store
from gatebell.errors import GateError
from gatebell.testing import FakeClock
from tests.support import postgres_server
from tests.support.waiting import eventually

_BLOCKED = """
SELECT count(*) FROM pg_stat_activity
WHERE datname = current_database() AND wait_event_type = 'Lock'
"""


class Verb(threading.Thread):
    """A verb in a thread of its own; a refusal is a result, too."""

    def __init__(self, verb, store) -> None:
        super().__init__(daemon=True)
        self._verb, self._store = verb, store
        self.result: Any = None
        self.error: BaseException | None = None
        self.at_commit, self.may_commit = threading.Event(), threading.Event()

    def run(self) -> None:
        try:
            self.result = self._verb(self._store)
        except GateError as error:
            self.result = error
        except BaseException as error:
            self.error = error

    def hold(self) -> None:
        self.at_commit.set()
        assert self.may_commit.wait(60)


class Interleaving:
    def __init__(self, dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
        self.clock = FakeClock()
        self.store: Any = open_throwaway_store(dsn, self.clock)
        self.store.clock = self.clock
        self._other = open_store(dsn, self.clock)
        self._watch = psycopg.connect(dsn, autocommit=True)
        commit = Transaction.commit

        def hold_and_commit(transaction):
            verb = threading.current_thread()
            if isinstance(verb, Verb) and not verb.may_commit.is_set():
                verb.hold()
            commit(transaction)

        monkeypatch.setattr(Transaction, "commit", hold_and_commit)

    def run(self, first, second) -> tuple[Any, Any]:
        """Begin the first verb, run the second up to its end or a lock, and let both go on."""
        one, two = Verb(first, self.store), Verb(second, self._other)
        two.may_commit.set()
        one.start()
        eventually(lambda: one.at_commit.is_set() or not one.is_alive())
        two.start()
        eventually(lambda: not two.is_alive() or self._watch.execute(_BLOCKED).fetchone()[0])
        one.may_commit.set()
        for verb in (one, two):
            verb.join(30)
            assert not verb.is_alive(), "the two wait for each other"
            if verb.error:
                raise verb.error
        return one.result, two.result

    def close(self) -> None:
        self.store.close()
        self._other.close()
        self._watch.close()


@pytest.fixture
def together(monkeypatch, tmp_path):
    monkeypatch.setenv("GATE_KEY_FILE", str(tmp_path / "keys.json"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    made = Interleaving(postgres_server.empty_database(), monkeypatch)
    yield made
    made.close()
