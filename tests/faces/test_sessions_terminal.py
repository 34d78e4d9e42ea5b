"""`gate continue` on a session ask: the user's program in a terminal, then the decision."""

from __future__ import annotations

import json
import os
import pty
import signal
import sys
from pathlib import Path

import pytest
from tests.support.session_desk import FLOW, SCHEMA, TALKATIVE, Desk
from tests.support.sessions import Screen, pid_in
from tests.support.waiting import eventually

from gatebell.adapters.system import processes
from gatebell.domain.asks.answers import Given
from gatebell.domain.asks.asks import Origin
from gatebell.domain.runs.identities import parse_identity
from gatebell.domain.sessions.visits import GRACE_SECONDS, Terms
from gatebell.errors import NotAnsweredError
from gatebell.services.asks import answer_ask

# The program `gate`, with shorter waits.
HASTY = """
import sys
from gatebell.cli import main
from gatebell.cli.sessions import ask_visit, terminal_handover
ask_visit.GRACE_SECONDS, terminal_handover._LEAVE_SECONDS = 0.6, 1
sys.exit(main.program())
"""


@pytest.fixture
def desk(world):
    return Desk(world)


@pytest.fixture
def opened(desk):
    screens = []

    def keep(*args, **more):
        screens.append(desk.open_session(*args, **more))
        return screens[-1]

    yield keep
    for one in screens:
        one.close()


def decide(screen, word, prompt="yes or no (Enter: not yet): "):
    screen.until(prompt)
    screen.type(f"{word}\n")


@pytest.mark.proves("SES-50", "S0-57", "S0-61", "S0-65", "S0-69", "S0-107", "S0-108", "S0-118")
@pytest.mark.proves("S0-45", "S0-62", "S0-119", "S0-P4", "LAW-3")
def test_session_runs_in_the_terminal_and_is_decided_afterwards(desk, opened):
    ask = desk.ask()
    waiter = desk.world.plain.start("wait", ask.id)
    ada = opened(ask)
    pid_in(ada)
    announced = ada.seen.splitlines()
    assert announced[0] == f"Opening the session for: {ask.id}"
    assert announced[1] == "Question: Is the schema good?"
    assert "Leave it as usual" in announced[-2]
    (visit,) = desk.store.asks.visits(ask.id)
    program = parse_identity(eventually(lambda: desk.store.asks.visit(visit.id).program))
    assert processes.lives(program)
    around = desk.around()
    assert around["GATE_TURN"] == visit.id
    assert (around["GATE_ASK"], around["cwd"]) == (ask.id, str(desk.project))
    assert around["AI_AGENT"] == around["GATE_SESSION"] == visit.session
    assert around["GATE_TOKEN"] is None, "whoever has the token decides"
    ada.type("exit\n")
    ada.until("yes or no (Enter: not yet): ")
    assert desk.store.asks.get(ask.id).pending, "nothing is decided by leaving"
    decide(ada, "yes")
    ada.until("Note (optional): ")
    ada.type("\n")
    assert ada.end() == 0, ada.seen
    settled = desk.store.asks.get(ask.id)
    assert (settled.decision, settled.settled_by) == ("approved", "person:ada")
    assert settled.settled_via == "session" and desk.visits(ask) == [("person:ada", "left")]
    came = desk.outcome(ask)
    assert (came.outcome, came.response, came.attempts) == ("completed", "approved", 1)
    assert came.transcript is None and came.duration_ms > 0
    out, _ = waiter.communicate(timeout=60)
    assert (waiter.returncode, out) == (0, "approved\n")


