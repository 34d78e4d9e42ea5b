"""Many processes find no store and make it at the same moment."""

from __future__ import annotations

import time
from contextlib import closing

import apsw
import pytest
from nursery import Nursery
from points import faults, picture
from telling import tell

from gatebell.app import wiring

RACERS = 8


@pytest.mark.proves("CRASH-6")
def test_processes_that_race_to_make_a_store_all_succeed(whole, tmp_path, capsys):
    rounds = 150 if whole else 3
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
            for racer in racers:
                racer.close()
            assert picture(path) == newest
    tell(capsys, f"{RACERS} processes, {rounds} rounds: schema {newest['version']} every time")


@pytest.mark.proves("CRASH-6")
def test_process_waits_while_another_makes_the_store(tmp_path, monkeypatch):
    path = str(tmp_path / "gate.db")
    with closing(apsw.Connection(path)) as other:
        # SQLite calls no busy handler for a change of journal mode that meets this lock.
        other.execute("BEGIN IMMEDIATE")

        def other_has_finished(_):
            if other.in_transaction:
                other.execute("COMMIT")

        monkeypatch.setattr(time, "sleep", other_has_finished)
        wiring.open_store(path).close()
    assert list(faults(path)) == []
