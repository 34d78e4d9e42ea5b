"""Each store finds settled asks by outcome, asker, project, person and time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from tests.support.people import a_person, an_agent

from gatebell.domain.asks.answers import Given
from gatebell.domain.asks.asks import Origin
from gatebell.domain.asks.history_filters import HistoryFilter, parse_filter
from gatebell.errors import UsageError
from gatebell.services.asks import answer_ask, create_ask
from gatebell.services.asks.create_ask import Request
from gatebell.services.people import manage_people

ADA, BOB = a_person("ada", verified=True), a_person("bob", verified=True)
NOW = datetime(2026, 11, 18, 12, tzinfo=UTC)


def open_ask(store, prompt, agent, project, **more):
    request = Request(prompt, more.pop("kind", "approval"), **more)
    return create_ask.ask(store, request, Origin(project, project, agent), an_agent()).ask


@pytest.fixture
def past(store):
    """Four settled asks, an hour apart, and one that waits."""
    for person in ("ada", "bob"):
        manage_people.add(store, ADA, person)
    first = open_ask(store, "Deploy?", "claude", "/p")
    answer_ask.answer(store, first.id, ADA, Given("yes", "go"))
    store.clock.advance(3600)
    second = open_ask(store, "Delete?", "codex", "/p")
    answer_ask.answer(store, second.id, BOB, Given("no"))
    store.clock.advance(3600)
    third = open_ask(store, "Which colour?", "claude", "/q", kind="text")
    answer_ask.answer(store, third.id, BOB, Given("red"))
    store.clock.advance(3600)
    fourth = open_ask(store, "Release?", "claude", "/p", requirement={"all": ["ada", "bob"]})
    answer_ask.answer(store, fourth.id, ADA, Given("yes"))
    answer_ask.answer(store, fourth.id, BOB, Given("yes"))
    open_ask(store, "Waiting?", "claude", "/p")
    return [first.id, second.id, third.id, fourth.id]


@pytest.mark.proves("HIST-1")
def test_history_is_found_by_each_filter(store, past):
    first, second, third, fourth = past
    begin = store.asks.get(first).settled_at

    def find(limit=9, **wanted):
        return [ask.id for ask in store.asks.list_settled(limit, HistoryFilter(**wanted))]

    assert find() == [fourth, third, second, first]
    assert find(outcome="approved") == [fourth, first]
    assert find(outcome="rejected") == [second] and find(outcome="answered") == [third]
    assert find(outcome="cancelled") == [] == find(outcome="timed_out")
    assert find(agent="claude") == [fourth, third, first] and find(agent="clau") == []
    assert find(project="/p") == [fourth, second, first]
    assert find(person="person:ada") == [fourth, first]
    assert find(person="person:bob") == [fourth, third, second]
    assert find(person="person:ad") == []
    assert find(since=begin + timedelta(hours=1)) == [fourth, third, second]
    assert find(until=begin + timedelta(hours=1)) == [first]
    assert find(agent="claude", project="/p", outcome="approved", search="REL") == [fourth]
    assert find(person="person:bob", agent="codex") == [second]
    assert find(person="person:bob", project="/q", search="colour") == [third]
    assert find(1, person="person:bob") == [fourth] and find(2, agent="claude") == [fourth, third]
    assert find(search="GO") == [first] and find(search="' OR 1=1") == []


@pytest.mark.proves("HIST-1")
def test_filter_is_read_from_words():
    read = parse_filter({"person": "ada", "since": "2d", "until": "2026-11-17"}, NOW)
    assert read.person == "person:ada"
    assert read.since == NOW - timedelta(days=2)
    assert read.until == datetime(2026, 11, 18, tzinfo=UTC), "the day counts as a whole"
    assert parse_filter({"since": "2026-11-17T10:00:00+02:00"}, NOW).since.hour == 8
    assert parse_filter({"outcome": None, "since": ""}, NOW) == HistoryFilter()
    for wrong in ({"outcome": "maybe"}, {"since": "soon"}, {"until": "9" * 30}):
        with pytest.raises(UsageError, match="expected"):
            parse_filter(wrong, NOW)
