"""Session asks in claude's own screen: discussed, left, killed, timed out, and decided."""

from __future__ import annotations

import json
import os
import re
import signal

import pytest
from tests.support.agent_desk import NO_SCRIPT, PLAIN, Desk
from tests.support.agent_terminal import press, trust
from tests.support.sessions import Screen
from tests.support.waiting import eventually

from gatebell.domain.sessions.visits import Terms
from gatebell.install.scripted_model import script, text, tool
from gatebell.services.asks import create_ask

ASKED = "perl -e 'open F, q(>counted.txt); print F 42; print 6*7'"


@pytest.fixture
def desk(house, terminal):
    return Desk(house, terminal)


@pytest.mark.proves("S0-4", "S0-10", "S0-11", "S0-12")
@pytest.mark.proves("SES-70", "S0-8", "S0-9", "S0-57", "S0-59", "S0-60", "S0-61", "S0-69")
@pytest.mark.proves("S0-100", "S0-101", "S0-102", "S0-107", "S0-108", "S0-B14", "S0-B30", "LAW-3")
def test_question_is_worked_out_in_claudes_own_screen(desk, terminal):
    """A prompt like an option, 1 MB of context, a permission, keys, resizing, leaving, deciding."""
    terms = Terms("approval", system_prompt="Be a careful reviewer.", capture_transcript=True)
    context = {"rows": ["x" * 70] * 15_000}
    ask = desk.ask(terms, "--dangerously good schema?", context=context)
    desk.open(ask)
    terminal.until(NO_SCRIPT, 40)
    folder = f"{desk.house.path}-sessions/{ask.id}"
    steps = [
        tool("Read", file_path=f"{folder}/prompt.md"),
        tool("Bash", command=ASKED, description="count"),
        text("It counted {{result}}. I would say: APPROVED. password=hunter2hunter2"),
        text("Decision: APPROVED"),
    ]
    terminal.tmux("resize-window", "-x", "100", "-y", "40")
    desk.say(f"Look at it. {script(steps)}", "Do you want to proceed?")
    desk.keep("permission")
    press(terminal, "1", lambda: "It counted 42" in terminal.screen())
    assert (desk.house.project / "counted.txt").read_text(encoding="utf-8") == "42"
    terminal.type("never mind")
    terminal.until("never mind")
    press(terminal, "C-c", lambda: "never mind" not in terminal.screen())
    desk.say("I approve this.", "● Decision: APPROVED")
    assert desk.store.asks.get(ask.id).pending, "words decide nothing"
    desk.keep("talk")
    desk.leave()
    desk.keep("decision")
    assert desk.flags() == PLAIN
    assert re.search("The session proposes, in .* words: approved", terminal.screen())
    terminal.type("yes", "Enter")
    terminal.until("Note (optional): ")
    terminal.type("", "Enter")
    assert desk.wait_for_end() == 0
    desk.keep("end")
    came = desk.outcome(ask)
    assert (came.outcome, came.decision, came.attempts) == ("completed", "approved", 1)
    assert "I approve this." in came.transcript and "‹hidden›" in came.transcript
    assert "hunter2" not in came.transcript and "prompt.md first" not in came.transcript
    requests = [one for one in desk.house.model.requests if "messages" in one]
    first, read = requests[0], json.dumps(requests[-1]["messages"])
    assert "Be a careful reviewer." in json.dumps(first["system"]) and "sonnet" in first["model"]
    assert f"Please read {folder}/prompt.md first" in json.dumps(first["messages"])
    assert "--dangerously good schema?" in read and f"{folder}/context.json" in read
    assert len(read) < 200_000, "a megabyte of context is read as it is needed"


@pytest.mark.proves("SES-71", "S0-117", "S0-B25", "LAW-1")
def test_conversation_continues_after_a_kill_at_any_stage(desk, terminal, tmp_path):
    ask = desk.ask()
    desk.open(ask)
    os.kill(desk.harness(), signal.SIGKILL)
    eventually(lambda: not desk.house.processes(desk.house.programs.claude))
    desk.open(ask)
    terminal.until(NO_SCRIPT, 40)
    bob = Screen(desk.house.bob, "continue", ask.id, "--as", "bob", PATH=desk.house.environ["PATH"])
    assert bob.end() == 7 and "person:ada has had this session open" in bob.seen
    bob.close()
    desk.say(f"Go on. {script([text('One.'), text('Two.'), text('Three.')])}", "● One.")
    desk.until_logged(ask, "One.")
    os.kill(desk.harness(), signal.SIGKILL)
    eventually(lambda: not desk.house.processes(desk.house.programs.claude))
    desk.open(ask)
    assert ", continued" in terminal.screen()
    terminal.until("● One.", 40)
    desk.say("and then?", "● Two.")
    desk.until_logged(ask, "Two.")
    (program,) = desk.house.processes(desk.house.programs.claude)
    os.kill(program, signal.SIGKILL)
    assert desk.wait_for_end() == 1 and "claude was ended by signal 9" in terminal.screen()
    assert desk.flags() == PLAIN
    desk.open(ask)
    terminal.until("● Two.", 40)
    desk.leave()
    os.kill(desk.harness(), signal.SIGKILL)
    terminal.until("ended 137")
    desk.open(ask)
    terminal.until("● Two.", 40)
    desk.say("the end", "● Three.")
    desk.leave()
    terminal.type("no", "Enter")
    terminal.until("Reason (optional): ")
    terminal.type("not like this", "Enter")
    assert desk.wait_for_end() == 0
    assert desk.ends(ask) == ["lost", "lost", "failed", "left", "left"]
    assert len({one.session for one in desk.store.asks.visits(ask.id)}) == 1
    said = desk.log(ask)
    assert sum("prompt.md first" in one for one in said) == 1, "the question was asked once"
    assert desk.outcome(ask).decision == "rejected"


