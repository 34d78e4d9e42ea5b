"""The `Human` handle, its async twin, and harnesses of others, on the real store."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.support.people import a_person
from tests.support.waiting import eventually

from gatebell import Approval, AsyncGate, Freeform, Gate, Human, Selection
from gatebell.app import wiring
from gatebell.app.wiring import open_throwaway_store
from gatebell.domain.asks.answers import Given
from gatebell.domain.asks.asks import Notice
from gatebell.errors import (
    AgentRefusedError,
    AlreadySettledError,
    InvalidAnswerError,
    RefusedError,
    UsageError,
)
from gatebell.services.asks import answer_ask, apply_deadlines, create_ask
from gatebell.services.people import manage_people
from gatebell.services.sessions import ask_session

ROOT = Path(__file__).parents[2]
A_WHILE_SECONDS = 30.0


@dataclass
class Review:
    approved: bool
    notes: str


class Scene:
    """A store, and people with tokens, so that the tests also pass in an agent's shell."""

    def __init__(self, folder):
        self.path = str(folder / "gate.db")
        self.store = open_throwaway_store(self.path)
        self.tokens = {
            name: manage_people.add(self.store, a_person("root"), name) for name in ("ada", "bob")
        }
        self.threads = ThreadPoolExecutor()

    def gate(self, name="ada"):
        return Gate(self.path, token=self.tokens[name])

    def answer(self, ask_id, value, note=""):
        person = a_person("ada", verified=True)
        return answer_ask.answer(self.store, ask_id, person, Given(value, note))[1]

    def begin(self, human, *args, **more):
        """Ask in another thread; return its future once the ask is there."""
        before = human.ask_id
        asked = self.threads.submit(human.ask_interactive, *args, **more)
        eventually(lambda: asked.done() or human.ask_id not in (None, before))
        return asked

    def another_process(self, program, *args):
        words = [sys.executable, "-c", program, self.path, self.tokens["bob"], *args]
        return subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)


@pytest.fixture
def scene(tmp_path):
    made = Scene(tmp_path)
    yield made
    # A waiting thread must not keep a test from failing.
    for ask in made.store.asks.pending(100):
        create_ask.cancel(made.store, ask.id, a_person(), "the test is over")
    made.threads.shutdown()
    made.store.close()


@pytest.mark.proves("SES-30", "S0-5", "S0-6", "S0-7", "S0-B19")
def test_plain_question_returns_the_option_without_a_truth_value(scene):
    human = scene.gate().human
    asked = scene.threads.submit(human.ask, "Deploy to production?", options=["Yes", "No"])
    eventually(lambda: human.ask_id)
    scene.answer(human.ask_id, "No")
    with pytest.raises(TypeError, match="neither true nor false"):
        bool(asked.result())
    assert asked.result().value == "No"
    asked = scene.threads.submit(human.ask, "What is it called?", priority="urgent")
    eventually(lambda: human.status == "pending" and human.ask_id)
    scene.answer(human.ask_id, "Ada")
    assert asked.result().value == "Ada"


@pytest.mark.proves(
    *("SES-30", "S0-13", "S0-14", "S0-15", "S0-31", "S0-50", "S0-89", "S0-90", "S0-91", "S0-92"),
    *("S0-B17", "S0-B34", "S0-43", "S0-45", "S0-121"),
)
def test_review_in_a_session_comes_back_as_approved(scene):
    human = scene.gate().human
    assert (human.status, human.ask_id) == ("idle", None)
    asked = scene.begin(human, "Please review the schema changes.", returns=Approval)
    assert human.status == "pending" and not asked.done()
    scene.answer(human.ask_id, "yes", note="looks right")
    result = asked.result(A_WHILE_SECONDS)
    assert result.outcome == "completed" and result.response == "approved"
    assert (result.decision, result.note, result.settled_by) == (
        "approved",
        "looks right",
        "person:ada",
    )
    assert (result.duration_ms, result.attempts, result.transcript) == (0, 0, None)
    assert (human.status, human.ask_id) == ("resolved", result.ask_id)
    with pytest.raises(TypeError):
        bool(result)