@pytest.mark.proves("SES-51", "S0-60", "S0-66", "S0-67", "S0-101", "S0-B30")
def test_agent_finds_question_and_context_in_a_file(desk, opened):
    context = {"diff": "+x\n" * 350_000, "fence": "```"}
    ask = desk.ask(
        prompt="--help me\nwith this", context=context, terms=Terms(system_prompt="Be kind.")
    )
    ada = opened(ask)
    pid_in(ada)
    path = Path(desk.around()["GATE_PROMPT_FILE"])
    assert desk.around()["words"] == [f"--read={path}"]
    assert str(path.parent) == f"{desk.world.path}-sessions/{ask.id}"
    modes = [folder.stat().st_mode & 0o777 for folder in path.parents[:2]]
    assert modes == [0o700, 0o700]
    assert path.read_text().startswith("--help me\nwith this\n\n## Context\n")
    assert json.loads((path.parent / "context.json").read_text()) == context
    assert (path.parent / "system.md").read_text() == "Be kind."
    ada.type("exit\n")
    decide(ada, "as it is", "Your answer (Enter: not yet): ")
    assert ada.end() == 0 and desk.outcome(ask).response == "as it is"


@pytest.mark.proves("SES-52", "S0-106", "S0-117")
def test_not_yet_keeps_it_waiting_and_the_next_continues(desk, opened):
    ask = desk.ask(Terms("choice"), options=("Left", "Right"))
    ada = opened(ask)
    pid_in(ada)
    first = desk.around()["GATE_SESSION"]
    bob = opened(ask, desk.world.bob)
    assert bob.end() == 7 and "person:ada has had this session open since" in bob.seen
    ada.type("exit\n")
    decide(ada, "", "a number or a name (Enter: not yet): ")
    assert ada.end() == 11 and f"Not answered; {ask.id} is still waiting." in ada.seen
    bob = opened(ask, desk.world.bob)
    pid_in(bob)
    assert desk.around()["GATE_SESSION"] == first
    bob.type("exit\n")
    decide(bob, "2", "a number or a name (Enter: not yet): ")
    assert bob.end() == 0 and desk.outcome(ask).response == "Right"
    assert desk.visits(ask) == [("person:ada", "left"), ("person:bob", "left")]


@pytest.mark.proves("SES-53", "S0-B25")
@pytest.mark.parametrize(
    ("environ", "words"),
    [
        ({"GATE_SESSION_COMMAND": "not-there {prompt_file}"}, "not-there is not found in"),
        ({"GATE_SESSION_COMMAND": "/bin/false"}, "ended with exit code 1 before anything was said"),
        ({"GATE_SESSION_COMMAND": "sh -c 'kill -9 $$'"}, "was ended by signal 9"),
    ],
    ids=["missing", "fails", "killed"],
)
def test_failed_attempt_is_recorded_and_the_ask_stays(desk, opened, environ, words):
    ask = desk.ask(Terms("approval", max_attempts=2))
    ada = opened(ask, **environ)
    assert ada.end() == 1 and words in ada.seen
    assert f"Try again: gate continue {ask.id}" in ada.seen
    assert desk.visits(ask) == [("person:ada", "failed")]
    assert words in desk.store.asks.visits(ask.id)[0].problem
    assert desk.store.asks.get(ask.id).pending and desk.outcome(ask).decision is None
    ada = opened(ask, **environ)
    assert ada.end() == 4 and f"{ask.id} has failed: the last attempt" in ada.seen
    assert desk.outcome(ask).outcome == "failed"


@pytest.mark.proves("SES-62", "LAW-10")
@pytest.mark.parametrize("first", ["not-there", "/bin/false"], ids=["missing", "fails"])
def test_another_program_can_open_an_unstarted_session(desk, opened, first):
    ask = desk.ask()
    for wanted in ("command", "claude"):
        ada = opened(ask, None, "--with", wanted, GATE_SESSION_COMMAND=first, PATH="/bin")
        assert ada.end() == 1
        problem, still, other = ada.seen.splitlines()[-3:]
        assert problem.startswith("gate: ") and f"Try again: gate continue {ask.id}" in still
        assert other == f"Or answer without a session: gate answer {ask.id}"
    assert [one.cli for one in desk.store.asks.visits(ask.id)] == ["command", "claude"]
    ada = opened(ask, None, "--with", "command")
    pid_in(ada)
    ada.type("exit\n")
    decide(ada, "")
    assert ada.end() == 11
    last = f"To open it again: gate continue {ask.id}   To answer: gate answer {ask.id}"
    assert ada.seen.splitlines()[-1] == last
    ada = opened(ask, None, "--with", "claude")
    ada.until(f"{ask.id} was started in command and continues there.")
    pid_in(ada)
    ada.type("exit\n")
    decide(ada, "")


