"""`gate continue`: people at terminals in the session of an agent, one at a time."""

from __future__ import annotations

import os
import signal
import threading

import pytest
from tests.support.people import an_agent
from tests.support.sessions import FLOW, Desk, Screen, pid_in
from tests.support.waiting import eventually

from gatebell.adapters.system import processes
from gatebell.app.runtime import build_dependencies
from gatebell.domain.asks.answers import Given
from gatebell.domain.runs.identities import parse_identity
from gatebell.domain.runs.runs import RunChange
from gatebell.errors import (
    AgentRefusedError,
    AlreadySettledError,
    NotFoundError,
    RefusedError,
)
from gatebell.services.asks import answer_ask, create_ask
from gatebell.services.runs.run_journal import Drive
from gatebell.services.sessions import run_session

NEEDS = {"status": "NEEDS_HUMAN", "reason": "two ways", "question": "Which way?"}
DONE = {"status": "DONE", "summary": "by itself"}
GATE = """
from gatebell import flow, run, pause
@flow
def feature(prompt):
    run("coder", "Do it.")
    return bool(pause("Ship it?"))
"""
BRANCHES = """
from gatebell import flow, run
from gatebell.api.flows import parallel
@flow
def feature(prompt):
    both = parallel(lambda: run("coder", "One.").summary, lambda: run("slow", "Two.").summary)
    return both
"""


@pytest.fixture
def desk(world):
    return Desk(world)


@pytest.fixture
def screens():
    """Open terminals, and close them with their programs."""
    opened = []

    def keep(made):
        opened.append(made)
        return made

    yield keep
    for one in opened:
        one.close()


@pytest.mark.proves("RUN-351", "RUN-355", "S2-13", "S2-16", "S2-17", "S2-20", "S2-49", "S2-B21")
def test_signal_given_in_the_session_ends_the_wait(world, desk, screens):
    run = desk.run(NEEDS)
    assert run.state == "waiting_human"
    (asked,) = desk.store.asks.pending_of_run(run.id)
    ada = screens(Screen.joining(world.ada, run.id))
    pid_in(ada)
    announced = ada.seen.splitlines()[:2]
    assert announced == ["Opening the session for: coder", "Reason: Which way?"]
    ada.type("DONE\n")
    ada.until("signalled DONE")
    assert desk.store.asks.get(asked.id).pending, "nothing counts before they leave"
    ada.type("exit\n")
    assert ada.end() == 0, ada.seen
    assert f"Recorded for {asked.id}: DONE: talked over" in ada.seen
    assert f"Run {run.id} can go on: gate resume {run.id}" in ada.seen
    settled = desk.store.asks.get(asked.id)
    assert (settled.settled_by, settled.settled_via) == ("person:ada", "session")
    first, joined = desk.store.runs.turns(run.id)
    assert (joined.by, joined.session, joined.path) == ("person:ada", first.session, first.path)
    around = desk.around()
    assert around["GATE_TURN"] == joined.id and around["GATE_RUN"] == str(run.id)
    assert around["GATE_SESSION"] == around["AI_AGENT"] == first.session
    assert around["GATE_TOKEN"] is None, "an agent holds no person's token"
    over = desk.drive(run)
    assert (over.state, over.result) == ("completed", ["DONE", "talked over"])
    assert len((desk.project / "turns").read_text().split()) == 1, "the agent was told nothing"
    told = [entry.event for entry in desk.store.audit.of_subject(run.name)]
    kinds = [event.kind for event in told]
    assert kinds.index("session.joined") < kinds.index("session.left")
    assert all(event.actor == "person:ada" for event in told if event.kind[:8] == "session.")


