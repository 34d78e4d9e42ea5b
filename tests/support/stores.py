"""A store of each kind, and changes of stores for tests only."""

from __future__ import annotations

import pytest

from gatebell.app.wiring import open_throwaway_store
from gatebell.testing import FakeClock
from tests.support import postgres_server


def make_lasting(store) -> None:
    """Make this store look like one that is not for tests."""
    store.connection.raw.execute("DELETE FROM traits")


def find_place(kind, tmp_path, monkeypatch) -> str:
    """Return the path or the address of an empty store of this kind."""
    if kind == "sqlite":
        return str(tmp_path / "gate.db")
    monkeypatch.setenv("GATE_KEY_FILE", str(tmp_path / "keys.json"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    return postgres_server.empty_database()


@pytest.fixture(params=["sqlite", "postgres"])
def place(request, tmp_path, monkeypatch):
    """The path or the address of an empty store, of each kind."""
    return find_place(request.param, tmp_path, monkeypatch)


@pytest.fixture
def store(place):
    clock = FakeClock()
    made = open_throwaway_store(place, clock)
    made.clock = clock
    yield made
    made.close()
