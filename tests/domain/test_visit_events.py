"""Sessions: whole events and sentences of visits."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from tests.support.people import a_person

from gatebell.domain.asks import deadlines
from gatebell.domain.asks.asks import Ask, Change, Notice, Origin, iso
from gatebell.domain.asks.questions import make_question
from gatebell.domain.runs.runs import Run, RunChange, Turn
from gatebell.domain.runs.signals import Signal
from gatebell.domain.sessions import changes, joined_sessions, visits
from gatebell.domain.sessions.visits import Terms, Visit
from gatebell.errors import NotFoundError

NOW = datetime(2026, 1, 1, tzinfo=UTC)
ADA = a_person()
OPEN = Visit("t-1", "a-222", 1, "person:ada", "claude", "s1", "boot/7/1", NOW)
TURN = Turn("t-1", 42, "1", 2, "coder", "claude", "s1", "", NOW, by="person:ada", ask_id="a-222")
RUN = Run(42, "feature", "f.py", "", "Add login", "/p", "person:ada", NOW)


def later(seconds):
    return NOW + timedelta(seconds=seconds)


def an_ask(expires=None, **more):
    question = make_question("session", "Why?", session=Terms("approval"))
    clock = deadlines.start(NOW, expires)
    return Ask("a-222", question, Origin(owner="run:42/1"), NOW, "d", deadlines=clock, **more)


@pytest.mark.proves("SES-122", "LAW-9")
def test_opened_visit_is_recorded_whole():
    came = changes.open_visit(an_ask(60), OPEN, ADA, 3600)
    content = {"visit": "t-1", "session": "claude/s1", "via": "cli", "evidence": {"uid": 1000}}
    assert came.events == (("session.opened", "a-222", "person:ada", content),)
    assert came.visit == OPEN and came.ask.version == 2


@pytest.mark.proves("SES-122")
def test_visit_that_goes_on_is_kept_with_its_ask():
    known = OPEN._replace(session="s2")
    assert changes.update_visit(an_ask(version=4), known) == Change(
        an_ask(version=5), (), visit=known
    )


@pytest.mark.proves("RUN-391", "LAW-9")
def test_held_deadline_is_recorded_whole():
    held = changes.hold_open(an_ask(60, version=3), TURN, 3600)
    content = {"until": iso(later(3600)), "turn": "t-1", "before": iso(later(60))}
    assert held.events == (("ask.held", "a-222", "person:ada", content),)
    assert held.ask.version == 4
    freed = changes.release(held.ask, TURN, later(60), later(5))
    content = {"until": iso(later(125)), "turn": "t-1"}
    assert freed.events == (("ask.held", "a-222", "person:ada", content),)
    assert freed.ask.version == 5


@pytest.mark.proves("SES-123", "LAW-9")
def test_closed_visit_is_recorded_whole():
    left = OPEN._replace(ended_at=later(5), end="left")
    event = (
        "session.closed", "a-222", "gate", {"visit": "t-1", "end": "left", "problem": ""}
    )  # fmt: skip
    gone = changes.close_visit(an_ask(), left, "gate", given_up=False)
    assert gone == Change(an_ask(version=2), (event,), (), visit=left)
    settled = an_ask(status="answered", settled_at=NOW)
    over = changes.close_visit(settled, left, "gate", given_up=False)
    assert over == Change(settled._replace(version=2), (event,), ("run:42/1",), visit=left)


@pytest.mark.proves("SES-123", "LAW-9")
def test_given_up_session_is_recorded_whole():
    failed = OPEN._replace(ended_at=later(5), end="failed", problem="no claude")
    gave = changes.close_visit(an_ask(), failed, "person:ada", given_up=True)
    note = "the last attempt failed: no claude"
    assert gave.ask.note == note
    assert gave.events == (
        (
            "session.closed", "a-222", "person:ada",
            {"visit": "t-1", "end": "failed", "problem": "no claude"},
        ),
        ("ask.cancelled", "a-222", "gate", {"note": note, "via": "failed", "at": iso(later(5))}),
    )  # fmt: skip
    assert gave.notices == (Notice("settled", "a-222"),) and gave.wakes == ("run:42/1",)


@pytest.mark.proves("RUN-352", "LAW-9")
def test_joined_and_left_session_is_recorded_whole():
    content = {
        "turn": "t-1", "call": "1", "session": "claude/s1", "ask": "a-222", "via": "cli",
        "evidence": {"uid": 1000},
    }  # fmt: skip
    assert joined_sessions.join(RUN, TURN, ADA) == RunChange(
        RUN, turns=(TURN,), events=(("session.joined", "run:42", "person:ada", content),)
    )
    left = joined_sessions.leave(RUN, TURN, Signal("DONE"), "person:ada", NOW, "it is late")
    content = {"turn": "t-1", "status": "DONE", "reason": "it is late"}
    assert left.event == ("session.left", "run:42", "person:ada", content)
    silent = joined_sessions.leave(RUN, TURN, None, "gate", NOW)
    assert silent.event.content == {"turn": "t-1", "status": "", "reason": ""}


@pytest.mark.proves("RUN-351", "LAW-10")
@pytest.mark.parametrize(
    ("turns", "why"),
    [
        ([], "no agent has worked in it yet"),
        ([TURN._replace(cli="python", session="")], "a Python function has no session"),
    ],
)
def test_missing_session_is_explained(turns, why):
    with pytest.raises(NotFoundError) as caught:
        joined_sessions.find_session(an_ask(), [], turns)
    assert str(caught.value) == (
        f"there is no session to open in run 42: {why}. Answer with: gate answer a-222"
    )


@pytest.mark.proves("RUN-352")
def test_last_sent_turn_names_the_signal_file():
    first = TURN._replace(id="t-2", sent="do it")
    second = first._replace(id="t-3", started_at=later(1))
    others = [
        second._replace(id="t-4", sent=""),
        second._replace(id="t-5", session="s2", started_at=later(9)),
        second._replace(id="t-6", role="tester", started_at=later(9)),
    ]
    assert joined_sessions.find_prompted_turn(TURN, [first, second, *others]) == second
    assert joined_sessions.find_prompted_turn(TURN, others) == TURN


@pytest.mark.proves("SES-126")
@pytest.mark.parametrize(
    ("end", "words"),
    [
        ("left", "left"),
        ("time", "its time was up"),
        ("failed", "it failed"),
        ("stopped", "the ask was settled or stopped"),
    ],
)
def test_end_of_a_visit_is_described_in_words(end, words):
    over = OPEN._replace(ended_at=later(5), end=end)
    assert visits.stay(over, later(9)) == f"person:ada with claude, for 5s: {words}"
    told = visits.stay(over._replace(problem="no claude"), later(9))
    assert told == f"person:ada with claude, for 5s: {words}: no claude"


@pytest.mark.proves("SES-126", "FLT-6")
def test_lost_visit_is_recorded_with_its_start():
    over = OPEN._replace(ended_at=later(5), end="lost")
    words = "since 2026-01-01 00:00:00 UTC: their gate continue died"
    assert visits.stay(over, later(9)) == f"person:ada with claude, {words}"


@pytest.mark.proves("SES-126")
def test_long_names_of_processes_are_cut():
    told = visits.describe_left_behind("a-222", ["p" * 100, "q" * 101, *"abcd"])
    assert told == (
        f"the visitor of a-222 has left, but process {'p' * 100}, {'q' * 99}…, a, b, c and 1 more "
        "of it still runs: end that, or wait for it"
    )


@pytest.mark.proves("SES-64")
@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ("approval", "approve or reject"),
        ("choice", "one of the options"),
        ("text", "a text"),
        ("form", "a completed form"),
    ],
)
def test_facts_of_a_session_name_its_result(answer, words):
    assert visits.facts(Terms(answer), "/p") == [
        ("Result", words), ("Model", "sonnet"), ("Folder", "/p")
    ]  # fmt: skip


@pytest.mark.proves("SES-124")
def test_time_in_a_session_is_counted_exactly():
    half = OPEN._replace(ended_at=later(0.5), end="left")
    back = OPEN._replace(ended_at=later(-5), end="left")
    assert visits.seconds_used([half], NOW) == 0.5
    assert visits.seconds_used([back], NOW) == 0 == visits.seconds_used([], NOW)
    failed = OPEN._replace(end="failed")
    assert visits.failures([failed, failed, OPEN]) == 2
    assert OPEN[8:] == ("", None, "", "", "", None)
