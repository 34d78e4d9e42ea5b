"""The agents' own screens: the dialog there and the inbox are two ways to decide the same call."""

from __future__ import annotations

import pytest
from tests.support.agent_house import OWN_QUESTIONS
from tests.support.waiting import eventually

from gatebell.install.scripted_model import text, tool

TOUCH = tool("Bash", command="touch gated", description="make a file")
DIALOG = "Do you want to proceed?"
YES = ("Enter",)
NO = ("Down", "Enter")


@pytest.fixture
def claude(house, terminal):
    """Start claude's screen and wait until both the dialog and the ask exist."""
    house.install("claude")

    def start(mode):
        terminal.claude([TOUCH, text("the end")], "--permission-mode", mode)
        terminal.until(DIALOG)
        (ask,) = house.wait_for_asks()
        return ask

    return start


@pytest.mark.proves("AGT-76")
@pytest.mark.parametrize(
    ("answer", "mode"),
    [
        ("yes", "manual"),
        ("no", "auto"),
        pytest.param("no", "manual", marks=pytest.mark.matrix),
        pytest.param("yes", "auto", marks=pytest.mark.matrix),
    ],
)
def test_answer_in_the_inbox_closes_the_dialog(house, terminal, claude, mode, answer):
    ask = claude(mode)
    house.answer(ask, answer, "--note", "decided elsewhere")
    told = house.wait_for_results()
    terminal.until_gone(DIALOG)
    assert house.ran() == (answer == "yes")
    assert answer == "yes" or "decided elsewhere" in told[0]
    assert house.get(ask.id).status == "answered" and house.get(ask.id).delivered_at


@pytest.mark.proves("AGT-73")
def test_yes_to_something_else_runs_that(house, terminal, claude):
    ask = claude("manual")
    house.answer(ask, "yes", "--with", "touch elsewhere")
    house.wait_for_results()
    terminal.until_gone(DIALOG)
    assert house.ran("elsewhere") and not house.ran()


@pytest.mark.proves("AGT-76")
@pytest.mark.parametrize(
    ("keys", "mode"),
    [
        pytest.param(YES, "auto", id="yes-auto"),
        pytest.param(NO, "manual", id="no-manual"),
        pytest.param(YES, "manual", id="yes-manual", marks=pytest.mark.matrix),
        pytest.param(NO, "auto", id="no-auto", marks=pytest.mark.matrix),
    ],
)
def test_answer_in_the_dialog_retires_the_ask(house, terminal, claude, mode, keys):
    ask = claude(mode)
    terminal.type("", *keys)
    terminal.until_gone(DIALOG)
    after = house.wait_for_settled(ask)
    assert after.status == "cancelled" and "terminal" in after.note
    if keys == YES:
        house.wait_for_results()
    assert house.ran() == (keys == YES)
    late = house.ada.gate("answer", ask.id, "yes")
    assert late.code != 0, "who comes second is told so"


@pytest.mark.proves("AGT-76", "LAW-2")
@pytest.mark.parametrize(
    ("answer", "timing"),
    [
        ("yes", "key first"),
        ("no", "together"),
        ("no", "answer first"),
        pytest.param("no", "key first", marks=pytest.mark.matrix),
        pytest.param("yes", "together", marks=pytest.mark.matrix),
        pytest.param("yes", "answer first", marks=pytest.mark.matrix),
    ],
)
def test_dialog_and_inbox_at_once_have_one_outcome(house, terminal, claude, timing, answer, rounds):
    """The dialog says the opposite of the inbox, so that the winner is visible.

    Host and inbox share no clock: within milliseconds one may have closed before it notices
    the other. But nothing stays open, and a decision that was surely first wins.
    """
    keys = NO if answer == "yes" else YES
    for _ in range(rounds):
        ask = claude("manual")
        if timing == "key first":
            terminal.type("", *keys)
            terminal.until_gone(DIALOG)
        answering = house.ada.start("answer", ask.id, answer)
        if timing == "answer first":
            answering.communicate()
            terminal.until_gone(DIALOG)
            house.wait_for_results()
        if timing != "key first":
            terminal.type("", *keys)
        answering.communicate()
        assert house.wait_for_settled(ask).status in ("answered", "cancelled")
        terminal.until_gone(DIALOG)
        if timing == "key first" and keys == YES:
            house.wait_for_results()
        if timing != "together":
            assert house.ran() == ((answer == "yes") == (timing == "answer first"))
        events = [entry.event.kind for entry in house.store.audit.of_subject(ask.id)]
        assert len({"ask.answered", "ask.cancelled"} & set(events)) == 1
        terminal.kill()
        house.forget()


@pytest.mark.proves("AGT-75")
def test_claudes_own_questions_are_answered_from_the_inbox(house, terminal):
    house.install("claude")
    terminal.claude([tool("AskUserQuestion", questions=OWN_QUESTIONS), text("the end")])
    house.answer_own_questions()
    (told,) = house.wait_for_results()
    assert '"Which database?"="SQLite"' in told and '"Which colours?"="Red, Blue"' in told


@pytest.fixture
def codex(house, terminal):
    """Start codex's screen, trust the installed hooks and wait for the ask."""
    house.install("codex")

    def start():
        terminal.codex([tool("exec_command", cmd="touch gated"), text("the end")])
        terminal.until("Trust all and continue")
        # It shows its question before it takes input.
        eventually(lambda: terminal.type("2") or "› 2. Trust all" in terminal.screen())
        terminal.type("", "Enter")
        (ask,) = house.wait_for_asks()
        return ask

    return start


@pytest.mark.proves("AGT-77")
def test_codex_learns_of_a_yes_to_another_call(house, codex):
    """Codex takes no edited input from a hook, and would ask about the old one in its dialog."""
    ask = codex()
    house.answer(ask, "yes", "--with", "touch elsewhere")
    assert "touch elsewhere" in house.wait_for_results()[0] and not house.ran()


@pytest.mark.proves("AGT-77")
@pytest.mark.parametrize("answer", ["yes", "no"])
def test_permission_request_of_codex_is_decided_in_the_inbox(house, codex, answer):
    ask = codex()
    assert ask.question.kind == "approval" and ask.origin.agent == "codex"
    assert "touch gated" in ask.question.prompt and not house.ran()
    house.answer(ask, answer, "--note", "decided elsewhere")
    told = house.wait_for_results()
    assert house.ran() == (answer == "yes")
    assert answer == "yes" or "decided elsewhere" in told[0]