@pytest.mark.proves("RUN-356", "S2-B8", "S2-B17", "S2-63", "S2-64")
def test_leaving_without_a_signal_keeps_the_run_waiting(world, desk, screens):
    run = desk.run(NEEDS, DONE)
    ada = screens(Screen.joining(world.ada, run.id))
    pid_in(ada)
    ada.type("exit\n")
    assert ada.end() == 11
    (asked,) = desk.store.asks.pending_of_run(run.id)
    for line in (
        f"The agent gave no new signal, so run {run.id} keeps waiting",
        f"gate continue {run.id} ",
        f"gate answer {asked.id} TEXT",
        f"gate signal {run.id} --status DONE",
    ):
        assert line in ada.seen
    assert desk.drive(run).state == "waiting_human", "who looks again finds it waiting"
    again = screens(Screen.joining(world.bob, asked.id))
    pid_in(again)
    again.type("fail\n")
    assert again.end() == 11 and "ended with exit code 3" in again.seen
    desk.world.ada.gate("answer", str(run.id), "left")
    assert desk.drive(run).result == ["DONE", "by itself"] and "left" in desk.read_heard(1)


@pytest.mark.proves("RUN-356", "S2-20")
def test_agent_that_still_needs_a_person_says_so(world, desk, screens):
    run = desk.run(NEEDS)
    ada = screens(Screen.joining(world.ada, run.id))
    pid_in(ada)
    ada.type("ask And which colour?\nexit\n")
    assert ada.end() == 11 and "still needs a person" in ada.seen
    (asked,) = desk.store.asks.pending_of_run(run.id)
    (message,) = desk.store.asks.messages(asked.id)
    assert (message.text, message.by_asker) == ("And which colour?", True)
    assert message.author.startswith("agent:command/")
    again = screens(Screen.joining(world.ada, run.id))
    pid_in(again)
    again.type("ask Which way?\nexit\n")
    assert again.end() == 11 and len(desk.store.asks.messages(asked.id)) == 1


@pytest.mark.proves("RUN-352", "S2-B18")
def test_two_people_cannot_hold_one_session(world, desk, screens):
    run = desk.run(NEEDS)
    ada = screens(Screen.joining(world.ada, run.id))
    pid_in(ada)
    bob = screens(Screen.joining(world.bob, run.id))
    assert bob.end() == 7
    assert "person:ada has had this session open since 20" in bob.seen
    assert f"in process {ada.pid}" in bob.seen and "gate answer a-" in bob.seen
    ada.type("exit\n")
    assert ada.end() == 11
    bob = screens(Screen.joining(world.bob, run.id))
    pid_in(bob)


@pytest.mark.proves("RUN-353", "S2-B18")
def test_killed_holders_leftovers_are_waited_for(world, desk, screens):
    run = desk.run(NEEDS)
    ada = screens(Screen.joining(world.ada, run.id))
    program = pid_in(ada)
    ada.type("DONE\nstay\n")
    ada.until("staying")
    os.kill(ada.pid, signal.SIGKILL)
    assert ada.end() == -signal.SIGKILL
    bob = screens(Screen.joining(world.bob, run.id))
    assert bob.end() == 7
    assert f"its gate continue has ended, but process {program} (" in bob.seen
    assert desk.drive(run).state == "waiting_human"
    assert not desk.store.runs.turns(run.id)[-1].ended_at
    os.kill(program, signal.SIGKILL)
    turn = desk.store.runs.turns(run.id)[-1]
    eventually(lambda: not processes.find_marked(("GATE_TURN", turn.id)))
    bob = screens(Screen.joining(world.bob, run.id))
    assert bob.end() == 6 and "was already answered by person:ada" in bob.seen
    _, adas = desk.store.runs.turns(run.id)
    assert adas.ended_at and adas.signal["status"] == "DONE", "what was reported counts"
    assert desk.drive(run).result == ["DONE", "talked over"]


