"""Reminders, escalations, expiry, and drafts that delay it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from gatebell.domain.asks.deadlines import (
    NO_DEADLINES,
    Deadlines,
    Escalation,
    duration_text,
    hold,
    make_escalations,
    parse_duration,
    parse_escalation,
    remind,
    start,
)
from gatebell.errors import UsageError

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def later(seconds):
    return NOW + timedelta(seconds=seconds)


@pytest.mark.proves("X-12")
def test_deadlines_are_absolute_and_optional():
    assert start(NOW) == NO_DEADLINES and NO_DEADLINES.due_at is None
    clock = start(NOW, 30, True, 7, (Escalation(9, "b"), Escalation(3, "a")))
    assert (clock.expires_at, clock.hard) == (later(30), True)
    assert (clock.remind_at, clock.remind_every_seconds) == (later(7), 7)
    assert clock.escalations == (Escalation(3, "a"), Escalation(9, "b"))
    assert clock.escalate_at == later(3) == clock.due_at


@pytest.mark.proves("LAW-10")
@pytest.mark.parametrize("seconds", [0, -1, float("nan"), float("inf"), 1e9])
def test_time_limit_is_a_positive_number(seconds):
    with pytest.raises(UsageError):
        start(NOW, seconds)
    with pytest.raises(UsageError):
        start(NOW, remind_every_seconds=seconds)
    with pytest.raises(UsageError):
        start(NOW, escalations=(Escalation(seconds, "x"),))
    assert start(NOW, 999_999_999).expires_at
    with pytest.raises(UsageError, match="at least 1 second"):
        start(NOW, remind_every_seconds=0.99)
    assert start(NOW, remind_every_seconds=1).remind_at


@pytest.mark.proves("ASK-19")
def test_draft_extends_a_soft_deadline_up_to_fifteen_minutes():
    clock = hold(start(NOW, 10), later(5))
    assert (clock.expires_at, clock.moved_seconds) == (later(125), 115)
    assert hold(clock, later(5)) == clock
    for second in range(5, 2000, 100):
        clock = hold(clock, later(second))
    assert (clock.expires_at, clock.moved_seconds) == (later(910), 900)
    assert hold(start(NOW, 600), NOW) == start(NOW, 600)
    assert hold(start(NOW, 120), NOW) == start(NOW, 120)


@pytest.mark.proves("ASK-20")
def test_nothing_moves_a_hard_or_missing_deadline():
    assert hold(start(NOW, 10, hard=True), NOW) == start(NOW, 10, hard=True)
    assert hold(NO_DEADLINES, NOW) == NO_DEADLINES


@pytest.mark.proves("ASK-16")
def test_ask_without_reminders_has_none_due():
    assert remind(NO_DEADLINES, NOW) == NO_DEADLINES
    assert remind(Deadlines(remind_at=NOW), NOW) == Deadlines(remind_at=NOW)


@pytest.mark.proves("X-12")
def test_durations_as_people_write_them():
    assert [parse_duration(text) for text in ("300", "90s", "5m", "2h", "1d", "0.5")] == [
        300,
        90,
        300,
        7200,
        86400,
        0.5,
    ]
    for wrong in ("", "s", "5x", "-3", "0", "nan", "inf", "1e9", "five"):
        with pytest.raises(UsageError, match="300, 90s, 5m, 2h or 1d"):
            parse_duration(wrong)
    texts = ["90s", "5m", "90m", "2h", "1d", "36h", "0.5s"]
    assert [duration_text(parse_duration(text)) for text in texts] == texts
    assert parse_escalation("30m:alice") == Escalation(1800, "alice")
    for wrong in ("30m", "30m:", "alice"):
        with pytest.raises(UsageError):
            parse_escalation(wrong)


@pytest.mark.proves("PY-8")
def test_escalation_is_a_pair_of_time_and_name():
    assert make_escalations([(60, "ada")]) == (Escalation(60.0, "ada"),)
    with pytest.raises(
        UsageError, match=r"expected pairs of a time and a name for escalations, .*, got \(5,\)"
    ):
        make_escalations([(5,)])
