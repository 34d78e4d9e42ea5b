"""Join and leave a session without a terminal."""

from __future__ import annotations

import subprocess
import sys

import pytest
from tests.support.people import a_person
from tests.support.sessions import desk

from gatebell.adapters.system import processes
from gatebell.app import wiring
from gatebell.app.runtime import build_dependencies
from gatebell.domain.asks.answers import Given
from gatebell.domain.asks.asks import Origin
from gatebell.domain.runs.journals import Carried
from gatebell.domain.runs.runs import Run, RunChange, Turn
from gatebell.domain.runs.signals import Signal
from gatebell.errors import AgentRefusedError, NotFoundError, RefusedError, UsageError
from gatebell.services.asks import answer_ask, create_ask
from gatebell.services.asks.create_ask import Request
from gatebell.services.notifications import notes
from gatebell.services.runs import manage_runs
from gatebell.services.sessions import run_session
from gatebell.testing import MemoryStore

__all__ = ["desk"]

NEEDS = {"status": "NEEDS_HUMAN", "question": "Which way?", "options": ["left", "right"]}
DONE = {"status": "DONE"}


def only(desk, run):
    (ask,) = desk.store.asks.pending_of_run(run.id)
    return ask


def join(desk, ask, name="ada"):
    return run_session.open_visit(
        desk.store, build_dependencies(desk.store), ask.id, desk.caller(name)
    )