@pytest.mark.proves("SES-31", "S0-24", "S0-32", "S0-B18", "S0-46", "S0-105")
def test_response_has_the_expected_class(scene):
    human = scene.gate().human
    context = {"findings": ["sql"], "severity": "high", "affectedFiles": ["a.py"]}
    asked = scene.begin(
        human, "Judge this.", context=context, system_prompt="You help a security engineer.",
        returns=Review,
    )  # fmt: skip
    with pytest.raises(InvalidAnswerError, match="notes"):
        scene.answer(human.ask_id, {"approved": False})
    scene.answer(human.ask_id, {"approved": False, "notes": "no"})
    result = asked.result(A_WHILE_SECONDS)
    assert result.response == Review(False, "no") and result.decision is None
    assert result.value == {"approved": False, "notes": "no"}
    for outcome, value, wanted in [
        (Selection(["Red", "Other…"]), {"other": "mauve"}, "mauve"),
        (Selection(["Red", "Blue"], multiple=True), ["Blue", "Red"], ["Blue", "Red"]),
        ({"type": "object"}, {"other": 1}, {"other": 1}),
        (Freeform(), "some words", "some words"),
        (None, '{"a": 1}', '{"a": 1}'),
    ]:
        asked = scene.begin(human, "And?", returns=outcome)
        scene.answer(human.ask_id, value)
        assert asked.result(A_WHILE_SECONDS).response == wanted


@pytest.mark.proves(
    *("SES-32", "S0-16", "S0-17", "S0-18", "S0-20", "S0-21", "S0-26", "S0-33", "S0-42", "S0-49"),
    *("S0-94", "S0-B16", "S0-54", "S0-51", "S0-97", "S0-114"),
)
def test_everything_said_in_a_session_is_stored(scene, tmp_path, monkeypatch):
    gate = scene.gate()
    (tmp_path / "m.json").write_text("{}")
    known = SimpleNamespace(open=lambda _: SimpleNamespace(knows=lambda _: True))
    monkeypatch.setattr(wiring, "hosts", lambda: known)
    context = {"pattern": "p", "possibleCauses": ["x"], "logs": "l"}
    ask_id = gate.human.request_interactive(
        "Why does it fail?",
        {
            "system_prompt": "An expert.", "context": context, "model": "opus", "cwd": str(tmp_path),
            "mcp_config": str(tmp_path / "m.json"), "session_timeout": 1800, "timeout": 60.0,
            "returns": Selection(["A", "B"]), "capture_transcript": True,
            "resume_session": "claude/9", "max_attempts": 3,
        },
    )  # fmt: skip
    ask = create_ask.get(scene.store, ask_id)
    terms, question = ask.question.session, ask.question
    assert (question.kind, question.answered_as, question.options) == (
        "session",
        "choice",
        ("A", "B"),
    )
    assert question.context == context and ask.pending
    assert (terms.system_prompt, terms.model, terms.cwd) == ("An expert.", "opus", str(tmp_path))
    assert (terms.mcp_config, terms.session_seconds) == (str(tmp_path / "m.json"), 1800)
    assert (terms.capture_transcript, terms.resume_session, terms.max_attempts) == (
        True,
        "claude/9",
        3,
    )
    assert (ask.deadlines.expires_at - ask.opened_at).total_seconds() == 60
    assert gate.human.claim(ask_id, "claude").visit.conversation == "claude/9"
    plain = create_ask.get(scene.store, gate.human.request_interactive("Else?")).question.session
    assert (plain.model, plain.session_seconds, plain.capture_transcript) == ("sonnet", None, False)
    with pytest.raises(UsageError, match="did you mean 'session_timeout'"):
        gate.human.request_interactive("Q?", {"session_seconds": 3})


@pytest.mark.proves("SES-33", "S0-112", "S0-B20", "S0-B21", "S0-48", "S0-44")
def test_handle_asks_one_thing_and_handles_are_independent(scene):
    gate = scene.gate()
    one, two = gate.human, Human(gate)
    first, second = scene.begin(one, "First?"), scene.begin(two, "Second?")
    with pytest.raises(UsageError, match=f"{one.ask_id} is still pending here"):
        one.ask_interactive("Third?", timeout=1)
    with pytest.raises(UsageError, match="one thing at a time"):
        one.ask("Third?", timeout=1)
    assert len(one.list_pending()) == 2
    scene.answer(two.ask_id, "2")
    assert second.result(A_WHILE_SECONDS).response == "2" and not first.done()
    scene.answer(one.ask_id, "1")
    assert first.result(A_WHILE_SECONDS).response == "1"
    third = scene.begin(one, "Third?")
    assert not third.done() and one.status == "pending"
    scene.answer(one.ask_id, "3")
    assert third.result(A_WHILE_SECONDS).response == "3"


