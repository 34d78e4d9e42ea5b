"""Agents in flows: their messages, their signals, and errors between them."""

from __future__ import annotations

import json
import os
from datetime import timedelta

import pytest
from tests.support.flow_harness import Crash, done, house, needs
from tests.support.people import a_person

from gatebell import ask, flow, pause, run
from gatebell.adapters.system import processes
from gatebell.api.flows import log, step
from gatebell.domain.asks.answers import Given
from gatebell.domain.asks.asks import Origin
from gatebell.domain.asks.owners import owner_of
from gatebell.domain.digests import text_digest
from gatebell.domain.runs.runs import RunChange, Turn
from gatebell.errors import MissingAgentError, StepFailedError, UsageError
from gatebell.ports.agents import Ended
from gatebell.services.asks import answer_ask, ask_messages, create_ask, wait_for_ask
from gatebell.services.asks.create_ask import Request
from gatebell.services.runs import manage_runs
from gatebell.services.runs.agent_call.turn import Agent
from gatebell.services.runs.run_journal import Drive
from gatebell.testing import ScriptedAgent, ScriptedPerson

__all__ = ["house"]

PATIENCE_SECONDS = 20


def one_run(**more):
    return flow(on_error="return")(lambda _: list(run("coder", **more)[:3]))


def writes(text, *, name=None):
    """Return an agent that writes a signal file and prints no signal."""

    def line(order, _events):
        path = order.environ["GATE_SIGNAL_FILE"]
        path = os.path.join(os.path.dirname(path), name) if name else path
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return "bye"

    return line


# Messages to agents


@pytest.mark.proves("RUN-447", "S2-69")
def test_agent_is_sent_its_role_once_and_new_messages(house):
    @flow
    def team(_):
        run("architect", "Draw it")
        run("coder", "Write it")
        ask("Which colour?")
        step(lambda: "no words", name="quiet")
        log("nor these")
        run("reviewer")
        gate = pause("Go?")
        run("coder", "Mend it")
        return bool(gate)

    house.agent("architect", done("three layers"))
    coder = house.agent("coder", done("written"), done("mended"))
    reviewer = house.agent("reviewer", {"status": "CHANGES_REQUESTED", "summary": "no tests"})
    house.go(team)
    house.answer_and_drive("red", "of course")
    house.answer_and_drive("yes", "with care")
    first, second = coder.sent
    assert "You are the coder." in first and "Add login" in first and "Write it" in first
    assert "DONE: three layers" in first and "architect" in first
    assert "You are the coder." not in second and "Add login" not in second and "Mend it" in second
    assert "three layers" not in second and "written" not in second
    for words in (
        "CHANGES_REQUESTED: no tests",
        "> red",
        "> of course",
        "> approved",
        "> with care",
    ):
        assert words in second
    assert "no words" not in second and "nor these" not in second
    assert "written" in reviewer.sent[0] and "three layers" in reviewer.sent[0]
    assert "Your work now" in reviewer.sent[0]
    with open(os.path.join(house.folder, ".agents", "context.md"), encoding="utf-8") as file:
        context = file.read()
    assert "three layers" in context and "written" in context and "no tests" in context
    assert [order.fresh for order in coder.orders] == [True, False]


@pytest.mark.proves("RUN-447")
def test_new_session_starts_empty_and_a_named_one_continues(house):
    coder = house.agent("coder", *[done()] * 4)
    house.go(
        lambda _: [run("coder", session=which).status for which in ("role", "new", "s-7", "role")]
    )
    sessions = [order.session for order in coder.orders]
    assert sessions[2] == "s-7" and sessions[0] != sessions[1]
    assert [order.fresh for order in coder.orders] == [True, True, False, False]
    assert ["You are the coder." in text for text in coder.sent] == [True, True, False, False]
    # The role continues in its last session.
    assert sessions[3] == "s-7"


