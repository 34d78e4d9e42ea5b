"""Visits whose holders died, in this or another container, are found by any command."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
from contextlib import closing
from datetime import timedelta

import pytest
from tests.support.containers import Container
from tests.support.people import a_person
from tests.support.sessions import desk
from tests.support.visits import kill_harness, orphan, write_log
from tests.support.waiting import eventually

from gatebell import AsyncGate, Gate
from gatebell.adapters.system import processes, visit_locks
from gatebell.app import runtime
from gatebell.domain.asks.answers import Given
from gatebell.domain.runs.identities import parse_identity
from gatebell.errors import GateError, RefusedError, StoreError
from gatebell.services.asks import answer_ask, apply_deadlines, create_ask, wait_for_ask
from gatebell.services.sessions import ask_session, presence, run_session

__all__ = ["desk", "orphan"]

ADA, BOB = a_person("ada"), a_person("bob")
NEEDS = {"status": "NEEDS_HUMAN", "question": "Which way?"}
DONE = {"status": "DONE", "summary": "to the left"}
VISIT = """
import sys
from gatebell import Gate
from gatebell.domain.people.principals import Caller, person
from gatebell.services.sessions import ask_session
store = Gate(sys.argv[1]).store
who = Caller(person("ada"), False, "cli", None, {})
print(ask_session.open_visit(store, sys.argv[2], who, "claude", "s1").visit.process, flush=True)
input()
"""
JOIN = """
import sys
from gatebell import Gate
from gatebell.app import runtime
from gatebell.domain.people.principals import Caller, person
from gatebell.services.sessions import run_session
store = Gate(sys.argv[1]).store
who = Caller(person("ada"), False, "cli", None, {})
print(run_session.open_visit(store, runtime.build_dependencies(store), sys.argv[2], who).turn.process, flush=True)
input()
"""


@pytest.fixture
def gate(tmp_path, monkeypatch):
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    made = Gate(str(tmp_path / "gate.db"))
    yield made
    made.store.close()


def ask_for_session(gate, **more):
    return gate.human.request_interactive("Is it safe?", {"capture_transcript": True} | more)


def ends(gate, ask_id):
    return [one.end for one in gate.store.asks.visits(ask_id)]


def go_elsewhere(monkeypatch):
    """Make this process look like one in another container of the same boot."""
    boot, _, namespace = processes._boot().partition(":")
    monkeypatch.setattr(processes, "_boot", lambda: f"{boot}:{namespace}9")


@pytest.mark.proves("SES-170", "SES-128")
def test_killed_container_gives_its_session_back(gate):
    ask_id = ask_for_session(gate)
    container = Container(VISIT, gate.store.path, ask_id)
    try:
        assert processes.is_elsewhere(parse_identity(container.said))
        with pytest.raises(RefusedError, match="person:ada has had this session open"):
            ask_session.open_visit(gate.store, ask_id, BOB, "claude", "s2")
        apply_deadlines.sweep(gate.store)
        assert ends(gate, ask_id) == [""]
        answer_ask.answer(gate.store, ask_id, BOB, Given("yes"))
        assert gate.wait(ask_id, 0).outcome == "pending"
    finally:
        container.kill()
    assert gate.wait(ask_id, 20).outcome == "completed"
    assert ends(gate, ask_id) == ["lost"]


@pytest.mark.proves("RUN-393", "RUN-382")
def test_killed_container_gives_joined_session_back(desk):
    run = desk.run(NEEDS, DONE)
    (ask,) = desk.store.asks.pending_of_run(run.id)
    container = Container(JOIN, desk.store.path, ask.id)
    try:
        assert processes.is_elsewhere(parse_identity(container.said))
        with pytest.raises(RefusedError, match="person:ada has had this session open"):
            run_session.open_visit(
                desk.store, runtime.build_dependencies(desk.store), ask.id, desk.caller("bob")
            )
        apply_deadlines.sweep(desk.store)
        assert desk.store.runs.list_joined_turns()
    finally:
        container.kill()
    answer_ask.answer(desk.store, ask.id, desk.caller("bob"), Given("left"))
    assert desk.drive(run).result == ["DONE", "to the left"]


@pytest.mark.proves("SES-170")
@pytest.mark.parametrize("alive", [True, False], ids=["alive", "dead"])
def test_lock_alone_tells_of_holder_elsewhere(gate, monkeypatch, alive):
    ask_id = ask_for_session(gate)
    visited = ask_session.open_visit(gate.store, ask_id, ADA, "claude", "s1").visit
    go_elsewhere(monkeypatch)
    if not alive:
        visit_locks._forget()
    assert presence.holds(gate.store, visited) == alive
    if alive:
        ask_session.close_visit(gate.store, visited, ADA, "left")
        assert os.listdir(f"{gate.store.path}-visits") == [], "nothing is left behind"


@pytest.mark.proves("SES-170")
def test_lock_that_cannot_be_read_proves_nothing(gate, monkeypatch):
    ask_id = ask_for_session(gate)
    visited = ask_session.open_visit(gate.store, ask_id, ADA, "claude", "s1").visit
    go_elsewhere(monkeypatch)
    (lock,) = os.scandir(f"{gate.store.path}-visits")
    os.rename(lock.path, f"{lock.path}-moved")
    os.symlink(f"{lock.path}-moved", lock.path)
    assert presence.holds(gate.store, visited), "a link is not followed"


@pytest.mark.proves("SES-170")
def test_program_of_visit_keeps_its_proof(gate, monkeypatch):
    """`gate continue` is killed in another container; its program still runs."""
    ask_id = ask_for_session(gate)
    visited = ask_session.open_visit(gate.store, ask_id, ADA, "claude", "s1").visit
    with gate.store.machine.visit_proof(visited.id) as proof:
        program = subprocess.Popen(
            [sys.executable, "-c", "input()"],
            stdin=subprocess.PIPE,
            pass_fds=proof,
            # As `gate continue` starts it: code of the parent runs in the child.
            preexec_fn=lambda: None,  # noqa: PLW1509 - the test is about it
        )
    visit_locks._forget()
    go_elsewhere(monkeypatch)
    assert presence.holds(gate.store, visited)
    program.communicate(b"\n")
    assert not presence.holds(gate.store, visited)


@pytest.mark.proves("SES-170")
def test_forked_child_does_not_prove_a_visit(gate, monkeypatch):
    ask_id = ask_for_session(gate)
    visited = ask_session.open_visit(gate.store, ask_id, ADA, "claude", "s1").visit
    told, tells = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(tells)
        os.read(told, 1)
        os._exit(0)
    visit_locks._forget()
    go_elsewhere(monkeypatch)
    # The child closes its copy as soon as it runs.
    eventually(lambda: not presence.holds(gate.store, visited))
    os.close(tells)
    os.waitpid(child, 0)
    os.close(told)


@pytest.mark.proves("SES-170")
def test_refused_visit_leaves_no_lock(gate, monkeypatch):
    ask_id = ask_for_session(gate)

    def problem(*_):
        raise GateError("the disk is full")

    with monkeypatch.context() as patched:
        patched.setattr(gate.store.asks, "change", problem)
        with pytest.raises(GateError):
            ask_session.open_visit(gate.store, ask_id, ADA, "claude", "s1")
    assert os.listdir(f"{gate.store.path}-visits") == []


@pytest.mark.proves("SES-170", "LAW-10")
def test_visit_without_lock_is_refused_with_advice(gate):
    ask_id = ask_for_session(gate)
    with open(f"{gate.store.path}-visits", "x", encoding="utf-8"):
        pass
    with pytest.raises(StoreError, match=r"cannot be locked .* no session was opened: make"):
        ask_session.open_visit(gate.store, ask_id, ADA, "claude", "s1")
    assert gate.store.asks.visits(ask_id) == []


LOOKS = {
    "sweep": lambda gate, _: apply_deadlines.sweep(gate.store),
    "asker": lambda gate, ask_id: gate.wait(ask_id, 0),
    "person": lambda gate, ask_id: apply_deadlines.fall_due(
        gate.store, create_ask.get(gate.store, ask_id)
    ),
}


@pytest.mark.proves("SES-171")
@pytest.mark.parametrize("look", LOOKS)
def test_lost_visit_gives_deadline_back(gate, look):
    ask_id = ask_for_session(gate, timeout=600)
    before = create_ask.get(gate.store, ask_id).deadlines.expires_at
    visited = ask_session.open_visit(gate.store, ask_id, ADA, "claude", "s1").visit
    held = create_ask.get(gate.store, ask_id).deadlines.expires_at
    assert held - before > timedelta(hours=7)
    LOOKS[look](gate, ask_id)
    assert create_ask.get(gate.store, ask_id).deadlines.expires_at == held, "its harness lives"
    kill_harness(gate.store, visited)
    LOOKS[look](gate, ask_id)
    assert ends(gate, ask_id) == ["lost"]
    assert create_ask.get(gate.store, ask_id).deadlines.expires_at == before


@pytest.mark.proves("SES-171")
@pytest.mark.parametrize("how", ["blocking", "async"])
def test_waiting_asker_finds_visit_lost_by_itself(gate, how):
    ask_id = ask_for_session(gate)
    visited = ask_session.open_visit(gate.store, ask_id, ADA, "claude", "s1").visit

    async def wait():
        async with AsyncGate(gate.store) as twin:
            await twin.wait(ask_id)

    ways = {"blocking": lambda: gate.wait(ask_id), "async": lambda: asyncio.run(wait())}
    waiter = threading.Thread(target=ways[how])
    waiter.start()
    kill_harness(gate.store, visited)
    eventually(lambda: ends(gate, ask_id) == ["lost"])
    answer_ask.answer(gate.store, ask_id, BOB, Given("yes"))
    waiter.join(20)
    assert not waiter.is_alive()


@pytest.mark.proves("SES-171", "LAW-5")
def test_visit_that_ends_during_the_check_is_not_lost(gate, monkeypatch):
    """The harness leaves between the look at its visit and at its process."""
    ask_id = ask_for_session(gate)
    visited = ask_session.open_visit(gate.store, ask_id, ADA, "claude", "s1").visit
    look = presence.holds

    def leave_first(store, visit):
        monkeypatch.setattr(presence, "holds", look)
        ask_session.close_visit(store, visited, ADA, "left", transcript="ada: fine")
        return False

    monkeypatch.setattr(presence, "holds", leave_first)
    apply_deadlines.sweep(gate.store)
    (kept,) = gate.store.asks.visits(ask_id)
    assert (kept.end, kept.transcript) == ("left", "ada: fine")


@pytest.mark.proves("SES-172")
def test_orphan_is_named_with_its_command(gate, orphan):
    ask_id = ask_for_session(gate)
    visited = ask_session.open_visit(gate.store, ask_id, ADA, "claude", "s1").visit
    kill_harness(gate.store, visited)
    (visited,) = gate.store.asks.visits(ask_id)
    child = orphan(visited.id)
    (named,) = presence.orphans(gate.store, visited)
    assert named.startswith(f"{child.pid} (") and named.endswith("…)")
    with pytest.raises(RefusedError, match=rf"process {child.pid} \(.* of it still runs: end that"):
        ask_session.open_visit(gate.store, ask_id, BOB, "claude", "s2")
    answer_ask.answer(gate.store, ask_id, BOB, Given("yes"))
    with closing(wait_for_ask.follow(gate.store, ask_id, 60)) as looks:
        assert next(looks).id == ask_id, "its asker can tell why it waits"


@pytest.mark.proves("SES-173", "LAW-5")
def test_log_written_later_does_not_change_result(gate, tmp_path):
    ask_id = ask_for_session(gate)
    visited = ask_session.open_visit(gate.store, ask_id, ADA, "claude", "s1").visit
    kill_harness(gate.store, visited)
    answer_ask.answer(gate.store, ask_id, BOB, Given("yes"))
    got = gate.human.wait(ask_id)
    write_log(tmp_path, gate.store, "s1", ("user", "is it safe?"), ("assistant", "It is."))
    again = gate.human.wait(ask_id)
    assert (got.transcript, got.session_id) == ("", "claude/s1")
    assert (again.transcript, again.session_id) == (got.transcript, got.session_id)


@pytest.mark.proves("SES-173", "LAW-5")
def test_log_that_grows_later_does_not_change_result(gate, tmp_path):
    ask_id = ask_for_session(gate)
    visited = ask_session.open_visit(gate.store, ask_id, ADA, "claude", "s1").visit
    write_log(tmp_path, gate.store, "s1", ("user", "is it safe?"))
    kill_harness(gate.store, visited)
    answer_ask.answer(gate.store, ask_id, BOB, Given("yes"))
    got = gate.human.wait(ask_id)
    write_log(tmp_path, gate.store, "s1", ("user", "is it safe?"), ("assistant", "It is."))
    assert "is it safe?" in got.transcript
    assert gate.human.wait(ask_id).transcript == got.transcript


@pytest.mark.proves("SES-173", "LAW-5")
def test_late_harness_does_not_change_result(gate):
    """A harness whose first process has ended while another one runs."""
    ask_id = ask_for_session(gate)
    visited = ask_session.open_visit(gate.store, ask_id, ADA, "claude", "s1").visit
    kill_harness(gate.store, visited)
    answer_ask.answer(gate.store, ask_id, BOB, Given("yes"))
    got = gate.human.wait(ask_id)
    ask_session.close_visit(gate.store, visited, ADA, "left", transcript="ada: late", seconds=9)
    again = gate.human.wait(ask_id)
    assert (again.transcript, again.duration_ms) == (got.transcript, got.duration_ms) == ("", 0)