@pytest.mark.proves("SES-33", "S0-B22")
def test_earlier_resolution_is_never_taken_for_the_new_ask(scene, monkeypatch):
    gate = scene.gate()
    human = gate.human
    asked = scene.begin(human, "First?")
    scene.answer(human.ask_id, "1")
    asked.result(A_WHILE_SECONDS)
    opening, go_on, send = threading.Event(), threading.Event(), gate.send

    def slow(*args):
        opening.set()
        assert go_on.wait(A_WHILE_SECONDS)
        return send(*args)

    monkeypatch.setattr(gate, "send", slow)
    asked = scene.threads.submit(human.ask_interactive, "Second?")
    assert opening.wait(A_WHILE_SECONDS)
    assert (human.status, human.ask_id) == ("pending", None)
    cancelled = scene.threads.submit(human.cancel, "too late to matter")
    go_on.set()
    assert asked.result(A_WHILE_SECONDS).outcome == "cancelled"
    assert cancelled.result(A_WHILE_SECONDS).id == human.ask_id


@pytest.mark.proves("SES-34", "S0-B26", "S0-27", "S0-47")
def test_pending_ask_can_be_cancelled_or_time_out(scene):
    human = scene.gate().human
    with pytest.raises(UsageError, match="no pending ask"):
        human.cancel()
    asked = scene.begin(human, "Q?", returns=Approval)
    assert human.cancel("not needed").status == "cancelled"
    result = asked.result(A_WHILE_SECONDS)
    assert (result.outcome, result.response, result.note) == ("cancelled", None, "not needed")
    with pytest.raises(UsageError, match="no pending ask"):
        human.cancel()
    late = human.ask_interactive("Q?", timeout=0.05, returns=Approval)
    assert (late.outcome, late.decision) == ("timeout", None)


@pytest.mark.proves("SES-34", "LAW-10")
def test_ask_that_failed_to_open_leaves_the_handle_free(scene):
    human = scene.gate().human
    with pytest.raises(UsageError, match="question is empty"):
        human.ask_interactive(" ")
    assert (human.status, human.ask_id) == ("idle", None)
    with pytest.raises(UsageError, match="is not a session"):
        human.wait(open_answered(scene))


def open_answered(scene):
    ask_id = scene.gate().open("Plain?")
    scene.answer(ask_id, "words")
    return ask_id


ASKS_AND_DIES = """
import os, sys
from gatebell import Gate
print(Gate(sys.argv[1], token=sys.argv[2]).human.request_interactive("Q?", {"capture_transcript": True}), flush=True)
os._exit(9)
"""
COMPLETES = """
import sys
from gatebell import Gate
human = Gate(sys.argv[1], token=sys.argv[2]).human
(ask,) = human.list_pending(kind="session")
human.claim(ask.id, "other", "s9")
human.complete_interactive(ask.id, "completed", sys.argv[3], "what was said", 4200)
"""
CLAIMS = """
import sys
from gatebell import Gate
from gatebell.errors import RefusedError
try:
    Gate(sys.argv[1], token=sys.argv[2]).human.claim(sys.argv[3])
except RefusedError as error:
    print(error)
"""


@pytest.mark.proves(
    *("SES-35", "S0-B23", "S0-B24", "S0-B36", "S0-52", "S0-55", "S0-95", "S0-96", "S0-98", "S0-30"),
    *("S0-29", "LAW-1"),
)
def test_asker_that_died_and_a_harness_elsewhere_lose_nothing(scene):
    ask_id = scene.another_process(ASKS_AND_DIES).stdout.strip()
    waits = scene.threads.submit(scene.gate().human.wait, ask_id)
    done = scene.another_process(COMPLETES, "the index is missing")
    assert done.returncode == 0, done.stderr
    result = waits.result(A_WHILE_SECONDS)
    assert (result.outcome, result.response) == ("completed", "the index is missing")
    assert (result.duration_ms, result.transcript) == (4200, "what was said")
    assert (result.settled_by, result.session_id, result.settled_via) == (
        "person:bob",
        "other/s9",
        "session",
    )
    again = scene.gate().human.wait(ask_id)
    assert (again.response, again.duration_ms) == (result.response, 4200)