@pytest.mark.proves("RUN-447")
def test_agent_knows_the_number_of_its_turn(house):
    coder = house.agent("coder", done())
    over = house.go(one_run())
    (turn,), (order,) = house.turns(), coder.orders
    assert order.environ == {
        "GATE_TURN": turn.id, "GATE_RUN": str(over.id),
        "GATE_SIGNAL_FILE": os.path.join(house.folder, ".agents", "signals", f"coder-{turn.id}.json"),
    }  # fmt: skip
    assert f"[turn {turn.id}]" in order.text and turn.sent == order.text
    assert turn.process and turn.ended_at and turn.signal["status"] == "DONE"
    assert house.folders.snapshots == [f"{over.id}:1"]


@pytest.mark.proves("RUN-447")
def test_observer_receives_the_words_of_an_agent(house):
    def talks(_order, events):
        events.said("I begin")
        return done()

    house.agent("coder", talks)
    house.go(one_run())
    assert house.said == [("1", "coder: I begin")]


@pytest.mark.proves("RUN-447")
def test_session_chosen_by_the_agent_is_kept(house):
    def meets(order, events):
        events.met("chosen")
        return needs("Which?")

    coder = house.agent("coder", meets, done(), done())
    house.go(lambda _: [run("coder").status, run("coder").status])
    house.answer_and_drive("this")
    assert [order.session for order in coder.orders][1:] == ["chosen", "chosen"]


@pytest.mark.proves("RUN-447")
def test_function_replaces_an_agent(house):
    said = []

    def worker(text):
        said.append(text)
        return needs("Which?") if len(said) == 1 else {"n": len(said)}

    house.go(lambda _: run(worker, "Count").value)
    over = house.answer_and_drive("both")
    assert over.result == {"n": 2} and "> both" in said[1]
    assert house.calls()["1"].label == "worker"


# Signals


@pytest.mark.proves("RUN-425", "S2-B22", "S2-7")
@pytest.mark.parametrize("status", ["DONE", "BLOCKED", "NEEDS_REVIEW", "ERROR", "PLEASED"])
def test_signal_by_file_tool_or_words_reaches_the_flow(house, status):
    def offers(order, _events):
        assert house.store.runs.offer(order.turn_id, {"status": status, "reason": "tool"})
        return writes(json.dumps({"status": "OTHER"}))

    house.agent(
        "coder", offers, writes(json.dumps({"status": status, "reason": "file"})),
        f'I am done.\n{{"status": "{status}", "reason": "words"}}',
    )  # fmt: skip
    over = house.go(lambda _: [list(run("coder", on_error="return")[:2]) for _ in range(3)])
    assert over.result == [[status, "tool"], [status, "file"], [status, "words"]]


@pytest.mark.proves("RUN-425", "S2-B2", "S2-B14", "S2-B15")
@pytest.mark.parametrize(
    "line",
    [
        writes('{"status": "DONE"}', name="coder.json"), writes('{"status": "DONE"}', name="coder-t-other.json"),
        writes('{"status": "DO'), writes("DONE"), writes('["DONE"]'), writes('{"state": "DONE"}'), writes("x" * 1_000_001),
    ],
)  # fmt: skip
def test_stale_torn_or_foreign_file_is_not_a_signal(house, line):
    house.agent("coder", line)
    status, reason, _ = house.go(one_run()).result
    assert status == "ERROR" and reason.startswith("the agent gave no signal") and "bye" in reason


@pytest.mark.proves("RUN-425", "S2-B2")
def test_file_of_the_last_turn_is_not_reused(house):
    house.agent("coder", writes('{"status": "DONE"}'), "I forgot")
    over = house.go(lambda _: [run("coder", on_error="return").status for _ in range(2)])
    assert over.result == ["DONE", "ERROR"]


@pytest.mark.proves("RUN-425")
def test_link_instead_of_a_file_is_not_followed(house, tmp_path):
    (tmp_path / "victim").write_text('{"status": "DONE"}', encoding="utf-8")

    def links(order, _events):
        os.symlink(tmp_path / "victim", order.environ["GATE_SIGNAL_FILE"])
        return "bye"

    house.agent("coder", links)
    assert house.go(one_run()).result[0] == "ERROR"


