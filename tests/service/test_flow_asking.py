"""Questions of the agent of a flow, their answers, and lost sessions."""

from __future__ import annotations

import os
import shutil

import pytest
from tests.support.flow_harness import Crash, done, house, needs
from tests.support.people import a_person

from gatebell import flow, run
from gatebell.adapters.agents import session_logs
from gatebell.adapters.agents.python_function import PythonDriver
from gatebell.api.flows import Flow
from gatebell.domain.runs.flow_terms import FlowTerms
from gatebell.errors import MissingAgentError
from gatebell.ports.agents import Ended
from gatebell.services.asks import ask_messages
from gatebell.services.permissions import permit_call
from gatebell.services.permissions.permit_call import Permission
from gatebell.testing import ScriptedAgent

__all__ = ["house"]

DENIED = Permission(allow=False, message="no")
ALL_AGAIN = "The session in which you worked before is lost."


def one_run(**more):
    return flow(on_error="return")(lambda _: list(run("coder", "Write it", **more)[:3]))


def on_terms(**terms):
    """Return a flow of one call with terms that no decorator offers."""
    work = lambda _: list(run("coder", "Write it", on_error="return")[:3])  # noqa: E731  a flow
    return Flow(work, FlowTerms(**terms))


class Forgetful(ScriptedAgent):
    """An agent whose sessions get lost, as when a person deletes the logs."""

    def __init__(self, *script):
        super().__init__(script)
        self.lost = set()

    def forget(self):
        self.lost |= {order.session for order in self.orders}

    def knows(self, session):
        return session in {order.session for order in self.orders} - self.lost

    def was_turn_sent(self, session, turn_id):
        return session not in self.lost and super().was_turn_sent(session, turn_id)


def forgetful(house, *script, role="coder"):
    house.agents[role] = Forgetful(*script)
    return house.agents[role]


# Questions


@pytest.mark.proves("TASK-25", "S3-13", "S3-14", "S3-21", "S3-22", "S3-23", "S3-24")
@pytest.mark.parametrize("name", ["question_context", "questionContext"])
def test_question_has_its_context_and_confidence(house, name):
    house.agent(
        "coder",
        {
            "status": "needs_input",
            "summary": "Login is half done",
            "question": "JWT or session cookies?",
            name: "The API is used by a mobile app.",
            "details": "Both work.",
            "confidence": 0.4,
        },
    )
    house.go(one_run())
    asked = house.ask()
    assert asked.question.prompt == "JWT or session cookies?"
    context = "The API is used by a mobile app.\n\nLogin is half done\n\nBoth work."
    assert asked.question.context == context
    assert asked.confidence == 0.4


@pytest.mark.proves("TASK-25")
@pytest.mark.parametrize("given", ["0.5", True, 1.5, -1, None, [0.5]])
def test_confidence_outside_0_to_1_is_ignored(house, given):
    house.agent("coder", needs("Which?", confidence=given))
    house.go(one_run())
    assert house.ask().confidence is None and house.ask().question.context is None


@pytest.mark.proves("TASK-26", "S3-20", "S3-B7")
@pytest.mark.parametrize("question", ["", " \n"])
def test_needing_a_person_without_a_question_is_an_error(house, question):
    said = "x" * 3_000 + 'I am unsure. {"status": "needs_input", "question": "%s"}'
    house.agent("coder", said % question.replace("\n", "\\n"))
    status, reason, _ = house.go(on_terms(asks_by_question=True)).result
    assert status == "ERROR" and house.pending() == []
    assert reason.startswith("needs_input came without a question; its last words: … xxx")
    assert "I am unsure." in reason and len(reason) < 2_100
    assert house.turns()[0].words.startswith("xxx")


@pytest.mark.proves("FLT-1", "S3-24")
def test_summary_is_asked_where_a_question_is_missing(house):
    def offers(order, _events):
        given = {"status": "needs_input", "question": " ", "summary": "JWT?", "reason": "unclear"}
        house.store.runs.offer(order.turn_id, given)
        return ""

    house.agent("coder", offers)
    house.go(on_terms(asks_by_question=True))
    question = house.ask().question
    assert (question.prompt, question.context) == ("JWT?", "unclear")


