"""Many processes find no store and make it at the same moment."""

from __future__ import annotations

import pytest
from nursery import Nursery
from points import faults, picture
from telling import tell

RACERS = 8


@pytest.mark.proves("CRASH-6")
def test_processes_that_race_to_make_a_store_all_succeed(whole, tmp_path, capsys):
    rounds = 15 if whole else 3
    alone = str(tmp_path / "alone" / "gate.db")
    list(faults(alone))
    newest = picture(alone)
    assert newest["version"] > 0
    with Nursery() as nursery:
        for number in range(rounds):
            path = str(tmp_path / f"store-{number}" / "gate.db")
            racers = [
                nursery.start("perform", operation="migrate", path=path, ask_id="")
                for _ in range(RACERS)
            ]
            for racer in racers:
                racer.go()
            assert [racer.line() for racer in racers] == ['ACK "made"'] * RACERS
            assert picture(path) == newest
    tell(capsys, f"{RACERS} processes, {rounds} rounds: schema {newest['version']} every time")
