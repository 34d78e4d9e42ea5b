"""The rows that events describe, compared with the present rows."""

from __future__ import annotations

import hashlib
import zlib

import pytest

from gatebell.domain.audit.events import Entry, Event, EventKind
from gatebell.domain.audit.seals import seal, seal_shortly
from gatebell.domain.audit.trails import Columns, RecordedRows, Row, find_differing

NOTICES = "ask.opened ask.answered ask.replied ask.cancelled ask.timed_out ask.escalated note.sent"
# Older versions wrote these events with a row of each table; their stores are still read.
CAME_WITH = {
    "asks": "ask.opened",
    "ask_keys": "ask.opened",
    "answers": "ask.answered ask.voted answer.refused",
    "messages": "ask.asked_back ask.replied",
    "wakes": "ask.answered ask.asked_back ask.cancelled ask.timed_out",
    "outbox": NOTICES,
    "deliveries": NOTICES,
    "notes": "note.sent",
    "visits": "session.opened",
    "people": "person.added",
    "group_members": "group.set",
    "tokens": "token.made",
    "logins": "link.made login.made",
    "rules": "ask.made deny.made grant.made",
    "runs": "run.started",
    "calls": "run.started",
    "turns": "run.started",
    "tasks": "task.created",
    "task_needs": "task.created task.changed",
}
# One event belongs to any number of these rows, and to one row of each other table.
MANY = "ask_keys outbox deliveries wakes group_members calls turns task_needs"
COLUMNS = {table: Columns(("id",), ("status", "note")) for table in (*CAME_WITH, "traits")}
COLUMNS["calls"] = Columns((), ("state",))


def tell(*events):
    found = RecordedRows(COLUMNS)
    said = [fault for event in events for fault in found.follow(event)]
    return found, said


def entry(rows=None, kind="ask.opened", subject="a-2", erased=False):
    return Entry(7, "2026", Event(kind, subject, "gate", {}), "", "", erased, rows)


def a_row(*changing, table="asks", key="a-2", counts=True):
    fixed = (key,) if table == "asks" else ()
    return Row(table, key, key, counts, fixed, changing)


def build_opened(*changing):
    return entry({"asks": {"a-2": [seal(("a-2",)), seal(changing)]}})


@pytest.mark.proves("STORE-12")
def test_differing_column_is_named():
    sealed = seal(("a", 1, None))
    assert find_differing(sealed, ("x", "y", "z"), ("a", 1, None)) == []
    assert find_differing(sealed, ("x", "y", "z"), ("a", 2, "")) == ["y", "z"]
    assert find_differing("0" * 64 + sealed[64:], ("x",), ("a", 1, None)) == ["(unknown)"]
    assert seal(()) == ""


@pytest.mark.proves("STORE-12")
def test_columns_newer_than_a_seal_are_left_out():
    assert find_differing(seal(("a",)), ("x", "new"), ("a", "anything")) == []
    assert find_differing(seal(("a",)), ("x", "new"), ("b", "anything")) == ["x"]


@pytest.mark.proves("STORE-12", "STORE-13")
def test_row_is_compared_with_its_last_event():
    after = entry({"asks": {"a-2": ["", seal(("answered", "")), seal_shortly(("pending", ""))]}})
    found, said = tell(build_opened("pending", ""), after)
    assert (
        said == []
        and list(found.compare(a_row("answered", ""))) == []
        and not list(found.list_missing())
    )
    found, _ = tell(build_opened("pending", ""), after)
    assert list(found.list_missing()) == ["asks a-2: this row was removed without an event"]
    found, _ = tell(build_opened("pending", ""), entry({"asks": {"a-2": []}}))
    assert list(found.list_missing()) == []
    assert list(found.compare(a_row("pending", ""))) == [
        "asks a-2: this row was added without an event"
    ]


@pytest.mark.proves("STORE-15")
def test_event_shows_changes_made_before_it():
    after = entry({"asks": {"a-2": ["", seal(("answered", "")), seal_shortly(("pending", "x"))]}})
    _, said = tell(build_opened("pending", ""), after)
    assert said == ["asks a-2: this row was changed without an event, before event 7"]
    assert tell(after)[1] == ["asks a-2: this row was added without an event, before event 7"]
    assert tell(build_opened("pending"), after)[1] == []
    found, _ = tell(build_opened("pending", ""))
    assert list(found.compare(a_row("pending", "x"))) == [
        "asks a-2: the column note was changed without an event"
    ]


@pytest.mark.proves("STORE-12")
def test_row_that_counts_no_longer_is_named():
    found, said = tell(entry({"calls": {"1 1": ["", seal(("waiting",))]}}))
    assert said == []
    row = a_row("open", table="calls", key="1 1", counts=False)
    assert list(found.compare(row)) == ["calls 1 1: the column state was changed without an event"]
    assert list(found.compare(row)) == []