@pytest.mark.proves("SES-177")
@pytest.mark.parametrize("word", ["n", "", "y"])
def test_session_of_a_client_opens_after_a_yes(desk, opened, word):
    origin = Origin(
        cwd=str(desk.project), session="http-0a1b2c3d/claude", started_by="person:ci\x1b[2J"
    )
    terms = Terms("approval", system_prompt="Approve\x1b[2J everything")
    ask = desk.ask(terms, origin=origin)
    ada = opened(ask)
    ada.until(f"Open {ask.id} here? [y/N] ")
    assert "person:ci␛[2J asked for this session over HTTP" in ada.seen
    assert f"Folder: {desk.project}" in ada.seen and "│ Approve␛[2J everything" in ada.seen
    assert desk.visits(ask) == []
    ada.type(f"{word}\n")
    if word != "y":
        assert ada.end() == NotAnsweredError.exit_code
        assert f"gate answer {ask.id}" in ada.seen and desk.visits(ask) == []
        return
    pid_in(ada)
    ada.type("exit\n")
    decide(ada, "")
    assert ada.end() == NotAnsweredError.exit_code
    again = opened(ask)
    pid_in(again)
    assert "[y/N]" not in again.seen, "a person here has seen the terms"


@pytest.mark.proves("SES-64")
def test_inbox_tells_the_way_into_a_session(desk):
    plain = desk.world.ask("Why?")
    assert "gate continue" not in desk.world.ada.gate("inbox").out
    assert desk.world.bob.gate("answer", plain, "so").code == 0
    ask = desk.ask()
    told = desk.world.ada.gate("inbox").out
    assert f"Answer: gate answer {ask.id}   With an agent: gate continue {ask.id}   One" in told


@pytest.mark.proves("SES-63")
@pytest.mark.parametrize("words", ["cat", "sh -c 'trap \"exit 130\" INT; cat'"])
def test_leaving_with_ctrl_c_leads_to_the_decision(desk, opened, words):
    ask = desk.ask()
    ada = opened(ask, GATE_SESSION_COMMAND=words)
    ada.until("Leave it as usual")
    ada.type("heard\n")
    ada.until("heard\nheard")
    ada.type("\x03")
    decide(ada, "")
    assert ada.end() == 11 and desk.visits(ask) == [("person:ada", "left")]


@pytest.mark.proves("SES-54", "S0-63", "S0-104", "S0-111")
@pytest.mark.parametrize("stays", [False, True], ids=["polite", "forced"])
def test_session_warns_at_its_time_limit_and_then_ends(desk, opened, stays):
    ask = desk.ask(Terms("approval", session_seconds=0.5))
    ada = opened(ask, gate=HASTY)
    before = ada.modes()
    program = pid_in(ada)
    assert "You have 1 seconds; a bell rings" in ada.seen
    if stays:
        ada.type("stay\n")
    ada.until("\a\x1b]0;Time is over: this session ends in 1 seconds\a")
    assert processes.identify(program), "there is some grace"
    assert GRACE_SECONDS == 60
    assert ada.end() == 3 and f"{ask.id} timed out at" in ada.seen
    assert processes.identify(program) is None and ada.modes() == before
    assert desk.visits(ask) == [("person:ada", "time")]
    came = desk.outcome(ask)
    assert (came.outcome, came.decision, came.response) == ("timeout", None, None)
    (note,) = desk.store.notes.newest(9)
    assert f"{ask.id}: time is over" in note.text
    later = opened(ask)
    assert later.end() == 6


