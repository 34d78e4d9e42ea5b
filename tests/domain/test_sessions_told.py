"""Facts about a session and its visits, as people see them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from gatebell.domain.sessions.visits import (
    ENDS,
    Terms,
    Visit,
    describe_left_behind,
    facts,
    stay,
)

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def a_sitting(end="left", **more):
    ended = NOW + timedelta(minutes=5) if end else None
    known = {"by": "person:ada", "cli": "claude", "session": "s1", "process": "b/1/2"}
    return Visit("t-1", "a-1", 1, started_at=NOW, ended_at=ended, end=end, **known | more)


@pytest.mark.proves("SES-105")
def test_only_given_terms_of_a_session_are_shown():
    assert facts(Terms(model=""), "") == [("Result", "a text")]
    terms = Terms("form", "Be kind", "opus", "/w", "more.json", 1800, True, "claude/s0", 3)
    assert dict(facts(terms, "/p")) == {
        "Result": "a completed form",
        "Model": "opus",
        "Folder": "/w",
        "More tools": "more.json",
        "Continues": "claude/s0",
        "Time": "30m, all visits together",
        "Transcript": "the conversation is kept",
        "Attempts": "given up after 3 failed ones",
    }
    assert ("Folder", "/p") in facts(Terms(), "/p")


@pytest.mark.proves("SES-106")
@pytest.mark.parametrize("end", ENDS)
def test_every_end_of_a_sitting_has_its_words(end):
    told = stay(a_sitting(end), NOW)
    lasted = "since 2026-01-01 00:00:00 UTC" if end == "lost" else "for 5m"
    assert told.startswith(f"person:ada with claude, {lasted}: ")


@pytest.mark.proves("FLT-6")
def test_time_of_a_lost_visit_does_not_grow():
    lost = a_sitting("lost")._replace(ended_at=None)
    told = stay(lost, NOW)
    assert told == "person:ada with claude, since 2026-01-01 00:00:00 UTC: their gate continue died"
    assert told == stay(lost, NOW + timedelta(days=9)) == stay(a_sitting("lost"), NOW)


@pytest.mark.proves("SES-106", "LAW-8")
def test_present_visitor_and_reason_of_failure_are_shown():
    now = NOW + timedelta(seconds=30)
    assert stay(a_sitting(""), now) == "person:ada with claude, open now, for 30s"
    failed = stay(a_sitting("failed", problem="not \x1b[2J\nfound"), now)
    assert failed == "person:ada with claude, for 5m: it failed: not ␛[2J ⏎ found"


@pytest.mark.proves("SES-172", "LAW-8")
def test_processes_that_outlive_a_visit_are_named():
    now = NOW + timedelta(seconds=30)
    told = stay(a_sitting(""), now, ["7 (claude \x1b[2J)", "8"])
    died = "person:ada with claude, since 2026-01-01 00:00:00 UTC: their gate continue died"
    assert told == f"{died}, but process 7 (claude ␛[2J), 8 of it still runs: end that"
    assert describe_left_behind("a-222", ["7 (claude)"]) == (
        "the visitor of a-222 has left, but process 7 (claude) of it still runs: end that, or wait for it"
    )
    many = describe_left_behind("a-222", [str(number) for number in range(9)])
    assert "process 0, 1, 2, 3, 4 and 4 more of it still runs" in many