@pytest.mark.proves("RUN-425")
@pytest.mark.parametrize("where", [".agents", ".agents/context.md", ".agents/signals"])
def test_papers_are_not_written_through_a_link(house, tmp_path, where):
    victim = tmp_path / "victim"
    if where.endswith("md"):
        victim.write_text("mine", encoding="utf-8")
    else:
        victim.mkdir()
    if "/" in where:
        os.mkdir(os.path.join(house.folder, ".agents"))
    os.symlink(victim, os.path.join(house.folder, where))
    house.agent("coder", done())
    over = house.go(one_run())
    assert over.state == ("completed" if where.endswith("md") else "failed")
    kept = [victim.read_text(encoding="utf-8")] if victim.is_file() else list(victim.iterdir())
    assert kept in (["mine"], [])


@pytest.mark.proves("RUN-425")
def test_failed_agent_is_an_error_with_its_reason(house):
    house.agent("coder", Ended(ok=False, words='{"status": "DONE"}', problem="it crashed"))
    assert house.go(one_run()).result == ["ERROR", "it crashed", ""]


@pytest.mark.proves("RUN-425")
def test_agent_that_cannot_start_is_reported_and_closed(house):
    @flow
    def patient(_):
        try:
            run("coder", "first")
        except StepFailedError as error:
            return [error.kind, run("coder", "second").status]
        return None

    coder = house.agent("coder", MissingAgentError("no such program"), done())
    assert house.go(patient).result == ["MissingAgentError", "DONE"]
    # The first session is empty, so the second one gets everything.
    assert "You are the coder." in coder.sent[1] and coder.orders[1].fresh


@pytest.mark.proves("RUN-425", "RUN-446")
def test_agent_that_could_not_start_gets_the_same_message(house):
    coder = house.agent("coder", MissingAgentError("no such program"), done("now"))
    assert house.go(one_run()).state == "failed"
    assert house.resume().result == ["DONE", "", "now"]
    assert "You are the coder." in coder.sent[1] and "interrupted" not in coder.sent[1]
    assert house.calls()["1"].attempt == 2


@pytest.mark.proves("RUN-425")
def test_missing_role_fails_the_call(house):
    over = house.go(lambda _: run("nobody").status)
    assert over.state == "failed" and "KeyError" in over.reason and house.turns() == []


# Values that must fit

NUMBER = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


@pytest.mark.proves("RUN-426")
def test_value_that_does_not_fit_is_requested_again(house):
    coder = house.agent(
        "coder", {"status": "DONE", "value": {"n": "three"}}, done(), {"status": "DONE", "value": {"n": 3}}
    )  # fmt: skip
    over = house.go(lambda _: run("coder", returns=NUMBER).value)
    assert over.result == {"n": 3} and len(house.turns("1")) == 3
    assert '"integer"' in coder.sent[0] and coder.orders[0].schema == NUMBER
    assert (
        "does not fit" in coder.sent[1] and "/n:" in coder.sent[1] and "the value:" in coder.sent[2]
    )


@pytest.mark.proves("RUN-426")
def test_after_so_many_tries_it_is_an_error(house):
    house.agent("coder", *[done()] * 2)
    status, reason, _ = house.go(one_run(returns=NUMBER, tries=2)).result
    assert status == "ERROR" and "did not fit 2 times" in reason


@pytest.mark.proves("RUN-426")
@pytest.mark.parametrize("status", ["ERROR", "BLOCKED"])
def test_who_cannot_do_it_owes_no_value(house, status):
    house.agent("coder", {"status": status, "reason": "why"})
    assert house.go(one_run(returns=NUMBER)).result == [status, "why", ""]


@pytest.mark.proves("RUN-426")
def test_structured_result_of_the_program_is_the_value(house):
    house.agent("coder", Ended(ok=True, words='{"status": "DONE"}', structured={"n": 1}))
    assert house.go(lambda _: run("coder", returns=NUMBER).value).result == {"n": 1}


@pytest.mark.proves("RUN-426")
def test_questions_to_people_do_not_count_as_tries(house):
    good = {"status": "DONE", "value": {"n": 3}}
    house.agent("coder", done(), needs("Which?"), done(), needs("Which?"), good)
    house.go(lambda _: run("coder", returns=NUMBER, tries=3).value)
    house.answer_and_drive("a")
    assert house.answer_and_drive("b").result == {"n": 3}