@pytest.mark.proves("SES-55")
def test_session_ends_when_the_ask_is_settled_elsewhere(desk, opened):
    ask = desk.ask()
    ada = opened(ask)
    program = pid_in(ada)
    answer_ask.answer(desk.store, ask.id, desk.caller_of("bob"), Given("no"))
    assert ada.end() == 6
    assert f"the session was ended because {ask.id} was already answered by person:bob" in ada.seen
    assert processes.identify(program) is None
    assert desk.visits(ask) == [("person:ada", "stopped")]


@pytest.mark.proves("SES-56", "S0-57")
def test_stopped_run_is_reported(desk, opened):
    run = desk.flows.run(flow=FLOW)
    (ask,) = desk.store.asks.pending_of_run(run.id)
    ada = opened(ask)
    pid_in(ada)
    told = desk.world.bob.gate("stop", str(run.id), "--reason", "wrong branch", "--as", "bob")
    assert told.code == 0, told.err
    assert ada.end() == 4 and f"run {run.id} was stopped: wrong branch" in ada.seen
    assert desk.visits(ask) == [("person:ada", "stopped")]


@pytest.mark.proves("SES-57", "S0-69")
def test_keys_and_resizing_work_and_kills_restore_the_terminal(desk, opened):
    ask = desk.ask()
    ada = opened(ask)
    before = ada.modes()
    pid_in(ada)
    ada.type("\x03")
    ada.until("interrupted")
    ada.resize(77)
    ada.until("resized 77")
    ada.type("crash\n")
    assert ada.end() == 1 and "was ended by signal 9" in ada.seen
    assert ada.modes() == before and "\x1b[?1004l" in ada.seen and "\x1b[?25h" in ada.seen


@pytest.mark.proves("SES-58", "S0-117", "LAW-1")
def test_session_killed_in_the_talk_is_free_and_continues(desk, opened):
    ask = desk.ask()
    ada = opened(ask)
    program = pid_in(ada)
    first = desk.around()["GATE_SESSION"]
    os.kill(ada.pid, signal.SIGKILL)
    assert ada.end() == -9
    eventually(lambda: processes.identify(program) is None)
    assert desk.visits(ask) == [("person:ada", "")], "nobody was left to say so"
    bob = opened(ask, desk.world.bob)
    pid_in(bob)
    assert desk.around()["GATE_SESSION"] == first
    assert desk.visits(ask) == [("person:ada", "lost"), ("person:bob", "")]
    bob.type("exit\n")
    bob.until("yes or no")
    os.kill(bob.pid, signal.SIGKILL)
    assert bob.end() == -9 and desk.visits(ask)[1] == ("person:bob", "left")
    ada = opened(ask)
    pid_in(ada)
    ada.type("exit\n")
    decide(ada, "no")
    ada.until("Reason (optional): ")
    ada.type("too wide\n")
    assert ada.end() == 0 and desk.store.asks.get(ask.id).note == "too wide"


@pytest.mark.proves("SES-58")
def test_program_ends_when_killed_under_a_living_shell(desk):
    ask = desk.ask()
    shell = Screen.shell(desk.world.ada, **desk.environ)
    try:
        shell.until("$ ")
        shell.line("continue", ask.id, "--as", "ada")
        program = pid_in(shell)
        (visit,) = desk.store.asks.visits(ask.id)
        os.kill(parse_identity(visit.process).pid, signal.SIGKILL)
        shell.until("Killed")
        eventually(lambda: processes.identify(program) is None)
    finally:
        shell.close()


@pytest.mark.proves("SES-59")
@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGTERM])
def test_terminated_session_is_left_and_asks_nothing(desk, opened, number):
    ask = desk.ask()
    ada = opened(ask)
    program = pid_in(ada)
    os.kill(ada.pid, number)
    assert ada.end() == 11, ada.seen
    assert processes.identify(program) is None
    assert desk.visits(ask) == [("person:ada", "left")] and desk.store.asks.get(ask.id).pending


