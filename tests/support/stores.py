"""A store of every kind, and changes of stores that only tests make."""

from __future__ import annotations

import pytest

from gatebell.app.wiring import open_throwaway_store
from gatebell.testing import FakeClock


def make_lasting(store) -> None:
    """As if this store were not made for tests."""
    store.connection.raw.execute("DELETE FROM traits")


@pytest.fixture(params=["sqlite"])
def store(request, tmp_path):
    clock = FakeClock()
    made = open_throwaway_store(str(tmp_path / "gate.db"), clock)
    made.clock = clock
    yield made
    made.close()