@pytest.mark.proves("FLT-1")
def test_other_flows_ask_the_reason_before_the_summary(house):
    house.agent("coder", {"status": "NEEDS_HUMAN", "summary": "half done", "reason": "JWT?"})
    house.go(one_run())
    question = house.ask().question
    assert (question.prompt, question.context) == ("JWT?", "half done")


@pytest.mark.proves("FLT-2")
def test_details_of_an_asking_report_are_its_context(house):
    more = {"questionContext": "c", "details": "Login is done", "issues": ["slow", {"at": 3}]}
    house.agent("coder", needs("Which?", summary="half done", **more))
    house.go(one_run())
    parts = ["c", "half done", "Login is done", "Issues:\n- slow\n- {'at': 3}"]
    assert house.ask().question.context == "\n\n".join(parts)


@pytest.mark.proves("TASK-27", "S3-B19")
def test_number_of_questions_of_an_agent_is_limited(house):
    house.agent("coder", *[needs(f"Question {number}?") for number in (1, 2, 3)])
    house.go(on_terms(most_asks=2))
    # A message back belongs to the same question.
    house.answer_and_drive("one")
    status, reason, _ = house.answer_and_drive("two").result
    assert (status, house.pending()) == ("ERROR", [])
    assert reason == "it may ask 2 times and has done so; now it asked: Question 3?"


@pytest.mark.proves("TASK-27")
def test_messages_of_people_are_not_counted_as_questions(house):
    reply = needs("Which flow of OAuth?", message="I meant OAuth")
    house.agent("coder", needs("Which flow?"), reply, needs("Which port?"), done("ok"))
    house.go(on_terms(most_asks=2))
    ask_messages.ask_back(house.store, house.ask().id, a_person("ada"), "Flow of what?")
    house.drive()
    house.answer_and_drive("PKCE")
    assert house.answer_and_drive("80").result == ["DONE", "", "ok"]


@pytest.mark.proves("TASK-28")
def test_asks_without_a_deadline_remind_as_the_flow_says(house):
    house.agent("coder", needs("Which?"))
    house.go(on_terms(human_seconds=None, remind_seconds=3_600))
    clock = house.ask().deadlines
    assert clock.expires_at is None and clock.remind_every_seconds == 3_600
    assert house.go(one_run()).state == "failed"  # the script is over
    house.agent("coder", needs("Which?"))
    house.go(one_run())
    clock = house.ask().deadlines
    assert clock.expires_at and clock.remind_every_seconds is None


@pytest.mark.proves("TASK-28")
def test_permission_without_a_limit_has_a_far_deadline(house, monkeypatch):
    held = []
    monkeypatch.setattr(permit_call, "decide", lambda *given: held.append(given[1]) or DENIED)

    def asks(_order, events):
        return done(events.permit("Bash", {"command": "ls"}, "c-1").message)

    house.agent("coder", asks, asks)
    assert house.go(on_terms(human_seconds=None)).result == ["DONE", "", "no"]
    house.go(on_terms(human_seconds=60))
    assert [one.limit_seconds for one in held] == [365 * 86_400, 60]


# Answers


@pytest.mark.proves("TASK-20", "S3-46", "S3-47", "S3-B5", "S3-28", "S3-15", "S3-16")
def test_answer_reaches_the_session_with_question_context_and_person(house):
    coder = house.agent("coder", needs("JWT?", question_context="A mobile app"), done("ok"))
    house.go(one_run())
    assert house.answer_and_drive("cookies", "no tokens").result == ["DONE", "", "ok"]
    told, at = coder.sent[1], house.clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")
    assert (
        "## Human Response to Your Question\n**Question asked:**\n> JWT?\n**Context:**\n> A mobile app\n"
        f"**Human's answer:** (of person:ada, {at})\n> cookies\n> no tokens\n"
    ) in told
    assert "Please continue the task using this guidance." in told
    assert told.count("cookies") == 1 and "folder" not in told
    assert coder.orders[0].session == coder.orders[1].session and not coder.orders[1].fresh


# Lost sessions