@pytest.mark.proves("SES-60")
def test_failure_to_open_is_reported_before_the_visit_begins(desk, opened):
    ask, plain = desk.ask(), desk.world.get(desk.world.ask("Why?"))
    told = desk.world.ada.gate("continue", ask.id, "--as", "ada")
    assert told.code == 2 and "without a terminal" in told.err
    for words, environ, code, said in (
        (("--editor",), {"EDITOR": "true"}, 2, "has no run; omit it"),
        (
            (),
            {"GATE_SESSION_CLI": "vi"},
            2,
            "session_cli (GATE_SESSION_CLI): expected one of claude,",
        ),
        ((), {"GATE_SESSION_COMMAND": ""}, 2, "session_command is not set"),
        ((), {"GATE_SESSION_COMMAND": "a 'b"}, 2, "is not a command: No closing quotation"),
        ((), {"GATE_SESSION_COMMAND": "./talk"}, 2, "must begin with a name or an absolute path"),
    ):
        ada = opened(ask, None, *words, **environ)
        assert ada.end() == code and said in ada.seen
    ada = opened(plain, None, "--with", "claude")
    assert ada.end() == 2 and "--with is for session asks" in ada.seen
    assert desk.visits(ask) == []
    elsewhere = desk.ask(Terms("approval", resume_session="gemini/s1"))
    ada = opened(elsewhere)
    assert ada.end() == 2 and "no session can be opened in gemini" in ada.seen
    gone = desk.ask(Terms("approval", cwd="/nowhere"))
    ada = opened(gone)
    assert ada.end() == 1 and "cannot open the session in /nowhere" in ada.seen
    assert desk.visits(gone) == [("person:ada", "failed")]


@pytest.mark.proves("SES-61", "S0-64", "S0-105")
def test_form_begins_with_the_proposal_for_the_person(desk, opened):
    ask = desk.ask(Terms("form", capture_transcript=True), schema=SCHEMA)
    ada = opened(ask, gate=TALKATIVE)
    pid_in(ada)
    ada.type("exit\n")
    ada.until("port (whole number): ")
    assert 'The session proposes, in the agent\'s words: {"port": 8080}\n│ ' in ada.seen
    assert "Only your input here counts." in ada.seen and desk.store.asks.get(ask.id).pending
    ada.until("port (whole number): 8080")
    ada.type("\x7f1\n")
    assert ada.end() == 0, ada.seen
    came = desk.outcome(ask)
    assert came.response == {"port": 8081}
    assert came.transcript.startswith("person: 8080, please\n\nagent: ```json")


@pytest.mark.proves("SES-61", "LAW-6")
def test_persons_own_draft_comes_before_the_proposal(desk, opened):
    ask = desk.ask(Terms("form"), schema=SCHEMA)
    answer_ask.save_draft(desk.store, ask.id, desk.caller_of("ada"), '{"port": 9}')
    ada = opened(ask, gate=TALKATIVE)
    pid_in(ada)
    ada.type("exit\n")
    ada.until("port (whole number): 9")
    ada.type("\n")
    assert ada.end() == 0 and desk.outcome(ask).response == {"port": 9}


# Gets SIGHUP after the program was started, and before it is waited for.
STARTING = """
import os, signal, sys
from gatebell.cli.sessions import terminal_handover as handover
identify = handover.environment.identify
def late(pid):
    os.kill(os.getpid(), signal.SIGHUP)
    return identify(pid)
handover.environment.identify = late
sys.exit(40 + handover.run(["sleep", "60"], os.environ, ".").signalled)
"""


@pytest.mark.proves("SES-176")
def test_signal_while_the_program_starts_is_passed_on():
    pid, _ = pty.fork()
    if not pid:
        os.execv(sys.executable, [sys.executable, "-c", STARTING])
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 40 + signal.SIGHUP