@pytest.mark.proves("SES-36", "S0-56", "S0-99", "S0-B27", "S0-106", "S0-93")
def test_second_harness_learns_who_holds_the_session(scene):
    human = scene.gate().human
    ask_id = human.request_interactive("Q?", {"returns": Approval})
    plain = scene.gate().open("Plain?")
    assert {ask.id for ask in human.list_pending()} == {ask_id, plain}
    assert [ask.id for ask in human.list_pending(kind="session")] == [ask_id]
    human.claim(ask_id)
    told = scene.another_process(CLAIMS, ask_id).stdout
    assert "person:ada has had this session open" in told and f"process {os.getpid()}" in told
    with pytest.raises(RefusedError, match="person:ada has had this session open"):
        scene.gate("bob").human.complete_interactive(ask_id, "completed", "approved")
    assert human.complete_interactive(ask_id, "completed", "approved").decision == "approved"
    assert human.list_pending(kind="session") == []


@pytest.mark.proves("SES-37", "S0-B6", "S0-B7", "S0-28", "S0-120", "LAW-2", "LAW-6")
def test_rejection_is_kept_and_a_session_completes_once(scene):
    human = scene.gate().human
    ask_id = human.request_interactive("Q?", {"returns": Approval})
    settled = human.complete_interactive(ask_id, "completed", False, "words nobody wanted kept")
    assert (settled.status, settled.decision) == ("answered", "rejected")
    result = human.wait(ask_id, Approval())
    assert (result.outcome, result.response, result.transcript) == ("completed", "rejected", None)
    assert scene.store.asks.visits(ask_id)[0].transcript == ""
    for outcome in ("completed", "cancelled", "timeout", "failed"):
        with pytest.raises(AlreadySettledError, match="already answered by person:ada"):
            human.complete_interactive(ask_id, outcome, "approved")
    assert [one.outcome for one in scene.store.asks.answers(ask_id)] == ["settled", "late"]
    assert human.wait(ask_id).decision == "rejected"


@pytest.mark.proves("SES-37", "S0-27", "S0-47", "S0-B25")
def test_each_harness_outcome_is_reported(scene):
    human = scene.gate().human
    ids = [human.request_interactive(f"Q{n}?", {"max_attempts": 2}) for n in range(3)]
    assert human.complete_interactive(ids[0], "cancelled", "nobody came").note == "nobody came"
    assert human.wait(ids[0]).outcome == "cancelled"
    human.complete_interactive(ids[1], "timeout")
    assert (human.wait(ids[1]).outcome, human.wait(ids[1]).attempts) == ("timeout", 1)
    assert human.complete_interactive(ids[2], "failed", "no such program").pending
    assert scene.store.asks.visits(ids[2])[0].problem == "no such program"
    assert human.complete_interactive(ids[2], "failed").status == "cancelled"
    failed = human.wait(ids[2])
    assert (failed.outcome, failed.attempts, failed.response) == ("failed", 2, None)


@pytest.mark.proves("SES-38", "LAW-6", "LAW-10")
def test_invalid_response_is_kept_and_the_session_stays_claimed(scene):
    human = scene.gate().human
    ask_id = human.request_interactive("Q?", {"returns": Review})
    human.claim(ask_id)
    with pytest.raises(InvalidAnswerError, match="notes"):
        human.complete_interactive(ask_id, "completed", {"approved": True})
    with pytest.raises(RefusedError, match="has had this session open"):
        scene.gate("bob").human.claim(ask_id)
    for wrong in ({"outcome": "done"}, {"outcome": "failed", "duration_ms": -1}):
        with pytest.raises(UsageError, match=r"outcome is completed|milliseconds"):
            human.complete_interactive(ask_id, **wrong)
    human.complete_interactive(ask_id, "completed", {"approved": True, "notes": ""})
    assert human.wait(ask_id, Review).response == Review(True, "")
    assert [one.outcome for one in scene.store.asks.answers(ask_id)] == ["refused", "settled"]


@pytest.mark.proves("SES-38", "LAW-6")
def test_session_that_was_answered_elsewhere_is_given_back(scene):
    human = scene.gate().human
    ask_id = human.request_interactive("Q?", {"returns": Approval})
    human.claim(ask_id)
    scene.answer(ask_id, "no")
    with pytest.raises(AlreadySettledError):
        human.complete_interactive(ask_id, "completed", "approved")
    (sat,) = scene.store.asks.visits(ask_id)
    assert sat.end == "stopped" and sat.ended_at
    assert [one.outcome for one in scene.store.asks.answers(ask_id)] == ["settled", "late"]


@pytest.mark.proves("SES-39", "LAW-3")
def test_agent_neither_takes_a_session_nor_completes_it(scene, monkeypatch):
    ask_id = scene.gate().human.request_interactive("Q?", {"returns": Approval})
    claimed = scene.gate().human
    claimed.claim(ask_id)
    monkeypatch.setenv("CLAUDECODE", "1")
    agent = Gate(scene.path).human
    with pytest.raises(AgentRefusedError, match="only a person opens an agent's session"):
        agent.claim(ask_id)
    with pytest.raises(AgentRefusedError):
        agent.complete_interactive(ask_id, "completed", "approved")
    assert create_ask.get(scene.store, ask_id).pending


