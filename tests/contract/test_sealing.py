"""Each row that a transaction writes is noticed, in every way of writing."""

from __future__ import annotations

import threading
from contextlib import closing

import pytest
from tests.support import rich_store

from gatebell.adapters.postgres import bell
from gatebell.adapters.postgres.bell import Ringer
from gatebell.adapters.tables.statements import ConstraintError
from gatebell.app.wiring import open_store
from gatebell.services import audit


@pytest.fixture
def store(tmp_path):
    """A store with rows in every table."""
    (tmp_path / "project").mkdir()
    rich_store.fill(str(tmp_path / "gate.db"), tmp_path / "project")
    with closing(open_store(str(tmp_path / "gate.db"))) as opened:
        yield opened


@pytest.fixture
def write(store):
    """Run SQL in a transaction of the store; return the rows that its event seals."""

    def written(*statements):
        with store.quiet_transaction():
            for sql in statements:
                store.connection.write(sql)
        assert audit.verify(store) == []
        return store.audit.newest(1)[0].rows

    return written


def keys(store, sql):
    return {" ".join(map(str, row)) for row in store.connection.rows(sql)}


@pytest.mark.proves("STORE-19")
def test_rows_deleted_by_cascade_are_noticed(store, write):
    calls = keys(store, "SELECT run, path FROM calls WHERE state <> 'open'")
    turns = keys(store, "SELECT id FROM turns")
    rows = write("DELETE FROM runs")
    assert calls and set(rows["calls"]) == calls
    assert turns and set(rows["turns"]) == turns
    assert not any([*rows["calls"].values(), *rows["turns"].values()])


@pytest.mark.proves("STORE-19")
def test_replaced_rows_are_noticed(write):
    write("INSERT INTO people VALUES ('zoe', '1')")
    rows = write("INSERT OR REPLACE INTO people VALUES ('zoe', '2')")
    assert rows["people"]["zoe"][0]
    write("INSERT INTO group_members VALUES ('y', 'ada'), ('y', 'zoe')")
    rows = write("UPDATE OR REPLACE group_members SET name = 'x', member = 'ada' WHERE name = 'y'")
    assert rows["group_members"].pop("x ada")[0]
    assert rows["group_members"] == {"y ada": [], "y zoe": []}


@pytest.mark.proves("STORE-19")
def test_row_with_another_key_counts_as_new(write):
    rows = write("UPDATE ask_keys SET key = 'other' WHERE key = (SELECT min(key) FROM ask_keys)")
    (old,) = rows["ask_keys"].keys() - {"other"}
    assert rows["ask_keys"][old] == [] and rows["ask_keys"]["other"][0]


@pytest.mark.proves("STORE-19")
def test_emptied_table_is_noticed(store, write):
    rules = keys(store, "SELECT id FROM rules")
    assert set(write("DELETE FROM rules")["rules"]) == rules


@pytest.mark.proves("STORE-19")
def test_undone_statement_seals_nothing(store):
    before = store.audit.head()
    with store.quiet_transaction(), pytest.raises(ConstraintError):
        store.connection.write("INSERT INTO people VALUES ('x', '1'), ('x', '2')")
    assert store.audit.head() == before
    assert audit.verify(store) == []


@pytest.mark.proves("STORE-19")
def test_uncompared_changes_write_no_event(store):
    before = store.audit.head()
    with store.quiet_transaction():
        store.connection.write("UPDATE runs SET crash_count = crash_count + 1")
        store.connection.write("UPDATE asks SET status = status, heard = heard + 1")
        store.connection.write("CREATE TEMP TABLE people (name TEXT)")
        store.connection.write("INSERT INTO temp.people VALUES ('x')")
    assert store.audit.head() == before


@pytest.mark.proves("STORE-19")
def test_numbers_are_sealed_as_they_are_read(write):
    write("UPDATE asks SET moved_seconds = 1, remind_at = NULL")
    write("UPDATE asks SET moved_seconds = 2.5")


@pytest.mark.proves("PG-2")
def test_bell_rings_first_and_seals_before_it_ends():
    done = []
    ringer = Ringer(lambda: done.append("ring"), lambda: done.append("seal"))
    ringer.ring()
    ringer.close()
    assert done[:2] == ["ring", "seal"] and done[-1] == "seal"


@pytest.mark.proves("PG-2")
def test_events_of_a_burst_are_sealed_together(monkeypatch):
    monkeypatch.setattr(bell, "_PAUSE_SECONDS", 0)
    now, done, finished = [1000.0], [], threading.Event()
    monkeypatch.setattr(bell, "monotonic", lambda: now[0])

    def ring():
        done.append("ring")
        now[0] += 0.04
        if done.count("ring") < 5:
            ringer.ring()

    def seal():
        done.append("seal")
        if done.count("ring") == 5:
            finished.set()

    ringer = Ringer(ring, seal)
    ringer.ring()
    assert finished.wait(30)
    ringer.close()
    assert done[:8] == ["ring", "seal", "ring", "ring", "ring", "seal", "ring", "seal"]
