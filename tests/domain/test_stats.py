"""The numbers of a period, compared with a direct count."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, strategies as st

from gatebell.domain.stats import (
    GrantUse,
    Period,
    TurnTime,
    Wait,
    count_stats,
    describe_stats,
    read_stats_document,
    stats_document,
)

DAY = datetime(2026, 3, 2, tzinfo=UTC)
PERIOD = Period(DAY, DAY + timedelta(days=1))
NOW = DAY + timedelta(hours=30)


def at(minutes):
    return DAY + timedelta(minutes=minutes)


def wait(start, end=None, asker="claude/s1", answered=True, call=True):
    ended = None if end is None else at(end)
    answered = answered and end is not None
    return Wait(asker, at(start), ended, answered, call and answered)


@pytest.mark.proves("LESS-8")
def test_waits_at_the_same_time_block_once():
    waits = [wait(0, 10), wait(5, 20), wait(60, 70), wait(62, 64), wait(0, 30, "claude/s2")]
    found = count_stats(PERIOD, NOW, waits, [], [])
    assert found.blocked_minutes == 20 + 10 + 30
    assert (found.asks, found.answered, found.calls_decided) == (5, 5, 5)
    assert found.median_answer_seconds == 600
    assert found.agent_hours == 3 and found.asks_per_agent_hour == 1.67


@pytest.mark.proves("LESS-8", "BACK-1")
def test_background_ask_blocks_no_agent():
    goes_on = wait(0, 180, call=False)._replace(is_background=True)
    found = count_stats(PERIOD, NOW, [goes_on], [], [])
    assert (found.asks, found.answered, found.blocked_minutes, found.agent_hours) == (1, 1, 0, 1)


@pytest.mark.proves("LESS-8")
def test_only_the_part_in_the_period_counts():
    early, late, waiting = wait(-60, 30), wait(23 * 60, 25 * 60), wait(23.5 * 60)
    found = count_stats(PERIOD, NOW, [early, late, waiting], [], [])
    assert found.asks == 2 and found.answered == 1 and found.calls_decided == 1
    assert found.blocked_minutes == 30 + 60 and found.median_answer_seconds == 5400


@pytest.mark.proves("LESS-8")
def test_grants_and_turns_count_as_work():
    uses = [GrantUse(at(30), "agent:claude/s1"), GrantUse(at(-1), "agent:claude/s1")]
    turns = [TurnTime("codex/x", at(50), at(130)), TurnTime("codex/y", at(1435), None)]
    found = count_stats(PERIOD, NOW, [wait(30, 31, call=True)], uses, turns)
    assert found.agent_hours == 1 + 3 + 1
    assert found.share_by_grants == 0.5 and found.grants_used == 1
    assert describe_stats(found)[-1] == ("Tool calls settled by grants", "50% (1 of 2)")


@pytest.mark.proves("LESS-8")
def test_empty_period_has_no_rates():
    found = count_stats(PERIOD, NOW, [wait(0, 1, asker="")], [], [])
    assert found.asks == 0 and found.asks_per_agent_hour is None and found.share_by_grants is None
    assert describe_stats(found)[0] == ("Asks per agent hour", "none yet")
    document = stats_document(found)
    assert document["since"] == "2026-03-02T00:00:00.000000+00:00"
    assert document["share_by_grants"] is None and document["blocked_minutes"] == 0


@pytest.mark.proves("LESS-8")
@given(st.lists(st.tuples(st.integers(-99, 1500), st.integers(0, 200), st.integers(1, 2))))
def test_blocked_time_is_the_number_of_blocked_minutes(spans):
    waits = [wait(start, start + length, f"claude/s{who}") for start, length, who in spans]
    blocked = {
        (who, minute)
        for start, length, who in spans
        for minute in range(max(start, 0), min(start + length, 1440))
    }
    assert count_stats(PERIOD, NOW, waits, [], []).blocked_minutes == len(blocked)


@pytest.mark.proves("LESS-8", "LESS-9")
def test_numbers_are_read_back_from_their_document():
    turns = [TurnTime("codex/x", at(-90), at(-30)), TurnTime("codex/x", at(10), at(20))]
    found = count_stats(PERIOD, NOW, [wait(0, 10)], [GrantUse(at(5), "agent:claude/s1")], turns)
    assert found.agent_hours == 2, "a turn before the period is no work in it"
    document = json.loads(json.dumps(stats_document(found)))
    assert read_stats_document(document, datetime.fromisoformat) == found