@pytest.mark.proves("RUN-426")
def test_invalid_schema_is_refused_before_any_work(house):
    coder = house.agent("coder", done())
    over = house.go(lambda _: run("coder", returns={"type": "nonsense"}).value)
    assert over.state == "failed" and coder.orders == []


# Asking back


@pytest.mark.proves("RUN-448", "S2-14")
@pytest.mark.parametrize("by_tool", [True, False])
def test_person_asks_back_and_the_question_stays(house, by_tool):
    reply = needs("Which flow of OAuth?", message="I meant OAuth")

    def answers(order, _events):
        if by_tool:
            house.store.runs.offer(order.turn_id, reply)
        return "hm" if by_tool else reply

    coder = house.agent("coder", needs("Which flow?"), answers, done("used PKCE"))
    house.go(one_run())
    asked = house.ask()
    ask_messages.ask_back(house.store, asked.id, a_person("ada"), "Flow of what?")
    assert house.store.runs.ready(9) == [house.run_id]
    asked_back = house.drive()
    assert (asked_back.state, house.ask().id) == ("waiting_human", asked.id)
    assert "Flow of what?" in coder.sent[1]
    said = [(one.by_asker, one.text) for one in house.store.asks.messages(asked.id)]
    assert said == [(False, "Flow of what?"), (True, "I meant OAuth")]
    assert house.store.runs.ready(9) == []
    assert house.answer_and_drive("PKCE").result == ["DONE", "", "used PKCE"]
    assert len({order.session for order in coder.orders}) == 1


@pytest.mark.proves("RUN-448")
def test_person_who_asked_back_may_answer_before_the_reply(house):
    def slowly(_order, _events):
        house.answer("PKCE")
        return needs("Which flow?", message="I meant OAuth")

    coder = house.agent("coder", needs("Which flow?"), slowly, done("used"))
    house.go(one_run())
    ask_messages.ask_back(house.store, house.ask().id, a_person("ada"), "Of what?")
    assert house.drive().result == ["DONE", "", "used"]
    assert "> PKCE" in coder.sent[2]


@pytest.mark.proves("RUN-448", "RUN-450")
@pytest.mark.parametrize(
    "reply", [needs("Which OAuth flow?", message="I meant OAuth"), "just words"]
)
def test_crash_during_the_reply_loses_nothing(house, reply):
    coder = house.agent("coder", needs("Which flow?"), Crash(), reply, done("used"))
    house.go(one_run())
    asked = house.ask().id
    ask_messages.ask_back(house.store, asked, a_person("ada"), "Of what?")
    house.crash()
    assert house.drive().state == "waiting_human" and house.ask().id == asked
    assert "You were interrupted" in coder.sent[2]
    last = house.store.asks.messages(asked)[-1]
    assert last.by_asker and last.text in ("I meant OAuth", "just words")
    assert house.answer_and_drive("PKCE").result == ["DONE", "", "used"]


@pytest.mark.proves("RUN-448")
def test_agent_that_was_asked_back_may_continue_without_answer(house):
    house.agent("coder", needs("Which flow?"), done("I found it"))
    house.go(one_run())
    asked = house.ask().id
    ask_messages.ask_back(house.store, asked, a_person("ada"), "Have you looked?")
    assert house.drive().result == ["DONE", "", "I found it"]
    gone = house.store.asks.get(asked)
    assert (gone.status, gone.note) == ("cancelled", "the agent went on by itself")


# Permission


@pytest.mark.proves("RUN-449")
@pytest.mark.parametrize(("answer", "allow"), [("yes", True), ("no", False)])
def test_permission_request_of_an_agent_is_asked(house, answer, allow):
    rulings = []

    def wants(_order, events):
        rulings.append(events.permit("Bash", {"command": "make"}, "call-1"))
        return done()

    house.agent("coder", wants)
    ScriptedPerson(house.store).will_answer("make", answer, "" if allow else "not now")
    over = house.go(one_run())
    assert over.state == "completed" and rulings[0].allow is allow
    assert allow or "not now" in rulings[0].message
    (asked,) = house.store.asks.list_settled(9)
    assert asked.origin.owner == f"run:{over.id}/1" and asked.origin.agent == "coder"
    assert asked.delivered_to.endswith("#call-1") and asked.activity == "it was thinking"


