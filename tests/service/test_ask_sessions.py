"""Take the session of an ask and return it, on every store."""

from __future__ import annotations

import subprocess
import sys

import pytest
from tests.support.session_asks import ADA, BOB, open_ask
from tests.support.stores import place, store
from tests.support.visits import kill_harness, rewrite_visit

from gatebell.adapters.system import processes
from gatebell.domain.asks.answers import Given
from gatebell.domain.asks.asks import Change, Origin
from gatebell.domain.people.principals import Sighting
from gatebell.domain.sessions import changes
from gatebell.domain.sessions.visits import Terms
from gatebell.errors import (
    AgentRefusedError,
    AlreadySettledError,
    AskExpiredError,
    RefusedError,
    UsageError,
)
from gatebell.ports.results import Conflict, Done
from gatebell.services import audit
from gatebell.services.asks import answer_ask, apply_deadlines, create_ask, wait_for_ask
from gatebell.services.asks.create_ask import Request
from gatebell.services.people import manage_people
from gatebell.services.sessions import ask_session, visits

__all__ = ["place", "store"]


def sit(store, ask, who=ADA, session="s1"):
    return ask_session.open_visit(store, ask.id, who, "claude", session)


def result(store, ask):
    found = create_ask.get(store, ask.id)
    return wait_for_ask.outcome(store, found, found.value)


@pytest.mark.proves("SES-127", "S0-106", "S0-108", "S0-B27", "LAW-2")
def test_one_person_at_a_time_has_the_session(store):
    ask = open_ask(store)
    seated = sit(store, ask)
    assert (seated.goes_on, seated.seconds_left, seated.visit.number) == (False, None, 1)
    with pytest.raises(RefusedError, match="person:ada has had this session open"):
        sit(store, ask, BOB, "s2")
    began = ask_session.note_program(store, seated.visit, "boot/9/1")
    assert store.asks.visit(began.id) == began and began.program == "boot/9/1"
    assert ask_session.close_visit(store, began, ADA, "left").pending
    again = sit(store, ask, BOB, "s2")
    assert (again.goes_on, again.visit.session, again.visit.number) == (True, "s1", 2)
    assert store.asks.open_visits() == [again.visit]
    kept = store.asks.visits(ask.id)
    assert [(one.by, one.end) for one in kept] == [("person:ada", "left"), ("person:bob", "")]
    kinds = [entry.event.kind for entry in store.audit.of_subject(ask.id)]
    assert kinds == ["ask.opened", "session.opened", "session.closed", "session.opened"]