@pytest.mark.proves("TASK-21", "S3-B18")
def test_answer_for_a_lost_session_has_the_whole_history(house):
    coder = forgetful(
        house, needs("Which flow?", question_context="OAuth"), needs("Which port?"), done("ok")
    )
    house.go(one_run())
    house.answer_and_drive("PKCE")
    coder.forget()
    assert house.answer_and_drive("8080").result == ["DONE", "", "ok"]
    first, second, third = coder.orders
    assert first.session == second.session != third.session and third.fresh
    told = third.text
    parts = [
        ALL_AGAIN, "You are the coder.", "Add login", "Write it", "Your earlier questions:", "> Which flow?", "> OAuth",
        "(of person:ada, ", "> PKCE", "How to report:", "## Human Response", "> Which port?", "> 8080", "Please continue",
    ]  # fmt: skip
    places = [told.index(part) for part in parts]
    assert places == sorted(places) and told.count("8080") == told.count("PKCE") == 1
    turns = house.turns("1")
    assert [turn.session for turn in turns] == [order.session for order in coder.orders]
    assert house.store.asks.get(turns[2].ask_id).delivered_to == f"agent:scripted/{third.session}"


@pytest.mark.proves("TASK-21", "S3-B18")
def test_lost_session_may_be_known_only_to_its_program(house):
    nothing = Ended(ok=False, words="", problem="no such session", gone=True)
    coder = house.agent("coder", needs("Which?"), nothing, done("ok"))
    house.go(one_run())
    assert house.answer_and_drive("PKCE").result == ["DONE", "", "ok"]
    told = coder.sent[2]
    assert ALL_AGAIN in told and told.count("PKCE") == 1 and "earlier questions" not in told
    lost = house.turns("1")[1]
    assert lost.ended_at and not lost.process and lost.signal is None
    assert coder.orders[2].fresh


@pytest.mark.proves("TASK-21", "TASK-23")
def test_crash_between_lost_and_fresh_session_keeps_the_answer(house):
    nothing = Ended(ok=False, words="", problem="no such session", gone=True)
    coder = forgetful(house, needs("Which?"), nothing, done("ok"))
    house.go(one_run())
    house.answer("PKCE")
    new_session = coder.new_session

    def dies():
        coder.new_session = new_session
        raise Crash

    coder.new_session = dies
    house.crash()
    coder.forget()
    assert house.drive().result == ["DONE", "", "ok"]
    assert coder.sent[2].count("PKCE") == 1 and ALL_AGAIN in coder.sent[2]
    assert all(turn.ended_at for turn in house.turns("1"))


@pytest.mark.proves("TASK-22")
@pytest.mark.parametrize("gone", [True, False])
def test_session_named_by_the_flow_is_not_replaced(house, gone):
    problem = Ended(ok=False, words="", problem="no such session", gone=gone)
    coder = forgetful(house, problem)
    coder.lost.add("s-7")
    assert house.go(one_run(session="s-7")).result == ["ERROR", "no such session", ""]
    assert len(coder.orders) == 1


@pytest.mark.proves("TASK-21")
def test_role_with_a_lost_session_reads_everything_again(house):
    coder = forgetful(house, needs("Which flow?"), done("written"), done("mended"))

    def forgets(_order, _events):
        coder.forget()
        return {"status": "CHANGES_REQUESTED", "summary": "no tests"}

    house.agent("reviewer", needs("How strictly?"), forgets)
    house.go(flow(lambda _: [run(role).summary for role in ("coder", "reviewer", "coder")]))
    house.answer_and_drive("PKCE")
    assert house.answer_and_drive("very").result == ["written", "no tests", "mended"]
    told = coder.sent[2]
    for words in (ALL_AGAIN, "You are the coder.", "Add login", "> DONE: written", "no tests"):
        assert words in told
    assert "> Which flow?" in told and "> PKCE" in told and coder.orders[2].fresh
    assert "How strictly?" not in told
    assert "You are the coder." not in coder.sent[1]