@pytest.mark.proves("RUN-449")
def test_questions_of_the_agent_program_are_answered(house):
    rulings = []
    question = {"question": "Which colour?", "options": [{"label": "red"}, {"label": "blue"}]}

    def wants(_order, events):
        rulings.append(events.permit("AskUserQuestion", {"questions": [question]}, "call-1"))
        return done()

    house.agent("coder", wants)
    ScriptedPerson(house.store).will_answer("colour", "red")
    house.go(one_run())
    assert rulings[0].allow and rulings[0].input["answers"] == {"Which colour?": "red"}
    assert house.store.asks.list_settled(9)[0].delivered_to.endswith("#call-1")


@pytest.mark.proves("RUN-449")
def test_changed_call_is_made_again_by_the_agent(house):
    rulings = []

    def wants(_order, events):
        rulings.append(events.permit("Bash", {"command": "make"}, "call-1"))
        rulings.append(events.permit("Bash", {"command": "make check"}, "call-2"))
        return done()

    agent = house.agent("coder", wants)
    agent.takes_edits = False
    ScriptedPerson(house.store).will_answer("make", {"input": {"command": "make check"}})
    house.go(one_run())
    assert [ruling.allow for ruling in rulings] == [False, True]
    assert "make check" in rulings[0].message


@pytest.mark.proves("RUN-449")
def test_unawaited_question_is_withdrawn_with_its_turn(house):
    def leaves(_order, _events):
        origin = Origin(owner=owner_of(house.run_id, "1"))
        for question in ("Run make?", "Which colour?"):
            create_ask.ask(house.store, Request(question), origin, a_person())
        return needs("Which flow?")

    house.agent("coder", leaves, done())
    house.go(one_run())
    assert house.ask().question.prompt == "Which flow?"
    assert {one.note for one in house.store.asks.list_settled(9)} == {"the agent's turn is over"}


@pytest.mark.proves("RUN-449", "RUN-455")
@pytest.mark.parametrize("what", ["closing", "turn is over"])
def test_closing_process_or_ended_agent_asks_nothing(house, what):
    permits = []

    def wants(_order, events):
        permits.append(events.permit)
        if what == "closing":
            house.driver.close()
            return events.permit("Bash", {"command": "make"}, "call-1") or done()
        return done()

    house.agent("coder", wants)
    over = house.go(one_run())
    if what == "closing":
        assert over.state == "ready" and house.ask().pending
    else:
        assert not permits[0]("Bash", {"command": "make"}, "call-1").allow
        assert house.store.asks.list_settled(9)[0].note == "the agent's turn is over"


# After a crash


@pytest.mark.proves("RUN-450", "LAW-5", "S2-68")
def test_turn_that_was_received_continues_in_its_session(house):
    coder = house.agent("coder", Crash(), done("went on"))
    house.start(one_run())
    house.crash()
    assert house.drive().result == ["DONE", "", "went on"]
    first, second = house.turns("1")
    assert first.ended_at and first.signal is None and second.number == 2
    assert f"You were interrupted in the turn {first.id}" in coder.sent[1]
    assert first.session == second.session and not coder.orders[1].fresh


@pytest.mark.proves("RUN-450", "LAW-5")
def test_turn_that_was_never_received_is_sent_again(house):
    coder = house.agent("coder", Crash(), done("went on"))
    coder.was_turn_sent = lambda *_: False
    house.start(one_run())
    house.crash()
    assert house.drive().result[0] == "DONE"
    first, second = house.turns("1")
    assert coder.sent[0].replace(first.id, second.id) == coder.sent[1]
    assert first.ended_at and coder.orders[1].fresh and first.session == second.session


@pytest.mark.proves("RUN-450", "LAW-5")
def test_signal_before_the_crash_counts(house):
    def dies(how):
        def line(order, events):
            if how == "file":
                writes('{"status": "ERROR", "reason": "told"}')(order, events)
            else:
                house.store.runs.offer(order.turn_id, {"status": "ERROR", "reason": "told"})
            raise Crash

        return line

    for how in ("file", "tool"):
        coder = house.agent("coder", dies(how))
        house.start(one_run())
        house.crash()
        assert house.drive().result == ["ERROR", "told", ""]
        assert len(coder.orders) == 1