@pytest.mark.proves("SES-172", "RUN-382")
def test_waiting_run_names_orphans_and_continues(world, desk, screens):
    run = desk.run(NEEDS)
    ada = screens(Screen.joining(world.ada, run.id))
    program = pid_in(ada)
    ada.type("DONE\nstay\n")
    ada.until("staying")
    os.kill(ada.pid, signal.SIGKILL)
    assert ada.end() == -signal.SIGKILL
    waits = screens(Screen(world.bob, "resume", str(run.id), "--as", "bob"))
    waits.until(f"has left, but process {program} (")
    os.kill(program, signal.SIGKILL)
    assert waits.end() == 0 and waits.seen.count("has left, but process") == 1
    assert desk.store.runs.get(run.id).result == ["DONE", "talked over"]


@pytest.mark.proves("RUN-353", "RUN-358")
def test_program_learns_that_its_holder_was_killed(world, desk, screens):
    run = desk.run(NEEDS, DONE)
    ada = screens(Screen.shell(world.ada))
    ada.until("$ ")
    ada.line("continue", str(run.id), "--as", "ada")
    pid_in(ada)
    turn = desk.store.runs.turns(run.id)[-1]
    os.kill(parse_identity(turn.process).pid, signal.SIGKILL)
    eventually(lambda: not processes.find_marked(("GATE_TURN", turn.id)))
    (asked,) = desk.store.asks.pending_of_run(run.id)
    answer_ask.answer(desk.store, asked.id, desk.caller(), Given("left"))
    desk.drive(run)
    assert "left" in desk.read_heard(1), "the session was taken back"


@pytest.mark.proves("RUN-354")
def test_agents_cannot_join_and_busy_agents_are_not_joined(world, desk, screens):
    run = desk.run(NEEDS)
    agent = screens(Screen(world.claude, "continue", str(run.id)))
    assert agent.end() == 7 and "only a person opens an agent's session" in agent.seen
    (asked,) = desk.store.asks.pending_of_run(run.id)
    with pytest.raises(AgentRefusedError):
        run_session.open_visit(desk.store, build_dependencies(desk.store), asked.id, an_agent())
    turn = desk.store.runs.turns(run.id)[-1]
    busy = turn._replace(id="t-busy", ended_at=None, signal=None)
    now = desk.store.runs.get(run.id)
    assert desk.store.runs.change(RunChange(now, turns=(busy,)), now)
    with pytest.raises(RefusedError, match=r"coder is at work in this session now .*gate stop"):
        run_session.open_visit(desk.store, build_dependencies(desk.store), asked.id, desk.caller())


@pytest.mark.proves("RUN-351", "RUN-355", "RUN-384", "RUN-385", "S2-32")
def test_person_at_a_gate_looks_first_and_then_decides(world, desk, screens):
    run = desk.run(DONE, flow=GATE)
    (asked,) = desk.store.asks.pending_of_run(run.id)
    assert asked.question.kind == "approval"
    ada = screens(Screen.joining(world.ada, run.id))
    pid_in(ada)
    assert ada.seen.startswith("Opening the session for: coder\nReason: Ship it?\n")
    ada.type("APPROVED\n")
    ada.until("signalled")
    ada.type("exit\n")
    quoted = ada.until("The session proposes, in the agent's words: APPROVED")
    ada.until("Only your input here counts.", after=quoted)
    ada.until("yes or no (Enter: not yet): ", after=quoted)
    ada.type("\n")
    assert ada.end() == 11 and f"gate answer {asked.id}" in ada.seen
    assert desk.store.asks.get(asked.id).pending and desk.drive(run).state == "waiting_human"
    joined = run_session.open_visit(
        desk.store, build_dependencies(desk.store), asked.id, desk.caller()
    )
    desk.store.runs.offer(joined.turn.id, {"status": "APPROVED"})
    assert run_session.leave(desk.store, joined, desk.caller()).ask.pending, "no model approves"
    assert desk.store.runs.turn(joined.turn.id).signal is None
    again = screens(Screen.joining(world.ada, run.id))
    pid_in(again)
    again.type("exit\n")
    again.until("yes or no (Enter: not yet): ")
    assert "The session proposes" not in again.seen, "it gave no signal this time"
    again.type("yes\n")
    again.until("Note (optional): ")
    again.type("\n")
    assert again.end() == 0 and f"Recorded: {asked.id} is approved" in again.seen
    assert desk.drive(run).result is True