@pytest.mark.proves("SES-40", "S0-115")
def test_all_participants_take_part_before_it_is_settled(scene):
    ada, bob = scene.gate("ada").human, scene.gate("bob").human
    config = {"returns": Approval, "participants": ["ada", "bob"]}
    ask_id = ada.request_interactive("Merge?", config)
    assert ada.complete_interactive(ask_id, "completed", "approved").pending
    assert bob.complete_interactive(ask_id, "completed", "approved").decision == "approved"
    assert (ada.wait(ask_id).attempts, ada.wait(ask_id).response) == (2, "approved")


@pytest.mark.proves("SES-40", "S0-116")
def test_recipients_are_notified_at_once(scene):
    scene.store.people.set_group("security-team", ["ada"], [])
    ask_id = scene.gate().human.request_interactive("Q?", {"notify": ["security-team", "bob"]})
    eventually(
        lambda: create_ask.get(scene.store, ask_id).deadlines.escalate_at <= scene.store.now()
    )
    apply_deadlines.sweep(scene.store)
    waiting = scene.store.outbox.waiting(10)
    assert {one.to for one in waiting if one.ask_id == ask_id} == {"", "security-team", "bob"}
    assert Notice("opened", ask_id) in waiting


@pytest.mark.proves("SES-41", "S0-13", "S0-90", "S0-B20", "S0-B26", "S0-121")
def test_async_twin_awaits_sessions_without_a_thread_for_each(scene):
    async def play():
        async with AsyncGate(scene.path, token=scene.tokens["ada"]) as gate:
            human = gate.human
            assert (human.status, human.ask_id) == ("idle", None)
            ids = [
                await human.request_interactive(f"Q{n}?", {"returns": Review}) for n in range(20)
            ]
            waits = [asyncio.create_task(human.wait(one, Review)) for one in ids]
            asked = asyncio.create_task(human.ask_interactive("Mine?", returns=Approval))
            await asyncio.to_thread(eventually, lambda: human.ask_id)
            with pytest.raises(UsageError, match="one thing at a time"):
                await human.ask("Another?")
            assert len(await human.list_pending("session")) == 21
            for release in (human.release, human.release):
                await human.claim(ids[0])
                await release(ids[0])
            with pytest.raises(UsageError, match="not claimed here"):
                await human.release(ids[0])
            for n, one in enumerate(ids):
                given = {"approved": True, "notes": str(n)}
                await human.complete_interactive(one, "completed", given, duration_ms=n)
            results = [await wait for wait in waits]
            threads = [t.name for t in threading.enumerate() if t.name == "gatebell-watcher"]
            await human.cancel("enough")
            cancelled = await asked
            plain = asyncio.create_task(human.ask("Which?", ["A", "B"]))
            await asyncio.to_thread(
                eventually, lambda: human.ask_id not in (None, cancelled.ask_id)
            )
            await gate.answer(human.ask_id, "B")
            return results, threads, cancelled.outcome, (await plain).value

    results, threads, cancelled, plain = asyncio.run(asyncio.wait_for(play(), 60))
    assert [one.response for one in results] == [Review(True, str(n)) for n in range(20)]
    assert [one.duration_ms for one in results[1:]] == list(range(1, 20))
    assert results[0].attempts == 3
    assert (len(threads), cancelled, plain) == (1, "cancelled", "B")


@pytest.mark.proves("SES-175")
def test_claim_beside_a_completion_is_kept(scene, monkeypatch):
    human = scene.gate("ada").human
    ask_id = human.request_interactive("Q?", {"returns": Approval})
    human.claim(ask_id)
    close_visit = ask_session.close_visit
    claiming = threading.Thread(target=human.claim, args=(ask_id,))

    def close_and_let_claim(*words, **more):
        closed = close_visit(*words, **more)
        claiming.start()
        # As long as the other thread would need if it did not wait for this one.
        claiming.join(0.5)
        return closed

    with monkeypatch.context() as patched:
        patched.setattr(ask_session, "close_visit", close_and_let_claim)
        human.release(ask_id)
        claiming.join(30)
    human.release(ask_id)
    assert all(visit.ended_at for visit in scene.store.asks.visits(ask_id))
