"""The result of a session is sent after its visit ended, and never changes then."""

from __future__ import annotations

import asyncio
import json
import threading
from datetime import timedelta

import pytest
from tests.support.flow_harness import house
from tests.support.people import a_person
from tests.support.visits import kill_harness, rewrite_visit, write_log
from tests.support.waiting import eventually

from gatebell import AsyncGate, Gate, ask_interactive, flow, pause
from gatebell.api.flows import parallel, step
from gatebell.app import wiring
from gatebell.domain.asks.answers import Given
from gatebell.domain.runs.runs import RunChange
from gatebell.services.asks import answer_ask, create_ask, wait_for_ask
from gatebell.services.runs import manage_runs
from gatebell.services.sessions import ask_session, visits

__all__ = ["house"]

ADA = a_person("ada")
SAID = (("user", "is it safe?"), ("assistant", "It is. token=abcdefgh12345678"))


@flow
def told(prompt):
    result = ask_interactive("Is it safe?", capture_transcript=True)
    seen = [result.response, result.transcript, result.duration_ms, result.attempts]
    # Its arguments must be equal at each replay.
    step(list, seen, name="keep")
    pause("Go on?")
    return seen


@flow
def branched(prompt):
    (result,) = parallel(lambda: ask_interactive("Is it safe?", capture_transcript=True))
    pause("Go on?")
    return [result.response, result.transcript, result.duration_ms, result.attempts]


@pytest.fixture(autouse=True)
def logs(monkeypatch, tmp_path):
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    return tmp_path


def visit(store, session="s1"):
    (ask,) = store.asks.pending(9)
    return ask, ask_session.open_visit(store, ask.id, ADA, "claude", session).visit


def answer(store, ask, value="yes, it is"):
    answer_ask.answer(store, ask.id, a_person("bob"), Given(value))


@pytest.mark.proves("SES-150", "LAW-5")
@pytest.mark.parametrize("work", [told, branched], ids=["flow", "branch"])
def test_flow_gets_session_after_visit_ended(house, work):
    house.go(work)
    ask, visited = visit(house.store)
    house.clock.advance(60)
    answer(house.store, ask)
    assert house.drive().state == "waiting_human", "ada is still in the session"
    assert create_ask.get(house.store, ask.id).delivered_at is None
    house.clock.advance(3)
    assert house.drive().state == "waiting_human"
    ask_session.close_visit(house.store, visited, ADA, "stopped", transcript="ada: fine")
    assert house.run().state == "ready", "leaving wakes the run"
    assert house.drive().state == "waiting_human"
    assert create_ask.get(house.store, ask.id).delivered_at is not None
    assert house.answer_and_drive("yes").result == ["yes, it is", "ada: fine", 63_000, 1]


@pytest.mark.proves("SES-151", "LAW-5")
@pytest.mark.parametrize("work", [told, branched], ids=["flow", "branch"])
def test_recorded_session_is_not_read_again(house, work):
    house.go(work)
    ask, visited = visit(house.store)
    ask_session.close_visit(house.store, visited, ADA, "left", transcript="ada: fine")
    answer(house.store, ask)
    assert house.drive().state == "waiting_human"
    house.clock.advance(60)
    ask_session.close_visit(house.store, visited, ADA, "left", transcript="ada: something else")
    over = house.answer_and_drive("yes")
    assert (over.state, over.result) == ("completed", ["yes, it is", "ada: fine", 0, 1])


@pytest.mark.proves("SES-152", "LAW-5")
def test_old_journal_without_visits_still_replays(house):
    house.go(told)
    ask, visited = visit(house.store)
    ask_session.close_visit(house.store, visited, ADA, "left", transcript="ada: fine")
    answer(house.store, ask)
    house.drive()
    old = house.calls()["1"]
    assert old.value.pop("visits")["transcript"] == "ada: fine"
    assert set(old.value) == {"ask", "status"}, "as it was recorded before"
    assert house.store.runs.change(RunChange(house.run(), (old,)), house.run())
    assert house.answer_and_drive("yes").result == ["yes, it is", "ada: fine", 0, 1]


@pytest.mark.proves("SES-153", "LAW-5")
@pytest.mark.parametrize("answered", ["before", "after"])
def test_flow_reads_log_of_killed_harness(house, logs, answered):
    house.hosts["claude"] = wiring.host("claude")
    house.go(told)
    ask, visited = visit(house.store)
    write_log(logs, house.store, "s1", *SAID)
    if answered == "before":
        answer(house.store, ask)
        assert house.drive().state == "waiting_human"
    kill_harness(house.store, visited)
    if answered == "after":
        answer(house.store, ask)
    house.clock.advance(5)
    house.drive()
    (closed,) = house.store.asks.visits(ask.id)
    assert (closed.end, bool(closed.ended_at)) == ("lost", True)
    response, words, *_ = house.answer_and_drive("yes").result
    assert response == "yes, it is" and "It is. token=‹hidden›" in words


@pytest.mark.proves("SES-153")
def test_unknown_harness_leaves_empty_transcript(house):
    house.go(told)
    ask, visited = visit(house.store)
    kill_harness(house.store, visited)
    rewrite_visit(house.store, visited.id, cli="my-agent")
    answer(house.store, ask)
    came = wait_for_ask.outcome(
        house.store, create_ask.get(house.store, ask.id), "x", wiring.hosts()
    )
    assert (came.transcript, came.attempts) == ("", 1)


@pytest.fixture
def gate(tmp_path):
    made = Gate(str(tmp_path / "gate.db"))
    yield made
    made.store.close()


def ask_for_session(gate):
    return gate.human.request_interactive("Is it safe?", {"capture_transcript": True})


