"""`Gate` and its async twin, on the shipped fakes and on the real store."""

from __future__ import annotations

import asyncio
import threading
from contextlib import closing

import pytest
from tests.support.people import a_person

import gatebell
from gatebell import AsyncGate, Gate
from gatebell.adapters.sqlite.store import SqliteStore
from gatebell.app.wiring import open_throwaway_store
from gatebell.errors import AskExpiredError, StoreError
from gatebell.services import audit
from gatebell.services.asks import wait_for_ask
from gatebell.services.people import manage_people
from gatebell.services.watcher import Watcher
from gatebell.testing import MemoryStore, ScriptedPerson


@pytest.fixture
def store():
    return MemoryStore()


def a_token(store):
    """The token of a person: with it the tests also pass in an agent's shell."""
    return manage_people.add(store, a_person("root"), "ada")


@pytest.mark.proves("PY-1", "PY-5")
def test_approving_choosing_and_asking(store):
    person = ScriptedPerson(store)
    person.will_answer("Deploy", "yes", note="go").will_answer("Which", "Blue").will_answer(
        "Name", "Ada"
    )
    person.will_answer("Size", {"n": 3})
    store.people.add("bob", [])
    gate = Gate(store, agent="coder")
    approval = gate.approve("Deploy?")
    assert approval and approval.reason == "go" and approval.settled_by == "person:tester"
    assert gate.choose("Which?", ["Red", "Blue"]).value == "Blue"
    assert gate.ask("Name?").value == "Ada"
    form = gate.ask("Size?", returns={"type": "object"}, priority=0, escalations=[(60, "bob")])
    assert form.value == {"n": 3}
    assert store.asks.get(form.ask_id).origin.agent == "coder"
    assert store.asks.get(form.ask_id).delivered_at is not None


