"""Every store there is, behind the same door."""

from __future__ import annotations

import pytest

from gatebell.app.wiring import open_throwaway_store
from gatebell.testing import FakeClock


@pytest.fixture(params=["sqlite"])
def store(request, tmp_path):
    clock = FakeClock()
    made = open_throwaway_store(str(tmp_path / "gate.db"), clock)
    made.clock = clock
    yield made
    made.close()