@pytest.mark.proves("RUN-450")
def test_signal_during_takeover_counts(house, monkeypatch):
    house.agent("coder", Crash())
    house.start(one_run())
    house.crash()
    (turn,) = house.turns()

    def ending(_identity, _mark):
        house.store.runs.offer(turn.id, done("just in time"))
        return True

    monkeypatch.setattr(processes, "end", ending)
    assert house.drive().result == ["DONE", "", "just in time"]


@pytest.mark.proves("RUN-450", "LAW-6")
@pytest.mark.parametrize("function", [True, False])
def test_answer_is_not_lost_before_it_is_sent(house, monkeypatch, function):
    said = []

    def worker(text):
        said.append(text)
        return needs("Which?") if len(said) == 1 else done("heeded")

    house.agent("coder", lambda order, _: worker(order.text))
    house.go(lambda _: run(worker if function else "coder").summary)
    house.answer("PKCE")
    send = Agent.send

    def dying(*_, **__):
        raise Crash

    monkeypatch.setattr(Agent, "send", dying)
    house.crash()
    monkeypatch.setattr(Agent, "send", send)
    assert house.drive().result == "heeded" and house.store.asks.count() == 1
    assert "> PKCE" in said[1]


@pytest.mark.proves("RUN-450", "LAW-4")
def test_same_question_after_a_crash_is_another_ask(house, monkeypatch):
    house.agent("coder", needs("Which?"), needs("Which?"), done("ok"))
    house.go(one_run())
    first = house.ask().id
    house.answer("PKCE")
    take = wait_for_ask.take

    def dying(*_):
        raise Crash

    monkeypatch.setattr(wait_for_ask, "take", dying)
    house.crash()
    monkeypatch.setattr(wait_for_ask, "take", take)
    assert house.drive().state == "waiting_human"
    assert house.ask().id != first
    assert house.answer_and_drive("again").result == ["DONE", "", "ok"]


@pytest.mark.proves("RUN-450")
def test_gate_answer_is_recorded_as_taken_after_a_crash(house, monkeypatch):
    house.go(lambda _: bool(pause("Go?")))
    asked = house.ask().id
    house.answer("yes")
    record = Drive.record

    def dying(*_):
        raise Crash

    monkeypatch.setattr(Drive, "record", dying)
    house.crash()
    assert house.store.asks.get(asked).delivered_at is None
    monkeypatch.setattr(Drive, "record", record)
    assert house.drive().result is True
    assert house.store.asks.get(asked).delivered_to == f"run:{house.run_id}/1"


@pytest.mark.proves("RUN-450")
def test_answer_in_progress_is_not_sent_twice(house):
    coder = house.agent("coder", needs("Which?"), Crash(), done("used"))
    house.go(one_run())
    house.answer("PKCE")
    house.crash()
    assert house.drive().result == ["DONE", "", "used"]
    assert "> PKCE" in coder.sent[1] and "PKCE" not in coder.sent[2]
    assert house.store.asks.list_settled(9)[0].delivered_at


@pytest.mark.proves("RUN-452", "LAW-5")
@pytest.mark.parametrize(
    ("answer", "state"), [("It is gone: go on", "completed"), ("Stop the run", "stuck")]
)
def test_agent_not_proven_gone_is_a_question(house, monkeypatch, answer, state):
    coder = house.agent("coder", Crash(), done())
    house.start(one_run())
    house.crash()
    monkeypatch.setattr(processes, "end", lambda *_: False)
    asked = house.drive()
    assert asked.state == "waiting_human" and "two must not work in one session" in asked.reason
    assert len(coder.orders) == 1
    assert house.drive().state == "waiting_human" and len(house.pending()) == 1
    over = house.answer_and_drive(answer)
    assert over.state == state
    if state == "stuck":
        assert house.resume().state == "waiting_human" and len(coder.orders) == 1
        monkeypatch.setattr(processes, "end", lambda *_: True)
        house.stop()
        assert house.resume().state == "completed"