@pytest.mark.proves("SES-154", "LAW-4")
def test_blocking_asker_waits_for_visit_end(gate, tmp_path):
    ask_id = ask_for_session(gate)
    ask, visited = visit(gate.store)
    answer(gate.store, ask)
    early = gate.wait(ask_id, 0)
    assert (early.outcome, early.response, early.settled_by) == ("pending", None, "")
    assert create_ask.get(gate.store, ask_id).delivered_at is None
    came = []
    waiter = threading.Thread(target=lambda: came.append(gate.human.wait(ask_id)))
    waiter.start()
    ask_session.close_visit(gate.store, visited, ADA, "stopped", transcript="ada: fine")
    waiter.join(20)
    assert (came[0].outcome, came[0].transcript) == ("completed", "ada: fine")
    assert create_ask.get(gate.store, ask_id).delivered_at is not None


@pytest.mark.proves("SES-154", "SES-153")
@pytest.mark.parametrize("how", ["blocking", "async"])
def test_asker_reads_log_of_killed_harness(gate, logs, how):
    ask_id = ask_for_session(gate)
    ask, visited = visit(gate.store)
    write_log(logs, gate.store, "s1", *SAID)
    answer(gate.store, ask)
    came = []

    async def wait():
        async with AsyncGate(gate.store) as twin:
            came.append(await twin.human.wait(ask_id))

    wait_for = {
        "blocking": lambda: came.append(gate.human.wait(ask_id)),
        "async": lambda: asyncio.run(wait()),
    }
    waiter = threading.Thread(target=wait_for[how])
    waiter.start()
    assert not came
    kill_harness(gate.store, visited)
    eventually(lambda: came)
    waiter.join(20)
    assert "It is. token=‹hidden›" in came[0].transcript
    again = gate.human.wait(ask_id)
    assert (again.transcript, again.duration_ms) == (came[0].transcript, came[0].duration_ms)


@pytest.mark.proves("SES-153")
def test_visit_closed_as_lost_gets_its_transcript(gate, logs):
    """Another person found the dead harness first and left."""
    ask_id = ask_for_session(gate)
    ask, visited = visit(gate.store)
    write_log(logs, gate.store, "s1", *SAID)
    kill_harness(gate.store, visited)
    bob = ask_session.open_visit(gate.store, ask_id, a_person("bob"), "claude", "s2").visit
    kill_harness(gate.store, bob)
    answer(gate.store, ask)
    assert "It is." in gate.human.wait(ask_id).transcript


@pytest.mark.proves("SES-153")
def test_silent_killed_visit_has_empty_transcript(gate):
    ask_id = ask_for_session(gate)
    ask, visited = visit(gate.store)
    kill_harness(gate.store, visited)
    answer(gate.store, ask)
    for _ in range(2):
        assert gate.human.wait(ask_id).transcript == ""
    closings = [e for e in gate.store.audit.of_subject(ask_id) if e.event.kind == "session.closed"]
    assert len(closings) == 1, "it was closed once"


@pytest.mark.proves("SES-153")
def test_killed_visit_is_closed_without_transcript(gate):
    ask_id = gate.human.request_interactive("Is it safe?")
    ask, visited = visit(gate.store)
    kill_harness(gate.store, visited)
    answer(gate.store, ask)
    assert gate.human.wait(ask_id).transcript is None
    (closed,) = gate.store.asks.visits(ask_id)
    assert closed.end == "lost"


@pytest.mark.proves("SES-153")
def test_command_without_log_has_empty_transcript(gate, monkeypatch):
    monkeypatch.setenv("GATE_SESSION_COMMAND", "my-agent")
    ask_id = ask_for_session(gate)
    visited = ask_session.open_visit(gate.store, ask_id, ADA, "command", "s1").visit
    kill_harness(gate.store, visited)
    answer(gate.store, create_ask.get(gate.store, ask_id))
    assert gate.human.wait(ask_id).transcript == ""


@pytest.mark.proves("SES-153")
def test_codex_conversation_is_found_in_its_log(gate, tmp_path, monkeypatch):
    """Codex chooses its conversation id, and the harness was killed before it knew the id."""
    monkeypatch.setenv("CODEX_HOME", str(tmp_path / "codex"))
    ask_id = ask_for_session(gate)
    visited = ask_session.open_visit(gate.store, ask_id, ADA, "codex", "").visit
    path = tmp_path / "codex/sessions/2026/11/16/rollout-1-c1.jsonl"
    path.parent.mkdir(parents=True)
    first = visits.first_words(gate.store, ask_id)
    lines = [{"type": "session_meta", "payload": {"id": "c1"}}]
    for role, words in (("user", first), ("user", "is it safe?"), ("assistant", "It is.")):
        item = {"type": "message", "role": role, "content": [{"text": words}]}
        at = (gate.store.now() + timedelta(seconds=1)).isoformat()
        lines.append({"type": "response_item", "timestamp": at, "payload": item})
    path.write_text("\n".join(map(json.dumps, lines)) + "\n", encoding="utf-8")
    kill_harness(gate.store, visited)
    answer(gate.store, create_ask.get(gate.store, ask_id))
    came = gate.human.wait(ask_id)
    assert came.session_id == "codex/c1"
    assert "It is." in came.transcript and "prompt.md" not in came.transcript


@pytest.mark.proves("SES-150")
def test_stopped_run_hands_nothing_over(house):
    house.go(told)
    ask, visited = visit(house.store)
    answer(house.store, ask)
    assert house.drive().state == "waiting_human"
    house.stop()
    ask_session.close_visit(house.store, visited, ADA, "left", transcript="ada: fine")
    assert house.run().state == "stuck"
    manage_runs.resume(house.store, house.run_id, ADA)
    assert house.drive().state == "waiting_human"
    assert house.answer_and_drive("yes").result == ["yes, it is", "ada: fine", 0, 1]
