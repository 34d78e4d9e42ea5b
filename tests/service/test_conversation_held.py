"""A conversation that is open through a session ask cannot be opened a second time."""

from __future__ import annotations

import re

import pytest
from tests.support.sessions import desk
from tests.support.visits import dead_process

from gatebell.app.runtime import build_dependencies
from gatebell.domain.asks.answers import Given
from gatebell.domain.asks.asks import Origin
from gatebell.domain.runs.runs import RunChange
from gatebell.domain.sessions.visits import Terms
from gatebell.errors import RefusedError
from gatebell.services.asks import answer_ask, create_ask
from gatebell.services.asks.create_ask import Request
from gatebell.services.sessions import ask_session, run_session

__all__ = ["desk"]

NEEDS = {"status": "NEEDS_HUMAN", "question": "Which way?"}
DONE = {"status": "DONE"}


@pytest.mark.proves("SES-129", "LAW-5")
def test_who_sits_in_an_agents_conversation_has_it_alone(desk):
    run = desk.run(NEEDS, DONE)
    (asked,) = desk.store.asks.pending_of_run(run.id)
    (turn,) = desk.store.runs.turns(run.id)
    terms = Terms("text", resume_session=f"{turn.cli}/{turn.session}")
    request = Request("Why so?", "session", session=terms)
    ask = create_ask.ask(desk.store, request, Origin(), desk.caller()).ask
    seated = ask_session.open_visit(desk.store, ask.id, desk.caller("bob"), "claude", "new")
    assert (seated.visit.cli, seated.visit.session) == (turn.cli, turn.session)
    with pytest.raises(RefusedError, match="person:bob has had this session open"):
        run_session.open_visit(desk.store, build_dependencies(desk.store), asked.id, desk.caller())
    answer_ask.answer(desk.store, asked.id, desk.caller(), Given("left"))
    held = desk.drive(run)
    assert held.state == "ready" and held.ready_at, "it looks again later"
    assert len(desk.store.runs.turns(run.id)) == 1
    ask_session.close_visit(desk.store, seated.visit, desk.caller("bob"), "left")
    ended = desk.drive(run)
    assert (ended.state, len(desk.store.runs.turns(run.id))) == ("completed", 2)


def ask_about(desk, turn):
    """Open an ask whose session continues the conversation of a turn."""
    terms = Terms("text", resume_session=f"{turn.cli}/{turn.session}")
    request = Request("Why so?", "session", session=terms)
    return create_ask.ask(desk.store, request, Origin(), desk.caller()).ask


@pytest.mark.proves("LAYER-4", "SES-129")
def test_visitor_of_run_is_named_to_others(desk):
    """It is opened through the run, then requested through the run and through an ask."""
    run = desk.run(NEEDS, DONE)
    (asked,) = desk.store.asks.pending_of_run(run.id)
    needs = build_dependencies(desk.store)
    visit = run_session.open_visit(desk.store, needs, asked.id, desk.caller())
    ask = ask_about(desk, visit.turn)
    with pytest.raises(RefusedError, match="person:ada has had this session open") as by_ask:
        ask_session.open_visit(desk.store, ask.id, desk.caller("bob"), "claude", "new")
    with pytest.raises(RefusedError, match="person:ada has had this session open") as by_run:
        run_session.open_visit(desk.store, needs, asked.id, desk.caller("bob"))
    sentences = [str(one.value) for one in (by_ask, by_run)]
    assert len({re.sub("ago.*in|a-.*", "", one) for one in sentences}) == 1
    assert [one.split()[-1] for one in sentences] == [ask.id, asked.id]


@pytest.mark.proves("LAYER-4")
def test_working_agent_keeps_its_conversation(desk):
    run = desk.run(NEEDS, DONE)
    (turn,) = desk.store.runs.turns(run.id)
    busy = turn._replace(ended_at=None, process=str(desk.store.machine.me()))
    now = desk.store.runs.get(run.id)
    assert desk.store.runs.change(RunChange(now, turns=(busy,)), now)
    (asked,) = desk.store.asks.pending_of_run(run.id)
    ask = ask_about(desk, turn)
    words = r"coder is at work in this session now \(process \d+\): wait until it needs you, end it"
    with pytest.raises(RefusedError, match=f"{words} with gate stop 1, .*gate answer {ask.id}"):
        ask_session.open_visit(desk.store, ask.id, desk.caller(), "claude", "new")
    with pytest.raises(RefusedError, match=f"{words} with gate stop 1, .*gate answer {asked.id}"):
        run_session.open_visit(desk.store, build_dependencies(desk.store), asked.id, desk.caller())


@pytest.mark.proves("LAYER-4", "SES-171")
def test_lost_visit_of_run_frees_its_conversation(desk):
    run = desk.run(NEEDS, DONE)
    (asked,) = desk.store.asks.pending_of_run(run.id)
    needs = build_dependencies(desk.store)
    visit = run_session.open_visit(desk.store, needs, asked.id, desk.caller())
    ask = ask_about(desk, visit.turn)
    now = desk.store.runs.get(run.id)
    dead = visit.turn._replace(process=dead_process())
    assert desk.store.runs.change(RunChange(now, turns=(dead,)), now)
    opened = ask_session.open_visit(desk.store, ask.id, desk.caller("bob"), "claude", "new")
    assert opened.visit.session == visit.turn.session
    assert desk.store.runs.turn(visit.turn.id).ended_at, "it was closed"