@pytest.mark.proves("STORE-18")
def test_older_events_tell_only_that_a_row_exists():
    found, _ = tell(entry())
    assert list(found.compare(a_row("pending", ""))) == [] and found.older == {"asks": 1}
    found, _ = tell(build_opened("pending", ""), entry(kind="ask.taken"))
    assert list(found.compare(a_row("answered", ""))) == []
    found, _ = tell(entry(kind="person.added", subject="ada"))
    assert list(found.list_missing()) == ["people ada: this row was removed without an event"]
    removed = entry(kind="person.removed", subject="ada")
    found, _ = tell(entry(kind="person.added", subject="ada"), removed)
    assert list(found.list_missing()) == []


@pytest.mark.proves("STORE-12")
def test_erased_event_tells_nothing():
    found, _ = tell(entry(erased=True))
    assert list(found.compare(a_row("pending", ""))) == [
        "asks a-2: this row was added without an event"
    ]


def old_row(table, subject="x-1", key="x-1"):
    return Row(table, key, subject, True, (key,), ("pending", ""))


def is_known(found, row):
    return list(found.compare(row)) != [
        f"{row.table} {row.key}: this row was added without an event"
    ]


@pytest.mark.proves("STORE-18")
@pytest.mark.parametrize("table", CAME_WITH)
def test_older_rows_came_with_their_events(table):
    def comes_with(kind):
        subject = "" if kind == "note.sent" and table != "notes" else "x-1"
        found, _ = tell(entry(kind=kind, subject="x-1"))
        return is_known(found, old_row(table, subject)) and found.older == {table: 1}

    assert {str(kind) for kind in EventKind if comes_with(kind)} == set(CAME_WITH[table].split())


@pytest.mark.proves("STORE-13", "STORE-18")
@pytest.mark.parametrize("table", CAME_WITH)
def test_second_row_needs_an_event_of_its_own(table):
    kind = CAME_WITH[table].split()[0]
    found, _ = tell(entry(kind=kind, subject="x-1"))
    assert is_known(found, old_row(table))
    assert is_known(found, old_row(table, key="x-2")) == (table in MANY.split())
    assert not is_known(found, old_row(table, subject="x-3", key="x-3"))


@pytest.mark.proves("STORE-18")
def test_notice_of_an_older_note_names_no_ask():
    found, _ = tell(entry(kind="note.sent", subject="n-1"))
    assert not is_known(found, old_row("outbox", "n-1")) and is_known(
        found, old_row("notes", "n-1")
    )


@pytest.mark.proves("STORE-20")
def test_first_seal_ends_the_time_of_traits():
    trait, second = old_row("traits", ""), old_row("traits", "", "x-2")
    older = entry(kind="ask.taken")
    found, _ = tell(older)
    assert is_known(found, trait) and not is_known(found, second)
    assert not is_known(tell()[0], trait)
    assert not is_known(tell(older, build_opened("pending", ""))[0], trait)


@pytest.mark.proves("STORE-18")
@pytest.mark.parametrize(
    ("table", "kind", "subject"),
    [
        ("asks", "ask.taken", "x-1"),
        ("rules", "grant.used", "x-1"),
        ("people", "token.made", "x-1"),
        ("runs", "run.parked", "run:x-1"),
        ("tasks", "task.closed", "x-1"),
    ],
)
def test_older_event_may_have_changed_its_row(table, kind, subject):
    sealed = entry({table: {"x-1": [seal(("x-1",)), seal(("before", ""))]}})
    assert list(tell(sealed)[0].compare(old_row(table))) == [
        f"{table} x-1: the column status was changed without an event"
    ]
    found, _ = tell(sealed, entry(kind=kind, subject=subject))
    assert list(found.compare(old_row(table))) == [] and found.compared == {table: 1}
    assert list(found.compare(old_row(table, "x-2", "x-2"))) == [
        f"{table} x-2: this row was added without an event"
    ]


@pytest.mark.proves("STORE-13", "STORE-18")
def test_deleted_run_is_not_missed():
    started = entry(kind="run.started", subject="run:5")
    assert list(tell(started)[0].list_missing()) == [
        "runs 5: this row was removed without an event"
    ]
    assert list(tell(started, entry(kind="run.deleted", subject="run:5"))[0].list_missing()) == []
    ended = entry(kind="run.stuck", subject="run:5")
    assert list(tell(ended)[0].list_missing()) == []


@pytest.mark.proves("STORE-15")
def test_row_without_a_birth_stays_a_fault():
    added = "asks a-2: this row was added without an event"
    removal = entry({"asks": {"a-2": []}})
    assert tell(removal)[1] == [f"{added}, before event 7"]
    found, _ = tell(entry({"asks": {"a-2": ["", seal(("pending", ""))]}}))
    assert list(found.compare(a_row("pending", ""))) == [added]
    found, _ = tell(entry({"calls": {"1 1": ["", seal(("waiting",))]}}))
    assert list(found.compare(a_row("waiting", table="calls", key="1 1"))) == []
    assert found.compared == {"calls": 1}


@pytest.mark.proves("STORE-12", "STORE-18")
def test_stored_seals_keep_their_form():
    values = ("a-2", 1, None)
    whole = hashlib.sha256(b'["a-2",1,null]').hexdigest()
    hints = "".join(f"{zlib.crc32(one) & 0xFFFF:04x}" for one in (b'"a-2"', b"1", b"null"))
    assert seal(values) == whole + hints
    assert seal_shortly(values) == whole[:32]