@pytest.mark.proves("TASK-21")
def test_fork_of_a_lost_session_starts_with_everything(house):
    coder = forgetful(house, done("written"), done("mended"), done("again"))
    house.go(lambda _: [run("coder", "a").summary, run("coder", "b").summary])
    coder.forget()
    house.fork("2")
    assert house.drive().result == ["written", "again"]
    assert coder.orders[2].fork_of == "" and coder.orders[2].fresh and ALL_AGAIN in coder.sent[2]


@pytest.mark.proves("TASK-21")
def test_message_to_a_lost_session_reaches_a_fresh_one(house):
    coder = forgetful(house, needs("Which?"), needs("Which?", message="I meant OAuth"), done("ok"))
    house.go(one_run())
    coder.forget()
    ask_messages.ask_back(house.store, house.ask().id, a_person("ada"), "Flow of what?")
    assert house.drive().state == "waiting_human"
    assert ALL_AGAIN in coder.sent[1] and "> Flow of what?" in coder.sent[1]
    assert house.answer_and_drive("PKCE").result == ["DONE", "", "ok"]
    assert coder.orders[1].session == coder.orders[2].session and ALL_AGAIN not in coder.sent[2]


@pytest.mark.proves("TASK-23", "S3-B18")
def test_interrupted_answer_is_sent_again_in_a_fresh_session(house):
    coder = forgetful(house, needs("Which?"), Crash(), done("ok"))
    house.go(one_run())
    house.answer("PKCE")
    house.crash()
    coder.forget()
    assert house.drive().result == ["DONE", "", "ok"]
    told = coder.sent[2]
    assert ALL_AGAIN in told and "You were interrupted in the turn" in told
    assert told.count("PKCE") == 1 and "Your earlier questions:" in told
    assert coder.orders[2].fresh and coder.orders[2].session != coder.orders[1].session
    assert house.store.asks.get(house.turns("1")[2].ask_id).delivered_at


@pytest.mark.proves("TASK-23")
def test_interrupted_message_is_sent_again_in_a_fresh_session(house):
    coder = forgetful(house, needs("Which?"), Crash(), needs("Which?", message="OAuth"), done("ok"))
    house.go(one_run())
    ask_messages.ask_back(house.store, house.ask().id, a_person("ada"), "Flow of what?")
    house.crash()
    coder.forget()
    assert house.drive().state == "waiting_human"
    assert ALL_AGAIN in coder.sent[2] and "> Flow of what?" in coder.sent[2]
    assert house.answer_and_drive("PKCE").result == ["DONE", "", "ok"]


@pytest.mark.proves("TASK-23")
def test_first_turn_never_received_is_sent_again_unchanged(house):
    coder = forgetful(house, Crash(), done("ok"))
    house.start(one_run())
    house.crash()
    coder.forget()
    assert house.drive().result == ["DONE", "", "ok"]
    first, second = house.turns("1")
    assert second.sent == first.sent.replace(first.id, second.id) and coder.orders[1].fresh


@pytest.mark.proves("TASK-23")
def test_first_turn_in_a_lost_session_holds_everything(house):
    coder = forgetful(house, done("written"), Crash(), done("mended"))
    house.start(lambda _: [run("coder", "a").summary, run("coder", "b").summary])
    house.crash()
    coder.forget()
    assert house.drive().result == ["written", "mended"]
    told = coder.sent[2]
    assert ALL_AGAIN in told and "> DONE: written" in told and "interrupted" not in told
    assert told.count("How to report:") == 1


@pytest.mark.proves("TASK-23")
def test_crashed_agent_with_lost_session_reads_both_facts(house):
    coder = forgetful(house, OSError("the pipe broke"), done("went on"))
    house.go(one_run())
    coder.forget()
    assert house.resume().result == ["DONE", "", "went on"]
    assert ALL_AGAIN in coder.sent[1] and "You were interrupted" in coder.sent[1]


@pytest.mark.proves("TASK-23")
def test_agent_that_crashed_without_session_reads_everything(house):
    """A program that chooses its session id may end before it reports the id."""

    class Slow(Forgetful):
        def new_session(self):
            return ""

    coder = house.agents["coder"] = Slow(OSError("the pipe broke"), done("went on"))
    house.go(one_run())
    assert house.resume().result == ["DONE", "", "went on"]
    assert "You are the coder." in coder.sent[1] and "interrupted" not in coder.sent[1]


