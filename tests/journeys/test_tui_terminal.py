"""`gate tui` in a real terminal: runs continue, sessions take the terminal and give it back."""

from __future__ import annotations

import re
import shlex
import sys

import pytest
from tests.support.run_project import RunProject
from tests.support.run_records import add_run
from tests.support.sessions import Desk
from tests.support.tui_play import lone_ask
from tests.support.waiting import eventually

NEEDS = {"status": "NEEDS_HUMAN", "reason": "two ways", "question": "Which way?"}


def open_tui(terminal, *words, columns=80, rows=24):
    terminal.name += "+"
    gate = shlex.join([sys.executable, "-m", "gatebell", *words])
    shown = f"{gate}; echo exit code $?; exec cat"
    terminal.tmux("new-session", "-d", "-x", str(columns), "-y", str(rows), shown)


@pytest.mark.proves("S2-54", "S2-56", "RUN-541", "TUI-11", "S2-36", "S0-P7")
def test_run_is_answered_on_the_screen_and_goes_on(world, terminal):
    project = RunProject(world)
    driving = world.ada.start("run", "gated", "Add login")
    try:
        first = project.ask(1)
        open_tui(terminal, "tui", "--as", "ada")
        terminal.until("Waiting for you (1)")
        terminal.type("", "Tab")
        terminal.until("‖ waiting")
        terminal.type("", "Enter")
        terminal.until("╭─ Calls ─")
        seen = terminal.until("#1 asker ‖ waiting")
        assert "Status: ‖ Waiting for human" in seen and "Reason: Which ␛[1mway?" in seen
        terminal.type("", "a")
        terminal.until(f"{first.id}: text")
        terminal.type("left, past the old mill")
        terminal.until("past the old mill")
        terminal.type("", "C-s")
        terminal.until(f"Recorded: {first.id} is answered")
        gate = eventually(lambda: (found := project.ask(1)).id != first.id and found)
        terminal.until("Reason: Deploy?")
        terminal.type("", "a")
        terminal.until(f"{gate.id}: approval")
        terminal.type("y")
        terminal.until("(•) y  Yes, approve it")
        assert world.get(gate.id).pending
        terminal.type("", "Enter")
        terminal.until("Status: ✓ Completed")
        terminal.until("Result: deployed")
        terminal.type("", "Down", "Up", "Enter")
        assert "╭─ Run 1, call 1 ─" in terminal.until("Turn 1 of asker: the agent")
        terminal.type("l")
        terminal.until("1 asker  asker has begun ␛[31m")
        terminal.type("", "Escape")
        terminal.until("Run 1, call 1: run('asker')")
        terminal.type("d")
        assert "Changes of run 1, call 1" in terminal.until("Nothing has changed.")
        terminal.type("", "Escape")
        terminal.until("Run 1, call 1: run('asker')")
        terminal.type("", "Escape")
        terminal.until("Result: deployed")
        terminal.tmux("resize-window", "-x", "200", "-y", "50")
        terminal.until(f"╭─ Run 1: gated: Add login {'─' * 170}")
        terminal.tmux("resize-window", "-x", "60", "-y", "15")
        terminal.until(f"╭─ Run 1: gated: Add login {'─' * 32}╮")
        terminal.type("", "q")
        terminal.until("exit code 0")
        assert driving.wait(20) == 0
    finally:
        driving.kill()
        driving.communicate()
    settled = world.get(first.id)
    assert (settled.value, settled.settled_by) == ("left, past the old mill", "person:ada")


@pytest.mark.proves("S2-1", "S2-60", "S2-61", "RUN-555")
def test_session_takes_the_terminal_and_the_tui_comes_back(world, terminal):
    desk = Desk(world)
    run = desk.run(NEEDS)
    (asked,) = desk.store.asks.pending_of_run(run.id)
    open_tui(terminal, "tui", "--as", "ada")
    terminal.until("Waiting for you (1)")
    terminal.type("", "c")
    seen = terminal.until("at your service")
    assert "Opening the session for: coder\nReason: Which way?" in seen
    terminal.type("", "C-c")
    terminal.until("interrupted")
    terminal.tmux("resize-window", "-x", "100", "-y", "30")
    terminal.until("resized 100")
    terminal.type("exit", "Enter")
    terminal.until("The agent gave no new signal, so run 1 keeps waiting")
    terminal.until("Press Enter to go back.")
    terminal.type("", "Enter")
    terminal.until(f"╭─ Waiting for you {'─' * 80}")
    assert desk.store.asks.get(asked.id).pending
    terminal.type("", "Tab", "Enter")
    terminal.until("[c] Continue (open session)  [s] Stop  [o] Open editor  [a] Answer")
    terminal.type("", "c")
    terminal.until("at your service")
    terminal.type("DONE", "Enter")
    terminal.until("signalled DONE")
    terminal.type("exit", "Enter")
    terminal.until("Status: ○ Ready")
    terminal.type("", "C-c")
    terminal.until("exit code 0")
    assert desk.store.asks.get(asked.id).settled_via == "session"


