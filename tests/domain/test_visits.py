"""Session asks: their terms, their clock and their results."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from gatebell.domain.asks import deadlines, outcomes
from gatebell.domain.asks.asks import Ask, Origin
from gatebell.domain.asks.questions import make_question
from gatebell.domain.people.principals import Caller, person
from gatebell.domain.runs.runs import Turn
from gatebell.domain.sessions import changes, visits
from gatebell.domain.sessions.visits import Terms, Visit, make_terms
from gatebell.errors import AlreadySettledError, UsageError

NOW = datetime(2026, 1, 1, tzinfo=UTC)
ADA = Caller(person("ada"), False, "cli", None, {})
OPEN = Visit("t-1", "a-222", 1, "person:ada", "claude", "s1", "boot/7/1", NOW)


def later(seconds):
    return NOW + timedelta(seconds=seconds)


def an_ask(answer="approval", terms=None, owner="", expires=None, **more):
    terms = terms or Terms(answer)
    question = make_question("session", "Why?", session=terms, **more)
    clock = deadlines.start(NOW, expires)
    return Ask("a-222", question, Origin(owner=owner), NOW, "d", deadlines=clock)


def end(visit, seconds, end="left", **more):
    return visit._replace(ended_at=later(seconds), end=end, **more)


@pytest.mark.proves("SES-120", "LAW-10", "S0-22")
@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        ({"answer": "poll"}, "approval, selection, freeform, structured"),
        ({"model": 3}, "expected texts"),
        ({"session_seconds": 0}, "above 0"),
        ({"session_seconds": "1"}, "above 0"),
        ({"session_seconds": 1e9}, "above 0"),
        ({"max_attempts": -1}, "whole number"),
        ({"max_attempts": True}, "whole number"),
    ],
)
def test_terms_that_make_no_sense_are_refused(more, sentence):
    with pytest.raises(UsageError, match=sentence):
        make_terms(Terms(**more))


@pytest.mark.proves("SES-120", "S0-18", "S0-26")
def test_terms_have_defaults():
    assert make_terms(Terms()) == ("text", "", "sonnet", "", "", None, False, "", 0)
    assert make_terms(Terms(session_seconds=0.5, max_attempts=2)).session_seconds == 0.5


@pytest.mark.proves("SES-121", "S0-22", "S0-23", "S0-24")
def test_session_is_answered_as_its_expected_kind():
    assert an_ask("approval").question.answered_as == "approval"
    assert make_question("text", "Q").answered_as == "text"
    with pytest.raises(UsageError, match="needs terms"):
        make_question("session", "Q")
    with pytest.raises(UsageError, match="no other kind has them"):
        make_question("text", "Q", session=Terms())
    with pytest.raises(UsageError, match="needs options"):
        an_ask("choice")
    with pytest.raises(UsageError, match="needs a schema"):
        an_ask("form")
    with pytest.raises(UsageError, match="several options"):
        an_ask("text", multiple=True)


@pytest.mark.proves("SES-122", "S0-B28")
def test_visitor_is_given_time_by_a_soft_deadline_only():
    sat = changes.open_visit(an_ask(expires=60), OPEN._replace(expires_at=later(60)), ADA, 3600)
    assert sat.ask.deadlines.expires_at == later(3600) and sat.ask.version == 2
    assert sat.events[0][:3] == ("session.opened", "a-222", "person:ada")
    assert changes.open_visit(
        an_ask(expires=9000), OPEN, ADA, 3600
    ).ask.deadlines.expires_at == later(9000)
    assert changes.open_visit(an_ask(), OPEN, ADA, 3600).ask.deadlines.expires_at is None
    hard = deadlines.start(NOW, 60, hard=True)
    assert deadlines.stay(hard, NOW, 3600) == hard
    assert deadlines.go_away(hard, later(5), NOW) == hard
    # Leaving restores the deadline, with at least two minutes to answer.
    gone = changes.close_visit(sat.ask, end(sat.visit, 5), "person:ada", given_up=False)
    assert gone.ask.deadlines.expires_at == later(125)
    long = changes.open_visit(an_ask(expires=600), OPEN._replace(expires_at=later(600)), ADA, 3600)
    left = changes.close_visit(long.ask, end(long.visit, 5), "person:ada", given_up=False)
    assert left.ask.deadlines.expires_at == later(600)
    free = changes.open_visit(an_ask(), OPEN, ADA, 3600)
    after = changes.close_visit(free.ask, end(free.visit, 5), "person:ada", given_up=False)
    assert after.ask.deadlines.expires_at is None
    settled = an_ask()._replace(status="answered", settled_at=NOW)
    with pytest.raises(AlreadySettledError):
        changes.open_visit(settled, OPEN, ADA, 1)


@pytest.mark.proves("SES-123", "S0-104", "S0-111", "LAW-3")
def test_only_time_and_last_failure_settle_a_left_session():
    ask = an_ask(owner="run:1/2")
    left = changes.close_visit(ask, end(OPEN, 5), "person:ada", given_up=False)
    assert left.ask.pending and left.ask.version == 2 and not left.wakes
    up = changes.close_visit(ask, end(OPEN, 5, "time"), "person:ada", given_up=False)
    assert (up.ask.status, up.ask.decision, up.ask.settled_via) == ("timed_out", None, "session")
    assert [event.kind for event in up.events] == ["session.closed", "ask.timed_out"]
    assert up.wakes == ("run:1/2",) and up.notices[0].kind == "settled"
    failed = end(OPEN, 5, "failed", problem="no claude")
    gave = changes.close_visit(ask, failed, "person:ada", given_up=True)
    assert gave.ask.status == "cancelled"
    assert (gave.ask.settled_by, gave.ask.settled_via) == ("gate", "failed")
    assert "no claude" in gave.ask.note and gave.events[1].kind == "ask.cancelled"
    assert gave.wakes == ("run:1/2",) and gave.visit == failed
    settled = ask._replace(status="answered", settled_at=NOW)
    late = changes.close_visit(settled, end(OPEN, 5, "time"), "person:ada", given_up=True)
    assert late.ask.status == "answered" and len(late.events) == 1


@pytest.mark.proves("SES-124", "S0-21", "S0-B24")
def test_time_is_counted_over_all_sittings_but_the_lost():
    two = [end(OPEN, 5), end(OPEN, 900, "lost"), OPEN._replace(started_at=later(10))]
    assert visits.seconds_used(two, later(13)) == 8
    assert visits.seconds_left(Terms(), two, later(13)) is None
    assert visits.seconds_left(Terms(session_seconds=10), two, later(13)) == 2
    assert visits.seconds_left(Terms(session_seconds=5), two, later(13)) == 0
    assert visits.failures([end(OPEN, 1, "failed"), end(OPEN, 2)]) == 1


@pytest.mark.proves("SES-125", "S0-114")
def test_new_visit_continues_the_existing_conversation():
    other = OPEN._replace(session="s2", cli="codex")
    assert visits.conversation(Terms(), [], "claude") is None
    assert visits.conversation(Terms(), [OPEN, other], "claude") == ("codex", "s2")
    nothing = OPEN._replace(session="")
    assert visits.conversation(Terms(), [OPEN, nothing], "claude") == ("claude", "s1")
    assert visits.conversation(Terms(resume_session="codex/9"), [], "claude") == ("codex", "9")
    assert visits.conversation(Terms(resume_session="9"), [nothing], "claude") == ("claude", "9")


@pytest.mark.proves("SES-126")
def test_holder_and_next_step_are_shown():
    assert "in process 7: wait" in visits.describe_holder(OPEN, "a-222", [], later(90))
    assert "process 8, 9 of it still runs" in visits.describe_holder(
        OPEN, "a-222", ["8", "9"], later(90)
    )
    assert "gate answer a-222" in visits.describe_holder(OPEN, "a-222", [], later(90))


@pytest.mark.proves("S0-27", "S0-28", "S0-29", "S0-30", "S0-47", "S0-B6", "S0-B7", "S0-B25")
@pytest.mark.parametrize(
    ("status", "via", "decision", "word"),
    [
        ("answered", "cli", "approved", "completed"),
        ("answered", "cli", "rejected", "completed"),
        ("cancelled", "cli", None, "cancelled"),
        ("cancelled", "failed", None, "failed"),
        ("timed_out", "deadline", None, "timeout"),
        ("timed_out", "session", None, "timeout"),
        ("pending", "", None, "pending"),
    ],
)
def test_session_result_has_outcome_and_duration(status, via, decision, word):
    ask = an_ask()._replace(status=status, settled_via=via, decision=decision)
    result = outcomes.outcome(ask, None, outcomes.sum_up(ask, [end(OPEN, 3), end(OPEN, 4)]))
    assert (result.outcome, result.decision, result.response) == (word, decision, decision)
    assert (result.duration_ms, result.attempts, result.session_id) == (7000, 2, "claude/s1")
    assert result.transcript is None
    with pytest.raises(TypeError, match="neither true nor false"):
        bool(result)


@pytest.mark.proves("S0-29", "S0-28", "S0-41", "S0-110")
def test_transcript_is_stored_only_when_requested():
    terms = Terms("choice", capture_transcript=True)
    ask = an_ask(terms=terms, options=("A", "Other…"))._replace(status="answered")
    said = [end(OPEN, 1, transcript="one"), end(OPEN, 1), end(OPEN, 2, transcript="two")]
    result = outcomes.outcome(ask, {"other": "mine"}, outcomes.sum_up(ask, said))
    assert (result.transcript, result.response) == ("one\ntwo", "mine")
    form = an_ask("form", schema={})._replace(status="answered")
    nobody = outcomes.outcome(form, {"a": 1})
    assert (nobody.response, nobody.duration_ms, nobody.session_id) == ({"a": 1}, 0, "")


@pytest.mark.proves("SES-125", "S0-117")
def test_words_of_killed_visits_are_in_the_next_transcript():
    first = end(OPEN, 5)
    lost = end(OPEN._replace(started_at=later(10)), 20, "lost")
    again = end(OPEN._replace(started_at=later(30)), 40, "lost")
    now = OPEN._replace(started_at=later(50))
    assert visits.find_transcript_gap([first]) == NOW
    assert visits.find_transcript_gap([first, now]) == later(50)
    assert visits.find_transcript_gap([first, lost, again, now]) == later(10)
    assert visits.find_transcript_gap([lost, now]) == later(10)


@pytest.mark.proves("RUN-391")
def test_joined_session_holds_the_deadline_of_its_ask():
    turn = Turn("t-1", 1, "1", 2, "coder", "command", "s1", "", NOW, by="person:ada")
    held = changes.hold_open(an_ask(expires=60), turn, 3600)
    assert held.ask.deadlines.expires_at == later(3600)
    assert held.events[0].kind == "ask.held" and held.events[0].actor == "person:ada"
    assert changes.release(held.ask, turn, later(60), later(5)).ask.deadlines == (
        held.ask.deadlines._replace(expires_at=later(125))
    )
    assert changes.hold_open(an_ask(), turn, 3600) is None
    assert changes.release(an_ask(expires=60), turn, None, later(5)) is None
    settled = held.ask._replace(status="answered")
    assert changes.release(settled, turn, later(60), later(5)) is None