@pytest.mark.proves("SES-72", "S0-63", "S0-104", "S0-111")
def test_claude_is_ended_politely_at_its_limit(desk, terminal):
    ask = desk.ask(Terms("approval", session_seconds=5, capture_transcript=True))
    desk.open(ask, hasty=True)
    terminal.until(NO_SCRIPT, 40)
    titled = "#{pane_title} #{window_bell_flag}"
    eventually(lambda: "Time is over" in terminal.tmux("display-message", "-p", titled))
    desk.keep("time")
    assert "No response" not in terminal.screen() and desk.house.processes(
        desk.house.programs.claude
    )
    assert desk.wait_for_end() == 3 and "the time of the session is over" in terminal.screen()
    assert desk.flags() == PLAIN and desk.ends(ask) == ["time"]
    came = desk.outcome(ask)
    assert (came.outcome, came.decision) == ("timeout", None)
    assert "there is no script in this prompt" in came.transcript, "what was said is kept"


@pytest.mark.proves("SES-73", "S0-B25")
def test_claude_without_login_missing_or_broken_fails_the_attempt(desk, terminal):
    ask = desk.ask(Terms("approval", max_attempts=3))
    desk.open(ask, "-u", "ANTHROPIC_API_KEY")
    terminal.until("Not logged in", 40)
    desk.leave("ended 1")
    assert "claude could not start a conversation: Not logged in" in terminal.screen()
    assert f"Try again: gate continue {ask.id}" in terminal.screen()
    desk.put("sh -c 'echo broken; exit 3'")
    desk.open(ask)
    assert desk.wait_for_end() == 1 and "exit code 3 before anything was said" in terminal.screen()
    assert create_ask.get(desk.store, ask.id).pending
    (desk.house.bin / "claude").unlink()
    desk.start(ask)
    assert (
        desk.wait_for_end() == 4
        and "the last attempt failed: claude is not found" in terminal.screen()
    )
    assert desk.outcome(ask).outcome == "failed" and desk.ends(ask) == ["failed"] * 3


@pytest.mark.proves("SES-74", "S0-103", "S0-B29")
def test_question_of_claude_in_a_new_folder_is_announced(desk, terminal, tmp_path):
    worktree = tmp_path / "worktree"
    worktree.mkdir()
    ask = desk.ask(Terms("text"), cwd=worktree)
    desk.open(ask)
    assert "whether you trust this folder; the default is No" in terminal.screen()
    trust(terminal)
    terminal.until(NO_SCRIPT, 40)
    assert str(worktree) in terminal.screen(), "where it was asked, not where ada stands"
    desk.leave()
    terminal.type("Use it.", "Enter")
    assert desk.wait_for_end() == 0 and desk.outcome(ask).response == "Use it."


@pytest.mark.proves("SES-76", "S0-B15")
def test_another_ask_continues_a_named_conversation(desk, terminal):
    ask = desk.ask(Terms("text"))
    desk.open(ask)
    terminal.until(NO_SCRIPT, 40)
    desk.say(f"Go on. {script([text('One.'), text('Decision: REJECTED')])}", "● One.")
    desk.leave()
    terminal.type("so far", "Enter")
    assert desk.wait_for_end() == 0
    first = desk.outcome(ask)
    again = desk.ask(Terms("approval", resume_session=first.session_id), "And now?")
    desk.open(again)
    terminal.until("● Decision: REJECTED", 40)
    assert "● One." in terminal.screen(), "all that was said before is there"
    desk.leave()
    assert "The session proposes, in the agent's words: rejected" in terminal.screen()
    terminal.type("no", "Enter")
    terminal.until("Reason (optional): ")
    terminal.type("", "Enter")
    assert desk.wait_for_end() == 0
    came = desk.outcome(again)
    assert (came.decision, came.session_id) == ("rejected", first.session_id)
    assert came.transcript is None, "what was said is read, and not kept"
    lost = desk.ask(Terms("approval", resume_session="claude/0b1c1f2e-0000-4000-8000-000000000001"))
    desk.start(lost)
    assert desk.wait_for_end() == 1 and "there is no conversation 0b1c1f2e" in terminal.screen()
