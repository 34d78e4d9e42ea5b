"""The question of a phase goes to the handler until an answer is accepted."""

from __future__ import annotations

import pytest
from tests.support.people import a_person, an_agent

from gatebell import HumanInput, Phase, Workflow
from gatebell.domain.asks.answers import Given
from gatebell.errors import StoreError
from gatebell.services.asks import answer_ask
from gatebell.testing import MemoryStore, ScriptedPerson

which = Workflow("which", phases=[Phase("a", human=HumanInput("Which?", "choice", ["X", "Y"]), terminal=True)])  # fmt: skip


class Handler:
    """Return or raise the scripted values, and record the time of each call."""

    def __init__(self, store, *replies):
        self._store, self._replies, self.times = store, list(replies), []

    def approval(self, prompt, ask_id):
        raise NotImplementedError

    def choice(self, prompt, options, ask_id):
        self.times.append(self._store.monotonic())
        reply = self._replies.pop(0)
        if isinstance(reply, BaseException):
            raise reply
        return reply


@pytest.mark.proves("PHASE-57")
@pytest.mark.parametrize(
    "failures",
    [[ConnectionError("chat is down")], ["Z"], [None, ValueError("no"), "Z"]],
    ids=["raised", "no answer", "all of it"],
)
def test_failed_handler_gets_the_question_again(failures, caplog):
    store = MemoryStore()
    handler = Handler(store, *failures, "Y")
    result = which.run("go", handler, store=store)
    assert [one["value"] for one in result.history] == ["Y"]
    assert len(handler.times) == len(failures) + 1
    assert caplog.text.count("waits in the inbox") == len(failures)


@pytest.mark.proves("PHASE-57", "LAW-6")
def test_answer_that_could_not_be_written_is_asked_again(monkeypatch, caplog):
    store, broken = MemoryStore(), [1]

    def answer(*given):
        if broken:
            broken.clear()
            raise StoreError("the disk is full")
        return real(*given)

    real = answer_ask.answer
    monkeypatch.setattr(answer_ask, "answer", answer)
    handler = Handler(store, "X", "X")
    assert which.run("go", handler, store=store).history[0]["value"] == "X"
    assert "the disk is full" in caplog.text and len(handler.times) == 2


@pytest.mark.proves("PHASE-57")
def test_failing_handler_is_asked_less_and_less_often(caplog):
    store = MemoryStore()
    handler = Handler(store, *[OSError("down")] * 9, "X")
    which.run("go", handler, store=store)
    pauses = [round(b - a) for a, b in zip(handler.times, handler.times[1:], strict=False)]
    assert pauses == [1, 2, 4, 8, 16, 32, 60, 60, 60]


@pytest.mark.proves("PHASE-57", "PHASE-20")
def test_handler_that_leaves_a_question_is_asked_once(caplog):
    store = MemoryStore()
    store.visitors.append(lambda: store.clock.advance(3_600) or late(store))
    handler = Handler(store, EOFError())
    result = which.run("go", handler, store=store)
    assert result.history[0]["actor"] == "person:bob" and len(handler.times) == 1
    assert "the handler raised EOFError" in caplog.text


def late(store):
    """The answer comes at the third look."""
    if store.clock.monotonic() > 3 * 3_600:
        (ask,) = store.asks.pending(9)
        answer_ask.answer(store, ask.id, a_person("bob"), Given("Y"))
    return True


@pytest.mark.proves("PHASE-57")
def test_refused_person_is_asked_once(monkeypatch, caplog):
    store = MemoryStore()
    ScriptedPerson(store).will_answer("Which?", "Y")
    store.visitors.insert(0, lambda: store.clock.advance(90) or store.monotonic() < 300)
    monkeypatch.setattr(
        "gatebell.app.wiring.caller", lambda _, via, *__: an_agent()._replace(via=via)
    )
    handler = Handler(store, "X")
    assert which.run("go", handler, store=store).history[0]["value"] == "Y"
    assert "only a person decides" in caplog.text and len(handler.times) == 1


@pytest.mark.proves("PHASE-57")
def test_ask_without_its_call_is_handed_over_later(caplog):
    """Another driver has written the ask, and is killed before it writes the call."""
    store, written = MemoryStore(), []
    calls = store.runs.calls

    def between_two_writes(run_id):
        waits = store.asks.pending(9) and not written
        return [call._replace(ask_id="") if waits else call for call in calls(run_id)]

    def second_write():
        written.append(1)
        return len(written) == 1

    store.runs.calls = between_two_writes
    store.visitors.append(second_write)
    assert which.run("go", Handler(store, "X"), store=store).history[0]["value"] == "X"
    assert "waits in the inbox" in caplog.text and written == [1]
