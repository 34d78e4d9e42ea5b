"""Rows that events tell of, compared with rows as they are."""

from __future__ import annotations

import pytest

from gatebell.domain.audit.events import Entry, Event
from gatebell.domain.audit.seals import seal, seal_shortly
from gatebell.domain.audit.trails import Columns, Row, Told, differing

COLUMNS = {"asks": Columns(("id",), ("status", "note")), "calls": Columns((), ("state",))}


def told(*events):
    found = Told(COLUMNS)
    said = [fault for event in events for fault in found.follow(event)]
    return found, said


def entry(rows=None, kind="ask.opened", subject="a-2", erased=False):
    return Entry(7, "2026", Event(kind, subject, "gate", {}), "", "", erased, rows)


def a_row(*changing, table="asks", key="a-2", counts=True):
    fixed = (key,) if table == "asks" else ()
    return Row(table, key, key, counts, fixed, changing)


def opened(*changing):
    return entry({"asks": {"a-2": [seal(("a-2",)), seal(changing)]}})


@pytest.mark.proves("STORE-12")
def test_differing_column_is_named():
    sealed = seal(("a", 1, None))
    assert differing(sealed, ("x", "y", "z"), ("a", 1, None)) == []
    assert differing(sealed, ("x", "y", "z"), ("a", 2, "")) == ["y", "z"]
    assert differing("0" * 64 + sealed[64:], ("x",), ("a", 1, None)) == ["that cannot be told"]
    assert seal(()) == ""


@pytest.mark.proves("STORE-12")
def test_columns_newer_than_a_seal_are_left_out():
    assert differing(seal(("a",)), ("x", "new"), ("a", "anything")) == []
    assert differing(seal(("a",)), ("x", "new"), ("b", "anything")) == ["x"]


@pytest.mark.proves("STORE-12", "STORE-13")
def test_row_is_compared_with_its_last_event():
    after = entry({"asks": {"a-2": ["", seal(("answered", "")), seal_shortly(("pending", ""))]}})
    found, said = told(opened("pending", ""), after)
    assert (
        said == [] and list(found.compare(a_row("answered", ""))) == [] and not list(found.gone())
    )
    found, _ = told(opened("pending", ""), after)
    assert list(found.gone()) == ["asks a-2: this row was removed without an event"]
    found, _ = told(opened("pending", ""), entry({"asks": {"a-2": []}}))
    assert list(found.gone()) == []
    assert list(found.compare(a_row("pending", ""))) == [
        "asks a-2: this row was added without an event"
    ]


@pytest.mark.proves("STORE-15")
def test_event_shows_what_was_changed_before_it():
    after = entry({"asks": {"a-2": ["", seal(("answered", "")), seal_shortly(("pending", "x"))]}})
    _, said = told(opened("pending", ""), after)
    assert said == ["asks a-2: this row was changed without an event, before event 7"]
    assert told(after)[1] == ["asks a-2: this row was added without an event, before event 7"]
    assert told(opened("pending"), after)[1] == []
    found, _ = told(opened("pending", ""))
    assert list(found.compare(a_row("pending", "x"))) == [
        "asks a-2: the column note was changed without an event"
    ]


@pytest.mark.proves("STORE-12")
def test_row_that_counts_no_longer_is_named():
    found, said = told(entry({"calls": {"1 1": ["", seal(("waiting",))]}}))
    assert said == []
    row = a_row("open", table="calls", key="1 1", counts=False)
    assert list(found.compare(row)) == ["calls 1 1: the column state was changed without an event"]
    assert list(found.compare(row)) == []


@pytest.mark.proves("STORE-18")
def test_older_events_tell_only_that_a_row_exists():
    found, _ = told(entry())
    assert list(found.compare(a_row("pending", ""))) == [] and found.older == {"asks": 1}
    found, _ = told(opened("pending", ""), entry(kind="ask.taken"))
    assert list(found.compare(a_row("answered", ""))) == []
    found, _ = told(entry(kind="person.added", subject="ada"))
    assert list(found.gone()) == ["people ada: this row was removed without an event"]
    removed = entry(kind="person.removed", subject="ada")
    found, _ = told(entry(kind="person.added", subject="ada"), removed)
    assert list(found.gone()) == []


@pytest.mark.proves("STORE-12")
def test_erased_event_tells_nothing():
    found, _ = told(entry(erased=True))
    assert list(found.compare(a_row("pending", ""))) == [
        "asks a-2: this row was added without an event"
    ]