@pytest.mark.proves("TASK-24", "LAW-6")
def test_unsent_answer_is_sent_with_the_next_attempt(house):
    coder = house.agent(
        "coder", needs("Which?"), MissingAgentError("no such program"), done("used")
    )
    house.go(one_run())
    assert house.answer_and_drive("PKCE").state == "failed"
    assert house.resume().result == ["DONE", "", "used"]
    told = coder.sent[2]
    assert "Your earlier questions:\n**Question asked:**\n> Which?" in told and "> PKCE" in told
    assert house.store.asks.get(house.turns("1")[2].ask_id).delivered_at


# Partial work


@pytest.mark.proves("TASK-30", "LAW-7", "S3-26")
def test_folder_is_saved_before_a_person_is_asked(house):
    kept_first = []
    coder = house.agent("coder", needs("Which?"), done("ok"))
    opened = house.store.asks.open

    def opens(*given):
        kept_first.append(list(house.folders.snapshots))
        return opened(*given)

    house.store.asks.open = opens
    house.go(one_run(), in_place=False)
    assert kept_first[-1] == ["1:1", "1:1-ask"] and house.folders.restored == []
    house.folders.changed = ["These files changed: a.py\nand\n{b}"]
    shutil.rmtree(house.folder)
    assert house.answer_and_drive("PKCE").result == ["DONE", "", "ok"]
    assert house.folders.restored == ["1:1-ask"] and os.path.isdir(house.folder)
    assert house.folders.set_up_times == 2, "what is ignored is not kept, and set up again"
    shown = "Your folder is not as you left it:\n> These files changed: a.py\n> and\n> {b}\n"
    assert shown in coder.sent[1]


@pytest.mark.proves("TASK-30")
def test_changes_of_the_agent_during_its_reply_are_kept(house):
    reply = needs("Which?", message="I meant OAuth")
    house.agent("coder", needs("Which?"), reply, done("ok"))
    house.go(one_run(), in_place=False)
    ask_messages.ask_back(house.store, house.ask().id, a_person("ada"), "Of what?")
    house.drive()
    assert house.folders.snapshots == ["1:1", "1:1-ask", "1:1-ask"]
    assert house.folders.restored == ["1:1-ask"]
    house.answer_and_drive("PKCE")
    assert house.folders.restored == ["1:1-ask"] * 2


@pytest.mark.proves("TASK-30")
def test_run_in_place_saves_and_restores_nothing(house):
    house.agent("coder", needs("Which?"), done("ok"))
    house.go(one_run())
    house.answer_and_drive("PKCE")
    assert house.folders.snapshots == ["1:1"] and house.folders.restored == []


# Which sessions there are


@pytest.mark.proves("TASK-31")
@pytest.mark.parametrize(
    ("cli", "name"),
    [
        ("claude", "projects/-work/{}.jsonl"),
        ("codex", "sessions/2026/11/16/rollout-1-{}.jsonl"),
        ("codex", "sessions/2026/11/16/rollout-1-{}.jsonl.zst"),
    ],
)
def test_session_is_known_by_its_log(tmp_path, cli, name):
    variables = {"CLAUDE_CONFIG_DIR": str(tmp_path), "CODEX_HOME": str(tmp_path)}
    session = "0b1c1f2e-0000-4000-8000-000000000001"
    log = tmp_path / name.format(session)
    assert not session_logs.is_kept(cli, session, variables) and not session_logs.is_kept(
        cli, "", variables
    )
    log.parent.mkdir(parents=True)
    log.write_text("", encoding="utf-8")
    assert not session_logs.is_kept(cli, session, variables)
    log.write_text("{}\n", encoding="utf-8")
    assert session_logs.is_kept(cli, session, variables)
    log.unlink()
    log.symlink_to(tmp_path / "nowhere")
    assert not session_logs.is_kept(cli, session, variables)


@pytest.mark.proves("TASK-31")
def test_who_keeps_no_log_knows_every_session():
    assert PythonDriver(str).knows("") and ScriptedAgent([]).knows("s")