@pytest.mark.proves("SES-128", "S0-B23")
def test_session_is_free_once_all_processes_are_gone(store):
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    dead = str(processes.identify(child.pid))
    child.communicate(b"\n")
    ask = open_ask(store)
    seated = sit(store, ask)
    gone = seated.visit._replace(process=dead)
    ask_session.note_program(store, gone, "")
    rewrite_visit(store, gone.id, process=dead)
    held = store.asks.visits(ask.id)[0]
    assert held.process == dead
    orphan = subprocess.Popen(
        [sys.executable, "-c", "print(flush=True); input()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={"GATE_TURN": held.id},
    )
    # While a program is being loaded, its environment cannot be read.
    orphan.stdout.readline()
    try:
        with pytest.raises(RefusedError, match=rf"process {orphan.pid} \(.* of it still runs"):
            sit(store, ask, BOB)
        assert [one.end for one in visits.list_visits(store, ask.id)] == [""]
    finally:
        orphan.communicate(b"\n")
    assert [one.end for one in visits.list_visits(store, ask.id)] == ["lost"]
    again = sit(store, ask, BOB)
    assert again.goes_on and [s.end for s in store.asks.visits(ask.id)] == ["lost", ""]


@pytest.mark.proves("SES-129", "S0-114", "LAW-2")
def test_conversation_has_one_holder_across_asks(store):
    first = open_ask(store)
    held = sit(store, first)
    second = open_ask(store, Terms("text", resume_session="claude/s1"))
    with pytest.raises(RefusedError, match=f"gate answer {first.id}"):
        sit(store, second)
    ask_session.close_visit(store, held.visit, ADA, "left")
    assert sit(store, second, session="s9").visit.session == "s1"


@pytest.mark.proves("SES-130", "S0-111", "S0-104")
def test_time_that_is_up_settles_it_and_never_approves(store):
    ask = open_ask(store, Terms("approval", session_seconds=100))
    first = sit(store, ask)
    store.clock.advance(40)
    ask_session.close_visit(store, first.visit, ADA, "left")
    second = sit(store, ask)
    assert second.seconds_left == 60
    store.clock.advance(60)
    after = ask_session.close_visit(store, second.visit, ADA, "time", transcript="so far")
    assert (after.status, after.decision) == ("timed_out", None)
    assert (result(store, ask).outcome, result(store, ask).duration_ms) == ("timeout", 100_000)
    with pytest.raises(AlreadySettledError):
        sit(store, ask)


@pytest.mark.proves("SES-130")
def test_whose_time_is_used_up_can_still_answer(store):
    ask = open_ask(store, Terms("approval", session_seconds=10))
    seated = sit(store, ask)
    store.clock.advance(11)
    ask_session.close_visit(store, seated.visit, ADA, "left")
    with pytest.raises(AskExpiredError, match=f"gate answer {ask.id}"):
        sit(store, ask)
    answer_ask.answer(store, ask.id, ADA, Given("no"))
    assert (result(store, ask).outcome, result(store, ask).response) == ("completed", "rejected")


@pytest.mark.proves("SES-122", "S0-B28", "LAW-1")
def test_deadline_waits_for_a_visitor_and_then_settles(store):
    alone = open_ask(store, expires_seconds=60)
    ask = open_ask(store, Terms("text", session_seconds=600), expires_seconds=60)
    seated = sit(store, ask)
    store.clock.advance(300)
    apply_deadlines.sweep(store)
    assert result(store, alone).outcome == "timeout"
    assert result(store, ask).outcome == "pending"
    ask_session.close_visit(store, seated.visit, ADA, "left")
    store.clock.advance(119)
    apply_deadlines.sweep(store)
    assert result(store, ask).outcome == "pending"
    store.clock.advance(2)
    apply_deadlines.sweep(store)
    assert result(store, ask).outcome == "timeout"


@pytest.mark.proves("SES-131", "S0-B25")
def test_failed_attempts_are_kept_and_the_last_one_settles(store):
    ask = open_ask(store, Terms("text", max_attempts=2))
    first = ask_session.close_visit(
        store, sit(store, ask).visit, ADA, "failed", problem="no claude\x00"
    )
    assert first.pending
    after = ask_session.close_visit(store, sit(store, ask).visit, BOB, "failed", problem="no login")
    assert after.status == "cancelled"
    assert (result(store, ask).outcome, result(store, ask).attempts) == ("failed", 2)
    assert [one.problem for one in store.asks.visits(ask.id)] == ["no claude\ufffd", "no login"]


@pytest.mark.proves("SES-131", "S0-B26", "LAW-3")
def test_person_closes_a_session_as_failed(store):
    ask = open_ask(store)
    agent = ADA._replace(agent=Sighting("claude", "s", "CLAUDECODE is set"))
    with pytest.raises(AgentRefusedError):
        ask_session.fail(store, ask.id, agent, "it will not work")
    ask_session.fail(store, ask.id, ADA, "it will not work")
    assert (result(store, ask).outcome, result(store, ask).note) == ("failed", "it will not work")
    text = create_ask.ask(store, Request("Why?"), Origin(), ADA).ask
    with pytest.raises(UsageError, match="is not a session"):
        ask_session.fail(store, text.id, ADA, "")


@pytest.mark.proves("SES-132", "LAW-3", "S0-B34")
def test_who_may_not_decide_may_not_sit(store):
    ask = open_ask(store)
    agent = ADA._replace(agent=Sighting("claude", "s", "CLAUDECODE is set"))
    with pytest.raises(AgentRefusedError, match="opens an agent's session"):
        sit(store, ask, agent)
    text = create_ask.ask(store, Request("Why?"), Origin(), ADA).ask
    with pytest.raises(UsageError, match="is not a session"):
        sit(store, text)


@pytest.mark.proves("SES-133", "S0-115", "S0-B34")
def test_participants_come_in_turn_and_all_of_them_decide(store):
    for name in ("ada", "bob"):
        manage_people.add(store, ADA, name)
    ada, bob = ADA._replace(verified=True), BOB._replace(verified=True)
    ask = open_ask(store, requirement={"all": ["ada", "bob"]})
    with pytest.raises(RefusedError, match="personal token"):
        sit(store, ask)
    for who, pending in ((ada, True), (bob, False)):
        seated = sit(store, ask, who)
        ask_session.close_visit(store, seated.visit, who, "left")
        after = answer_ask.answer(store, ask.id, who, Given("yes"))[1]
        assert after.pending == pending
    assert (result(store, ask).response, result(store, ask).attempts) == ("approved", 2)


@pytest.mark.proves("FLT-7")
@pytest.mark.parametrize(
    ("votes", "names"),
    [
        (["ada yes", "bob yes"], "person:ada, person:bob"),
        (["ada no", "bob yes", "ada yes"], "person:bob, person:ada"),
        (["ada yes", "bob no", "ada no"], "person:bob, person:ada"),
    ],
)
def test_result_names_all_whose_votes_decided(store, votes, names):
    callers = {"ada": ADA._replace(verified=True), "bob": BOB._replace(verified=True)}
    for name in callers:
        manage_people.add(store, ADA, name)
    ask = open_ask(store, requirement={"all": ["ada", "bob"], "reject": 2})
    for vote in votes:
        name, _, value = vote.partition(" ")
        answer_ask.answer(store, ask.id, callers[name], Given(value))
    assert result(store, ask).settled_by == names
    assert audit.verify(store) == []
    forged = store.asks.get(ask.id)._replace(settled_by="person:eve, person:ada")
    store.asks.change(Change(forged._replace(version=forged.version + 1), ()), forged.version)
    assert any("says something different" in fault for fault in audit.verify(store))


@pytest.mark.proves("FLT-6")
def test_lost_visit_of_a_settled_ask_stays_the_same(store):
    ask = open_ask(store)
    seated = sit(store, ask)
    answer_ask.answer(store, ask.id, BOB, Given("yes"))
    kill_harness(store, seated.visit)
    before = visits.list_visits(store, ask.id)
    store.clock.advance(86_400)
    assert visits.list_visits(store, ask.id) == before
    assert (before[0].end, before[0].ended_at) == ("lost", None)


@pytest.mark.proves("SES-134")
def test_session_settled_elsewhere_can_be_left(store):
    ask = open_ask(store)
    seated = sit(store, ask)
    answer_ask.answer(store, ask.id, BOB, Given("yes"))
    after = ask_session.close_visit(store, seated.visit, ADA, "stopped")
    assert (after.status, after.settled_by) == ("answered", "person:bob")


@pytest.mark.proves("SES-129", "LAW-2")
def test_conversation_taken_twice_at_once_has_one_holder(store):
    one, other = open_ask(store), open_ask(store, Terms("text"))
    held = sit(store, one).visit
    late = held._replace(id="t-late", ask_id=other.id)
    change = changes.open_visit(other, late, BOB, 60)
    assert isinstance(store.asks.change(change, other.version), Conflict)
    assert store.asks.visits(other.id) == [] and store.asks.holder("claude", "s1") == held
    unknown = held._replace(id="t-none", ask_id=other.id, session="")
    assert isinstance(
        store.asks.change(changes.open_visit(other, unknown, BOB, 60), other.version), Done
    )


@pytest.mark.proves("SES-129", "SES-171", "LAYER-4")
def test_lost_visit_of_other_ask_frees_conversation(store):
    first = open_ask(store)
    held = sit(store, first)
    second = open_ask(store, Terms("text", resume_session="claude/s1"))
    kill_harness(store, held.visit)
    assert sit(store, second, session="s9").visit.session == "s1"
    assert store.asks.visit(held.visit.id).end == "lost"