@pytest.mark.proves("PY-6")
def test_store_for_tests_is_empty_and_leaves_no_file(store, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Gate(store, agent="coder").open("Deploy?")
    other = MemoryStore()
    assert (store.asks.count(), other.asks.count()) == (1, 0)
    assert isinstance(other, SqliteStore) and other.throwaway and other.path == ""
    assert other.problems() == store.problems() == list(audit.verify(store)) == []
    other.close()
    assert store.asks.count() == 1 and list(tmp_path.iterdir()) == []


@pytest.mark.proves("PY-2", "ASK-18")
def test_silence_is_falsy_and_has_no_value(store):
    gate = Gate(store)
    assert not gate.approve("Deploy?", timeout=60)
    with pytest.raises(AskExpiredError):
        _ = gate.ask("Name?", timeout=60).value
    assert gate.ask("Name?", timeout=60, default="Bob").value == "Bob"


@pytest.mark.proves("PY-1", "ASK-21")
def test_program_can_reply_to_messages_of_people(store):
    person = ScriptedPerson(store)
    person.will_ask_back("Deploy", "which build?").will_answer("Deploy", "yes")
    heard = []
    result = Gate(store).approve("Deploy?", reply=lambda text: heard.append(text) or "42")
    assert result and heard == ["which build?"]
    assert [message.text for message in store.asks.messages(result.ask_id)] == [
        "which build?",
        "42",
    ]
    person.will_ask_back("Two", "a?").will_ask_back("Two", "b?").will_answer("Two", "x")
    heard.clear()
    two = Gate(store).ask("Two?", reply=lambda text: heard.append(text) or "ok")
    assert two.value == "x" and heard == ["a?", "b?"]
    person.will_ask_back("Stop", "why?").will_answer("Stop", "no")
    assert not Gate(store).approve("Stop?")


@pytest.mark.proves("PY-1", "LAW-1", "S0-P5")
def test_opening_waiting_answering_listing_and_cancelling(store):
    gate = Gate(store, token=a_token(store))
    first, second = gate.open("One?"), gate.open("Two?", priority=0)
    assert [ask.id for ask in gate.pending()] == [second, first]
    assert gate.wait(first, 5).status == "pending"
    assert gate.answer(first, "1", note="n").note == "n"
    assert gate.wait(first).value == gate.wait(first).value == "1"
    assert gate.cancel(second, "enough").status == "cancelled"
    with pytest.raises(gatebell.errors.AskCancelledError, match="enough"):
        _ = gate.wait(second).value
    with pytest.raises(gatebell.errors.AlreadySettledError):
        gate.answer(first, "2")


@pytest.mark.proves("PY-1", "ASK-30")
def test_program_gets_a_requested_secret_once(store):
    ScriptedPerson(store).will_answer("Token", "hunter2")
    gate = Gate(store)
    result = gate.ask("Token?", secret=True)
    assert result.value == "hunter2"
    with pytest.raises(gatebell.errors.RefusedError, match="already taken"):
        gate.wait(result.ask_id)


@pytest.mark.proves("PY-1", "WHO-3")
def test_program_answers_as_the_owner_of_its_token(tmp_path):
    from tests.support.people import a_person

    from gatebell.services.people import manage_people

    store = open_throwaway_store(str(tmp_path / "gate.db"))
    token = manage_people.add(store, a_person("root"), "ada")
    gate = Gate(str(tmp_path / "gate.db"), token=token)
    assert gate.answer(gate.open("Go?", "approval"), True).settled_by == "person:ada"


@pytest.mark.proves("PY-3", "LAW-1", "S0-B21")
def test_many_async_waits_need_one_thread(tmp_path):
    path = str(tmp_path / "gate.db")
    token = a_token(open_throwaway_store(path))

    async def scene():
        async with AsyncGate(path, token=token) as gate:
            ids = [await gate.open(f"Q{n}?") for n in range(40)]
            waits = [asyncio.create_task(gate.wait(ask_id)) for ask_id in ids]
            extra = asyncio.create_task(gate.wait(ids[0]))
            timed = asyncio.create_task(gate.ask("Late?", timeout=0.05))
            for n, ask_id in enumerate(reversed(ids)):
                await gate.answer(ask_id, str(39 - n))
            cancelled = await gate.open("Never?")
            await gate.cancel(cancelled, "no")
            values = [(await wait).value for wait in waits]
            watchers = [t for t in threading.enumerate() if t.name == "gatebell-watcher"]
            return values, (await extra).value, (await timed).status, len(watchers)

    values, extra, timed, watchers = asyncio.run(asyncio.wait_for(scene(), 30))
    assert values == [str(n) for n in range(40)]
    assert (extra, timed, watchers) == ("0", "timed_out", 1)


@pytest.mark.proves("PY-3", "PY-1")
def test_async_gate_approves_and_chooses():
    store = MemoryStore()
    ScriptedPerson(store).will_answer("Go", "yes").will_answer("Which", "B")

    async def scene():
        async with AsyncGate(store) as gate:
            approval, choice = await gate.approve("Go?"), await gate.choose("Which?", ["A", "B"])
            return bool(approval), choice.value

    assert asyncio.run(asyncio.wait_for(scene(), 30)) == (True, "B")


@pytest.mark.proves("PY-3", "PY-5", "LAW-10")
def test_async_wait_without_a_waker_does_not_hang():
    async def nobody_answers():
        async with AsyncGate(MemoryStore()) as gate:
            await gate.ask("Why?")

    with pytest.raises(AssertionError, match="this wait never ends"):
        asyncio.run(asyncio.wait_for(nobody_answers(), 30))

    async def ask_closed():
        gate = AsyncGate(MemoryStore())
        await gate.close()
        await gate.ask("Why?")

    with pytest.raises(gatebell.errors.UsageError, match="closed"):
        asyncio.run(asyncio.wait_for(ask_closed(), 30))


@pytest.mark.proves("PY-3", "ASK-30")
def test_cancelled_await_takes_no_secret(tmp_path, monkeypatch):
    path = str(tmp_path / "gate.db")
    store = open_throwaway_store(path)
    token = a_token(store)
    reading, go_on, reveal = threading.Event(), threading.Event(), wait_for_ask.reveal

    def slow_reveal(*args):
        reading.set()
        assert go_on.wait(30)
        return reveal(*args)

    monkeypatch.setattr(wait_for_ask, "reveal", slow_reveal)

    async def scene():
        async with AsyncGate(path, token=token) as gate:
            ask_id = await gate.open("Secret?", secret=True)
            await gate.answer(ask_id, "hunter2")
            task = asyncio.create_task(gate.wait(ask_id))
            await asyncio.to_thread(reading.wait, 30)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            go_on.set()
            return ask_id, task.cancelled()

    # The loop waits for its threads at the end, so they are done when this returns.
    ask_id, cancelled = asyncio.run(asyncio.wait_for(scene(), 60))
    assert cancelled and store.asks.get(ask_id).delivered_at is None
    assert store.asks.secret(ask_id) == "hunter2"


@pytest.mark.proves("LAW-10", "PY-1")
@pytest.mark.parametrize(
    "more",
    [
        {"prompt": 3}, {"prompt": None}, {"prompt": "Q", "priority": 9}, {"prompt": "Q", "priority": "soon"},
        {"prompt": "Q", "priority": None}, {"prompt": "Q", "kind": "choice", "options": "AB"},
        {"prompt": "Q", "kind": "choice", "options": [1, 2]}, {"prompt": "Q", "timeout": "5m"},
        {"prompt": "Q", "default": "x"}, {"prompt": "Q", "context": "x" * 4_000_001},
    ],
)  # fmt: skip
def test_invalid_arguments_are_refused_at_once(store, tmp_path, more):
    for where in (store, open_throwaway_store(str(tmp_path / "gate.db"))):
        with pytest.raises(gatebell.errors.UsageError):
            Gate(where).open(**more)
    assert Gate(store).open("Q", priority="urgent") and Gate(store).pending()[0].priority == 0


@pytest.mark.proves("PY-4")
def test_public_names_are_pinned():
    assert sorted(gatebell.__all__) == [
        "Approval", "Ask", "AsyncGate", "Choice", "Flow", "Form", "Gate", "GateError", "Human", "HumanInput",
        "Outcome", "Phase", "Reply", "Selection", "Session", "Text", "Workflow", "cli_prompt", "errors", "flow",
    ]  # fmt: skip
    for name in gatebell.__all__:
        assert getattr(gatebell, name).__name__.removeprefix("gatebell.") == name
    assert set(gatebell.__all__) < set(dir(gatebell))


@pytest.mark.proves("STORE-1", "LAW-1")
def test_watcher_reports_changes_after_a_store_error(tmp_path):
    store = open_throwaway_store(str(tmp_path / "gate.db"))
    drafting, problems = store.asks.drafting, ["the disk is busy"]
    watcher = Watcher(store)

    def fail_once(since):
        if problems and store.audit.head().seq:
            raise StoreError(problems.pop())
        return drafting(since)

    store.asks.drafting = fail_once
    asked = Gate(store).open("Why?")
    with closing(watcher.changes()) as changes:
        assert asked in next(changes) and problems == []
    with closing(watcher.changes()) as changes:
        assert asked in next(changes), "the first look at it was not finished"
    store.close()