@pytest.mark.proves("RUN-450", "RUN-446")
def test_agent_that_crashed_reads_that_it_was_interrupted(house):
    coder = house.agent("coder", OSError("the pipe broke"), done("went on"))
    broken = house.go(one_run()).reason
    assert broken.startswith("StepFailedError: OSError: the pipe broke (")
    assert house.resume().result == ["DONE", "", "went on"]
    assert "You were interrupted" in coder.sent[1] and not coder.orders[1].fresh


# Sessions that a person holds


def held_turn(house, by="person:ada", **more):
    first = house.turns("1")[-1]
    turn = Turn(
        "t-joined", house.run_id, "1", 9, "coder", "scripted", first.session, "", house.clock.now(),
        by=by, process=more.pop("process", str(processes.me())), ask_id=house.ask().id, **more,
    )  # fmt: skip
    run_now = house.run()
    assert house.store.runs.change(RunChange(run_now, turns=(turn,)), run_now)
    return turn


@pytest.mark.proves("RUN-451", "S2-B18", "S2-63")
def test_answer_waits_while_a_person_has_the_session_open(house):
    coder = house.agent("coder", needs("Which?"), done("used"))
    house.go(one_run())
    turn = held_turn(house)
    house.answer("PKCE")
    held = house.drive()
    assert held.state == "ready" and held.ready_at == house.clock.now() + timedelta(seconds=3)
    assert house.calls()["1"].state == "held" and len(coder.orders) == 1
    run_now = house.run()
    left = turn._replace(ended_at=house.clock.now())
    assert house.store.runs.change(RunChange(run_now, turns=(left,)), run_now)
    house.clock.advance(3)
    assert house.drive().result == ["DONE", "", "used"]


@pytest.mark.proves("RUN-451")
def test_session_of_a_dead_holder_is_free(house):
    coder = house.agent("coder", needs("Which?"), done("used"))
    house.go(one_run())
    held_turn(house, process="an-earlier-boot/7/7")
    assert house.answer_and_drive("PKCE").result == ["DONE", "", "used"]
    assert len(coder.orders) == 2


@pytest.mark.proves("RUN-451")
def test_session_of_dead_holder_is_free_for_another_call(house):
    coder = house.agent("coder", done(), done("second"))
    house.go(lambda _: [run("coder").status, bool(pause("Go?")), run("coder").summary])
    held_turn(house, process="an-earlier-boot/7/7")
    assert house.answer_and_drive("yes").result == ["DONE", True, "second"]
    assert house.store.runs.turn("t-joined").ended_at and len(coder.orders) == 2


@pytest.mark.proves("RUN-451")
def test_visit_does_not_wake_a_call_that_waits(house):
    coder = house.agent("coder", needs("Which?"), done("used"))
    house.go(one_run())
    held_turn(house)
    assert house.drive().state == "waiting_human" and len(coder.orders) == 1


@pytest.mark.proves("RUN-451", "S2-16", "S2-43")
def test_result_of_the_session_becomes_the_signal(house):
    house.agent("coder", needs("Which?"))
    house.go(one_run())
    held_turn(house, ended_at=house.clock.now(), signal=done("we found it together"))
    person = a_person("ada")._replace(via="session")
    answer_ask.answer(house.store, house.ask().id, person, Given("done"))
    assert house.drive().result == ["DONE", "", "we found it together"]


@pytest.mark.proves("RUN-451")
def test_another_run_waits_for_a_busy_session(house):
    inner = house.another_driver()
    states = []

    def works(order, _events):
        first, outer = house.run_id, house.flow
        house.start(one_run(session=order.session))
        second = house.run_id
        states.append(inner.drive(manage_runs.get(house.store, second)).state)
        states.append(house.calls()["1"].state)
        house.run_id, house.flow = first, outer
        return done("first")

    coder = house.agent("coder", works, done("second"))
    assert house.go(one_run()).result == ["DONE", "", "first"]
    assert states == ["ready", "held"] and len(coder.orders) == 1
    house.clock.advance(3)
    house.flow = one_run(session=coder.orders[0].session)
    assert house.drive(2).result == ["DONE", "", "second"]