@pytest.mark.proves("RUN-555")
def test_session_that_cannot_open_says_why_in_the_tui(world, terminal):
    desk = Desk(world, join=None)
    desk.run(NEEDS)
    open_tui(terminal, "tui", "--as", "ada")
    terminal.until("Waiting for you (1)")
    terminal.type("", "c")
    terminal.until("coder has no session to join: add the command that opens it")
    terminal.type("", "q")
    terminal.until("exit code 0")


@pytest.mark.proves("S2-P1", "RUN-553", "TUI-14")
def test_bare_gate_always_opens_the_tui(world, terminal):
    terminal.environ["NO_COLOR"] = "1"
    open_tui(terminal)
    terminal.until("Nothing is waiting for you")
    add_run(world.store, state="stuck", agent="coder")
    terminal.type("", "Tab")
    terminal.until("■ stuck")
    assert not re.search(r"\x1b\[(\d+;)*[34][0-8]", terminal.tmux("capture-pane", "-p", "-e"))
    terminal.type("", "q")
    terminal.until("exit code 0")


@pytest.mark.proves("TUI-3", "RUN-545")
def test_form_and_secret_are_answered_on_the_smallest_screen(world, terminal):
    fields = {"name": {"type": "string"}, "channel": {"enum": ["stable", "beta"]}}
    schema = {"type": "object", "properties": fields}
    form = lone_ask(world.store, "Release?", "form", schema=schema)
    token = lone_ask(world.store, "Which token?", secret=True)
    open_tui(terminal, "tui", "--as", "ada", columns=40, rows=12)
    terminal.until("Release?")
    terminal.type("/elea", "Enter", "Enter")
    terminal.until("name (text, optional)")
    terminal.type("Ada", "Enter", "Down", "Enter")
    terminal.until(f"Recorded: {form.id} is answered")
    terminal.type("", "Escape")
    terminal.until("Which token?")
    terminal.type("", "Enter")
    terminal.until("Not shown, not kept")
    terminal.type("s3cret")
    terminal.until("••••••")
    terminal.type("", "Enter")
    assert "s3cret" not in terminal.until(f"Recorded: {token.id} is answered")
    terminal.type("", "q")
    terminal.until("exit code 0")
    assert world.get(form.id).value == {"name": "Ada", "channel": "beta"}


@pytest.mark.proves("TUI-4", "TUI-6", "TUI-7", "TUI-8", "TUI-11", "TUI-12", "TUI-13", "RUN-544")
def test_every_key_works_in_a_terminal(world, terminal):
    project = RunProject(world)
    assert world.ada.gate("run", "lost", "Find it").code
    edited = world.folder / "edited"
    terminal.environ["VISUAL"] = f"touch {edited}; true"
    yes = lone_ask(world.store, "Deploy?", "approval")
    which = lone_ask(world.store, "Which database?", "choice", options=("MySQL", "SQLite"))
    open_tui(terminal, "tui", "--as", "ada", columns=100, rows=30)
    terminal.until("Waiting for you (2)")
    terminal.type("?")
    terminal.until("mark yes or no; Enter sends it")
    terminal.type("", "Escape")
    terminal.until("KIND      QUESTION")
    terminal.type("jkGg/databa", "Enter")
    terminal.until("1 row with databa")
    terminal.type("b")
    terminal.until(f"Ask back: {which.id}")
    terminal.type("How large?", "Enter")
    terminal.until("is still waiting")
    terminal.type("2")
    terminal.until("(•) 2. SQLite")
    terminal.type("", "Enter")
    terminal.until(f"Recorded: {which.id} is answered: SQLite")
    terminal.type("", "Escape")
    terminal.until("Deploy?")
    terminal.type("n")
    terminal.until("(•) n  No, reject it")
    terminal.type("", "Enter")
    terminal.until(f"Recorded: {yes.id} is rejected")
    # A click on the second name of the line of lists.
    terminal.type("\x1b[<0;24;1M\x1b[<0;24;1m")
    terminal.until("Status: ■ Stuck")
    terminal.type("d")
    terminal.until("Nothing has changed.")
    terminal.type("", "Escape")
    terminal.until("Status: ■ Stuck")
    terminal.type("l")
    terminal.until("Log of run 1")
    terminal.type("", "Escape")
    terminal.until("Status: ■ Stuck")
    terminal.type("o")
    assert eventually(edited.exists)
    terminal.until("[q] Quit")
    terminal.type("s")
    terminal.until("Stop Run 1")
    terminal.type("Enough", "Enter")
    terminal.until("run 1 has already ended")
    terminal.type("r")
    terminal.until("no process drives runs now")
    terminal.type("q")
    terminal.until("exit code 0")
    assert [one.text for one in world.store.asks.messages(which.id)] == ["How large?"]
    assert project.run(1).state == "ready"
