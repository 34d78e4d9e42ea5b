"""A store of each kind, and changes of stores for tests only."""

from __future__ import annotations

import pytest

from gatebell.app.wiring import open_throwaway_store
from gatebell.testing import FakeClock


def make_lasting(store) -> None:
    """Make this store look like one that is not for tests."""
    store.connection.raw.execute("DELETE FROM traits")


@pytest.fixture(params=["sqlite"])
def store(request, tmp_path):
    clock = FakeClock()
    made = open_throwaway_store(str(tmp_path / "gate.db"), clock)
    made.clock = clock
    yield made
    made.close()