@pytest.mark.proves("RUN-385", "LAW-3")
def test_gate_answered_during_a_visit_asks_nothing_afterwards(world, desk, screens):
    run = desk.run(DONE, flow=GATE)
    ada = screens(Screen.joining(world.ada, run.id))
    pid_in(ada)
    world.bob.gate("answer", str(run.id), "no")
    ada.type("exit\n")
    assert ada.end() == 6 and "was already answered by person:bob" in ada.seen
    assert "yes or no" not in ada.seen


@pytest.mark.proves("RUN-355")
def test_same_question_asked_again_is_another_question(desk):
    wants = FLOW.replace('"Do it."', '"Do it.", returns={"type": "integer"}')
    run = desk.run(NEEDS, NEEDS, flow=wants)
    for value in ("no number", 7):
        (asked,) = desk.store.asks.pending_of_run(run.id)
        joined = run_session.open_visit(
            desk.store, build_dependencies(desk.store), asked.id, desk.caller()
        )
        desk.store.runs.offer(joined.turn.id, {"status": "DONE", "value": value})
        assert run_session.leave(desk.store, joined, desk.caller()).ask.settled_via == "session"
        assert desk.store.runs.get(run.id).state == "ready"
        run = desk.drive(run)
    assert run.state == "completed"


@pytest.mark.proves("RUN-357")
def test_crash_before_the_ask_is_settled_is_not_misread(desk, monkeypatch):
    run = desk.run(NEEDS, DONE)
    (asked,) = desk.store.asks.pending_of_run(run.id)
    joined = run_session.open_visit(
        desk.store, build_dependencies(desk.store), asked.id, desk.caller()
    )
    desk.store.runs.offer(joined.turn.id, {"status": "BLOCKED"})

    def kill(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(answer_ask, "answer", kill)
        with pytest.raises(KeyboardInterrupt):
            run_session.leave(desk.store, joined, desk.caller())
    assert not desk.store.runs.turn(joined.turn.id).ended_at, "it is settled and closed at once"
    assert desk.drive(run).state == "waiting_human", "its holder lives"
    assert run_session.leave(desk.store, joined, desk.caller()).ask.settled_via == "session"
    assert desk.drive(run).result == ["BLOCKED", ""]
    assert not (desk.project / "heard-1").exists(), "the agent is sent no answer"


@pytest.mark.proves("RUN-352", "RUN-355")
def test_first_answer_wins_over_the_session(desk):
    run = desk.run(NEEDS, DONE)
    (asked,) = desk.store.asks.pending_of_run(run.id)
    joined = run_session.open_visit(
        desk.store, build_dependencies(desk.store), asked.id, desk.caller()
    )
    desk.store.runs.offer(joined.turn.id, {"status": "BLOCKED"})
    answer_ask.answer(desk.store, asked.id, desk.caller("bob"), Given("left"))
    assert desk.drive(run).state == "ready", "it waits until the session is free"
    left = run_session.leave(desk.store, joined, desk.caller())
    assert isinstance(left.problem, AlreadySettledError) and "person:bob" in str(left.problem)
    with pytest.raises(AlreadySettledError):
        run_session.open_visit(desk.store, build_dependencies(desk.store), asked.id, desk.caller())
    assert desk.drive(run).result == ["DONE", "by itself"] and "left" in desk.read_heard(1)


@pytest.mark.proves("RUN-359")
def test_run_that_cannot_be_joined_says_why(world, screens):
    desk = Desk(world, join=None)
    run = desk.run(NEEDS)
    told = world.ada.gate("continue", str(run.id), "--as", "ada")
    assert told.code == 2 and "without a terminal" in told.err
    ada = screens(Screen.joining(world.ada, run.id))
    assert ada.end() == 2 and "coder has no session to join: add the command" in ada.seen
    assert len(desk.store.runs.turns(run.id)) == 1, "nobody holds what could not be opened"
    lonely, answered = world.ask("Why?"), world.ask("How?")
    assert world.bob.gate("answer", answered, "so").code == 0
    for named, code, words in (
        ("101", 5, "there is no run 101"),
        (lonely, 2, f"{lonely} does not belong to a run"),
        (answered, 6, f"{answered} was already answered by person:bob"),
    ):
        one = screens(Screen.joining(world.ada, named))
        assert one.end() == code and words in one.seen
    desk.write_role("coder", 'command: ["x"]\njoin: ["./not-there"]')
    ada = screens(Screen.joining(world.ada, run.id))
    assert ada.end() == 1 and "there is no program" in ada.seen


@pytest.mark.proves("RUN-359", "RUN-351")
def test_run_without_an_agents_session_opens_nothing(desk):
    source = """
from gatebell import flow, run, pause
def work(text):
    return {"status": "NEEDS_HUMAN", "question": "Which?"}
@flow
def feature(prompt):
    if pause("Begin?"):
        run(work)
"""
    run = desk.run(flow=source)
    (asked,) = desk.store.asks.pending_of_run(run.id)
    with pytest.raises(NotFoundError, match="no agent has worked in it yet"):
        run_session.open_visit(desk.store, build_dependencies(desk.store), asked.id, desk.caller())
    answer_ask.answer(desk.store, asked.id, desk.caller(), Given("yes"))
    assert desk.drive(run).state == "waiting_human"
    (asked,) = desk.store.asks.pending_of_run(run.id)
    with pytest.raises(NotFoundError, match="a Python function has no session"):
        run_session.open_visit(desk.store, build_dependencies(desk.store), asked.id, desk.caller())


@pytest.mark.proves("RUN-366")
def test_session_that_ends_after_the_look_counts(desk, monkeypatch):
    """The person leaves after the drive has read the turns, and before it reads the ask."""
    visits, look_again = [], Drive.look_again

    def visit_once(drive):
        look_again(drive)
        if not visits:
            (asked,) = desk.store.asks.pending(9)
            visits.append(
                joined := run_session.open_visit(
                    desk.store, build_dependencies(desk.store), asked.id, desk.caller()
                )
            )
            desk.store.runs.offer(joined.turn.id, {"status": "DONE", "summary": "worked out"})
            run_session.leave(desk.store, joined, desk.caller())

    monkeypatch.setattr(Drive, "look_again", visit_once)
    desk.write_role("slow", 'command: ["/usr/bin/python3", "quick.py"]')
    (desk.project / "quick.py").write_text("""print('{"status": "DONE", "summary": "quick"}')\n""")
    ended = desk.run(NEEDS, flow=BRANCHES)
    assert visits and ended.result == ["worked out", "quick"], ended.error


@pytest.mark.proves("RUN-366")
@pytest.mark.parametrize("when", ["before", "after"])
def test_branch_continues_with_its_session_result_while_another_works(desk, monkeypatch, when):
    """A person joins before the drive has parked the branch, or after."""
    joins, look_again = [], Drive.look_again

    def join_once(drive):
        if when == "after":
            look_again(drive)
        if not joins:
            (asked,) = desk.store.asks.pending(9)
            joins.append(
                run_session.open_visit(
                    desk.store, build_dependencies(desk.store), asked.id, desk.caller()
                )
            )
        if when == "before":
            look_again(drive)

    monkeypatch.setattr(Drive, "look_again", join_once)
    slow = "import os, sys, time\nsys.stdin.read()\n"
    slow += "while not os.path.exists('go'): time.sleep(0.01)\n"
    slow += """print('{"status": "DONE", "summary": "slow"}')\n"""
    (desk.project / "slow.py").write_text(slow)
    desk.write_role("slow", 'command: ["/usr/bin/python3", "slow.py"]')
    ended = []
    work = lambda: ended.append(desk.run(NEEDS, flow=BRANCHES))  # noqa: E731 - of one line
    # A daemon: a failure here must not leave the agent waiting.
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    (joined,) = eventually(lambda: joins)
    number = joined.turn.run
    assert desk.store.runs.get(number).state == "running"
    desk.store.runs.offer(joined.turn.id, {"status": "DONE", "summary": "worked out"})
    assert run_session.leave(desk.store, joined, desk.caller()).ask.settled_via == "session"

    def went_on():
        calls = {call.path: call for call in desk.store.runs.calls(number)}
        return calls["1.1.1"].state == "recorded" and calls["1.2.1"].state == "open"

    eventually(went_on)
    (desk.project / "go").touch()
    thread.join(20)
    assert ended[0].result == ["worked out", "slow"], ended[0].error


@pytest.mark.proves("S2-74")
def test_editor_is_opened_at_the_folder_first(world, desk, screens):
    run = desk.run(NEEDS)
    editor = world.folder / "editor"
    editor.write_text('#!/bin/sh\npwd > edited\necho "$1" >> edited\nread line\n')
    editor.chmod(0o755)
    nothing = screens(Screen.joining(world.ada, run.id, "--editor", PATH="/usr/bin:/bin"))
    assert nothing.end() == 2 and "set $VISUAL or $EDITOR" in nothing.seen
    ada = screens(Screen.joining(world.ada, run.id, "--editor", VISUAL=str(editor)))
    ada.until("Reason: ")
    ada.type("a line for the editor\n")
    pid_in(ada)
    folder = str(desk.project)
    assert (desk.project / "edited").read_text().split() == [folder, folder]
    ada.type("exit\n")
    assert ada.end() == 11


@pytest.mark.proves("RUN-358", "S2-61")
def test_keys_and_resizing_reach_the_program_alone(world, desk, screens):
    run = desk.run(NEEDS)
    ada = screens(Screen.joining(world.ada, run.id))
    before = ada.modes()
    pid_in(ada)
    ada.type("\x03")
    ada.until("interrupted")
    ada.resize(77)
    ada.until("resized 77")
    ada.type("DONE\n")
    ada.until("signalled")
    ada.type("fault\n")
    assert ada.end() == 0, "what it signalled counts though it crashed"
    assert "ended by signal 11" in ada.seen and "\x1b[?25h" in ada.seen
    assert ada.modes() == before, "the terminal is as it was"


@pytest.mark.proves("RUN-358")
def test_session_stopped_by_ctrl_z_continues_as_one_job(world, desk, screens):
    run = desk.run(NEEDS)
    ada = screens(Screen.shell(world.ada))
    ada.until("$ ")
    ada.line("continue", str(run.id), "--as", "ada")
    pid_in(ada)
    at = len(ada.seen)
    ada.type("\x1a")
    ada.until("Stopped", after=at)
    at = len(ada.seen)
    ada.type("echo in the $((20 + 3))\n")
    ada.until("in the 23", after=at)
    bob = screens(Screen.joining(world.bob, run.id))
    assert bob.end() == 7, "a stopped session is held"
    at = len(ada.seen)
    ada.type("fg\n")
    ada.type("DONE\n")
    ada.until("signalled DONE", after=at)
    ada.type("exit\n")
    ada.until("Recorded for", after=at)
    at = len(ada.seen)
    ada.type("echo back $((40 + 2))\n")
    ada.until("back 42", after=at)


@pytest.mark.proves("RUN-358", "RUN-355")
@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGTERM])
def test_ending_gate_leaves_the_session(world, desk, screens, number):
    run = desk.run(NEEDS)
    (asked,) = desk.store.asks.pending_of_run(run.id)
    ada = screens(Screen.joining(world.ada, run.id))
    program = pid_in(ada)
    ada.type("DONE\n")
    ada.until("signalled")
    os.kill(ada.pid, number)
    assert ada.end() == 0
    assert desk.store.asks.get(asked.id).settled_via == "session"
    assert processes.identify(program) is None
    assert create_ask.get(desk.store, asked.id).settled_by == "person:ada"