def end_process():
    """A process that has ended."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        return str(processes.identify(process.pid))


@pytest.mark.proves("RUN-353")
def test_who_comes_after_a_dead_holder_closes_its_session(desk):
    run = desk.run(NEEDS)
    ask = only(desk, run)
    first = join(desk, ask)
    with pytest.raises(RefusedError, match="person:ada has had this session open"):
        join(desk, ask, "bob")
    now = manage_runs.get(desk.store, run.id)
    dead = first.turn._replace(process=end_process())
    assert desk.store.runs.change(RunChange(now, turns=(dead,)), now)
    second = join(desk, ask, "bob")
    assert desk.store.runs.turn(first.turn.id).ended_at and second.turn.by == "person:bob"
    (_, left) = [
        entry.event.content
        for entry in desk.store.audit.of_subject(run.name)
        if entry.event.kind in ("session.left", "run.parked")
    ]
    assert left["reason"].endswith("is gone") and left["turn"] == first.turn.id


@pytest.mark.proves("RUN-356")
def test_only_news_settles(desk):
    run = desk.run(NEEDS)
    ask = only(desk, run)
    left = run_session.leave(desk.store, join(desk, ask), desk.caller())
    assert left.ask.pending and left.signal is None
    for asked, messages in (("And why?", 1), ("Which way?", 1), ("", 1), ("And when?", 2)):
        joined = join(desk, ask)
        desk.store.runs.offer(joined.turn.id, {"status": "NEEDS_HUMAN", "question": asked})
        left = run_session.leave(desk.store, joined, desk.caller())
        assert left.ask.pending and left.signal.status == "NEEDS_HUMAN" and not left.problem
        assert len(desk.store.asks.messages(ask.id)) == messages


@pytest.mark.proves("RUN-355")
def test_choice_is_settled_by_free_text(desk):
    run = desk.run(NEEDS)
    ask = only(desk, run)
    assert ask.question.kind == "choice"
    joined = join(desk, ask)
    desk.store.runs.offer(joined.turn.id, {"status": "DONE", "summary": "left, then right"})
    left = run_session.leave(desk.store, joined, desk.caller())
    assert left.ask.value == {"other": "DONE: left, then right"}
    assert desk.drive(run).result == ["DONE", "left, then right"]


@pytest.mark.proves("RUN-351")
def test_session_stays_with_its_program_when_the_role_changes(desk):
    run = desk.run(NEEDS)
    desk.write_role("coder", "cli: codex\nmodel: other")
    with pytest.raises(UsageError, match="coder has no session to join"):
        join(desk, only(desk, run))


@pytest.mark.proves("RUN-355")
def test_run_stopped_during_the_visit_is_not_resumed(desk):
    run = desk.run(NEEDS)
    ask = only(desk, run)
    joined = join(desk, ask)
    desk.store.runs.offer(joined.turn.id, DONE)
    manage_runs.stop(desk.store, run.id, desk.caller("bob"), "enough")
    left = run_session.leave(desk.store, joined, desk.caller())
    assert "enough" in str(left.problem) and left.ask.status == "cancelled"
    kept = desk.store.runs.turn(joined.turn.id)
    assert (kept.offered, kept.signal) == (DONE, None), "it is kept, and does not count"
    assert manage_runs.get(desk.store, run.id).state == "stuck"


@pytest.mark.proves("RUN-350")
def test_offer_in_a_turn_is_kept_until_its_end():
    store = MemoryStore()
    now = store.now()
    run = store.runs.add(Run(0, "f", "f.py", "", "", "/p", "person:ada", now), [], Carried())
    turn = Turn("t-1", run.id, "1", 1, "coder", "claude", "s1", "", now)
    assert store.runs.change(RunChange(run, turns=(turn,)), run)
    assert notes.offer(store, "t-1", Signal("DONE")).startswith("Recorded: DONE. End your turn")
    assert "A person is asked" in notes.offer(store, "t-1", Signal("NEEDS_HUMAN"))
    over = turn._replace(ended_at=now)
    assert store.runs.change(RunChange(run, turns=(over,)), run)
    for nobody in ("t-1", "t-9"):
        with pytest.raises(RefusedError, match="your turn is over"):
            notes.offer(store, nobody, Signal("DONE"))


@pytest.mark.proves("RUN-360")
def test_run_number_is_found_where_an_ask_is_expected(clock):
    store = MemoryStore(clock)
    new = Run(0, "f", "f.py", "", "", "/p", "person:ada", store.now())
    run = store.runs.add(new, [], Carried())
    with pytest.raises(NotFoundError, match="run 1 waits for no answer"):
        create_ask.find(store, "1")
    origin = Origin(project="/p", owner=f"run:{run.id}/1", started_by="person:ada")
    caller = a_person()
    one = create_ask.ask(store, Request("One?"), origin, caller).ask
    assert create_ask.find(store, "1") == create_ask.look_up(store, "1") == one
    assert create_ask.find(store, one.id) == one
    two = create_ask.ask(store, Request("Two?"), origin, caller).ask
    with pytest.raises(UsageError, match=rf"{one.id} \(One\?\), {two.id} \(Two\?\)"):
        create_ask.look_up(store, "1")
    for nothing in ("²", "٣", "1" * 19, "7"):
        with pytest.raises(NotFoundError):
            create_ask.find(store, nothing)


@pytest.mark.proves("RUN-390", "WHO-5")
@pytest.mark.parametrize("named", [True, False], ids=["named", "marked only"])
def test_agent_of_any_program_does_not_answer_itself(desk, monkeypatch, named):
    ask = only(desk, desk.run(NEEDS))
    joined = join(desk, ask)
    monkeypatch.setenv("GATE_TURN", joined.turn.id)
    if named:
        monkeypatch.setenv("AI_AGENT", joined.turn.session)
    agent = wiring.caller(desk.store, "cli")
    with pytest.raises(AgentRefusedError, match="which cannot answer it"):
        answer_ask.answer(desk.store, ask.id, agent, Given("left"))
    assert create_ask.get(desk.store, ask.id).pending


@pytest.mark.proves("RUN-390", "WHO-5")
def test_later_turn_does_not_answer_an_earlier_one(desk, monkeypatch):
    waiting = only(desk, desk.run(NEEDS))
    (first,) = desk.store.runs.turns(1)
    monkeypatch.setenv("GATE_TURN", first.id)
    asker = wiring.caller(desk.store, "cli")
    request = Request("Which port?", "text")
    ask = create_ask.ask(desk.store, request, wiring.origin(asker), asker).ask
    monkeypatch.setenv("GATE_TURN", join(desk, waiting).turn.id)
    with pytest.raises(AgentRefusedError, match="which cannot answer it"):
        answer_ask.answer(desk.store, ask.id, wiring.caller(desk.store, "cli"), Given("80"))


@pytest.mark.proves("RUN-390", "WHO-4")
def test_agent_of_another_session_still_answers(desk, monkeypatch):
    ask = only(desk, desk.run(NEEDS))
    monkeypatch.setenv("GATE_TURN", "t-elsewhere")
    other = wiring.caller(desk.store, "cli")
    answer_ask.answer(desk.store, ask.id, other, Given("left"))
    assert create_ask.get(desk.store, ask.id).settled_by == "agent:turn/t-elsewhere"