@pytest.mark.proves("RUN-451")
def test_session_taken_at_the_last_moment_is_waited_for(house, monkeypatch):
    coder = house.agent("coder", needs("Which?"), done("used"))
    house.go(one_run())
    house.answer("PKCE")
    holder = house.store.runs.holder
    looks = []

    def late(cli, session):
        looks.append(1)
        if len(looks) == 1:
            first = house.turns("1")[-1]
            turn = first._replace(
                id="t-j", number=8, by="person:ada", process=str(processes.me()), ended_at=None
            )
            run_now = house.run()
            assert house.store.runs.change(RunChange(run_now, turns=(turn,)), run_now)
            return None
        return holder(cli, session)

    monkeypatch.setattr(house.store.runs, "holder", late)
    assert house.drive().state == "ready" and len(coder.orders) == 1
    assert house.calls()["1"].state == "held"


# Stopping


@pytest.mark.proves("RUN-445", "S2-B20", "S2-50")
def test_stopped_agent_continues_in_its_session(house):
    ended = []

    def is_stopped(order, _events):
        ended.append(house.stop("not like this").state)
        return done("too late")

    coder = house.agent("coder", is_stopped, done("went on"))
    over = house.go(one_run())
    assert (over.state, over.reason, ended) == ("stuck", "not like this", ["stuck"])
    assert house.calls()["1"].state == "open"
    assert house.resume().result == ["DONE", "", "went on"]
    assert len({order.session for order in coder.orders}) == 1 and len(house.turns("1")) == 2
    assert "You were interrupted" in coder.sent[1] and house.calls()["1"].attempt == 1


@pytest.mark.proves("RUN-445", "S2-B20", "S2-37", "S2-B7")
def test_run_stopped_while_waiting_asks_again_when_resumed(house):
    coder = house.agent("coder", needs("Which?"), done("used"))
    house.go(one_run())
    first = house.ask().id
    house.stop("later")
    gone = house.store.asks.get(first)
    assert (
        house.pending() == [] and gone.status == "cancelled" and "was stopped: later" in gone.note
    )
    assert house.drive().state == "stuck"
    assert house.resume().state == "waiting_human" and house.ask().id != first
    assert house.answer_and_drive("PKCE").result == ["DONE", "", "used"]
    assert len({order.session for order in coder.orders}) == 1 and len(coder.orders) == 2


@pytest.mark.proves("RUN-445")
def test_resuming_an_active_run_changes_nothing(house):
    house.go(lambda _: bool(pause("Go?")))
    before = house.run()
    assert manage_runs.resume(house.store, house.run_id, a_person()) == before


# The scripted agent


@pytest.mark.proves("RUN-459")
def test_scripted_agent_says_the_words_of_its_script(house):
    assert ScriptedAgent([]).new_session() != ScriptedAgent([]).new_session()
    house.agent("coder", "words", {"status": "DONE"}, Ended(ok=False, words="", problem="t"))
    over = house.go(lambda _: [run("coder", on_error="return").status for _ in range(3)])
    assert over.result == ["ERROR", "DONE", "ERROR"]
    over = house.go(lambda _: run("coder").status)
    assert over.state == "failed" and "the script of coder has no line" in over.reason
    with pytest.raises(UsageError):
        house.agents["coder"].join(house.agents["coder"].orders[0])
    house.agent("coder", lambda order, _: done(order.role.name))
    assert house.go(lambda _: [run("coder").summary, run("coder").summary]).result == ["coder"] * 2


@pytest.mark.proves("RUN-471", "LAW-9")
def test_trail_records_the_message_sent_to_each_role(house):
    house.agent("coder", done("ok"))
    house.go(one_run())
    (turn,) = house.store.runs.turns(house.run_id)
    began = [
        entry.event.content
        for entry in house.store.audit.of_subject(f"run:{house.run_id}")
        if entry.event.kind == "turn.began"
    ]
    role = house.driver._needs.roles.find(house.store.runs.get(house.run_id), "coder")
    assert [(one["turn"], one["sent"]) for one in began] == [(turn.id, text_digest(turn.sent))]
    assert began[0]["role_digest"] == role.digest
