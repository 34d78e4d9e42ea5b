"""Agents that do not read, write without end, or leave processes, block no turn."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import threading
from contextlib import suppress

import pytest
from tests.support.agent_processes import SLEEP, TURN, Watched, order, pid_in, there
from tests.support.flow_harness import house, needs
from tests.support.people import a_person
from tests.support.waiting import eventually

from gatebell import flow, run
from gatebell.adapters.agents import agent_process, pipes
from gatebell.adapters.agents.claude import ClaudeDriver
from gatebell.adapters.agents.codex import CodexDriver
from gatebell.adapters.agents.command import CommandDriver
from gatebell.errors import GateError, MissingAgentError
from gatebell.ports.agents import Ruling
from gatebell.ports.workspaces import Place
from gatebell.services.sessions import run_session

__all__ = ["house"]

DRIVERS = {"command": CommandDriver(), "claude": ClaudeDriver(), "codex": CodexDriver()}
LONG = "x" * 1_000_000
BABBLE = "y" * 10_000
PATIENCE_SECONDS = 30
HELD = {"type": "readOnly", "networkAccess": False}
THREAD = {"approvalPolicy": "on-request", "sandbox": HELD, "thread": {"id": "x"}}
BEGIN_CODEX = "\n".join(
    f"read line; echo '{reply}'"
    for reply in ('{"id": 1, "result": {}}', "{}", json.dumps({"id": 2, "result": THREAD}))
)
RESULT = '{"type": "result", "subtype": "success", "result": "well"}'
ASK_CLAUDE = {
    "type": "control_request",
    "request_id": "1",
    "request": {"subtype": "can_use_tool", "tool_name": "T", "input": {}, "tool_use_id": "1"},
}
ASK_CODEX = {
    "id": 7,
    "method": "item/commandExecution/requestApproval",
    "params": {"itemId": "1", "command": "ls"},
}


class Agents:
    """Put test programs on the path under the names of all agents, and run turns."""

    def __init__(self, folder):
        self.folder = folder

    def order(self, cli, lines):
        """Return the program with these lines; codex runs until it is sent its turn."""
        program = self.folder / cli
        begin = BEGIN_CODEX if cli == "codex" else ""
        program.write_text(f"#!/bin/sh\n{begin}\n{lines}\n", encoding="utf-8")
        program.chmod(0o755)
        path = f"{self.folder}:{os.environ['PATH']}"
        made = order(self.folder, cli, turn=f"{TURN}-{self.folder.name}")
        return made._replace(
            session="" if cli == "codex" else made.session,
            environ={**made.environ, "PATH": path, "HOME": str(self.folder)},
            text=LONG,
        )

    def run(self, cli, lines, **events):
        """Return the end of the turn."""
        wanted, ended = self.order(cli, lines), []

        def run():
            ended.append(DRIVERS[cli].run(wanted, Watched().events(**events)))

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        thread.join(PATIENCE_SECONDS)
        assert ended, "the turn has no end"
        return ended[0]

    def escape(self, work):
        """Return lines that start an unmarked process outside the group, with all pipes."""
        left = self.folder / "left"
        line = f"exec 3<&0; env -i setsid sh -c 'echo $$ > {left}; exec {work}' <&3 &"
        return f"{line}\nuntil [ -s {left} ]; do :; done"

    def end_escaped(self):
        with suppress(FileNotFoundError, ProcessLookupError):
            os.kill(int((self.folder / "left").read_text(encoding="utf-8")), signal.SIGKILL)


@pytest.fixture
def agents(tmp_path):
    made = Agents(tmp_path)
    yield made
    made.end_escaped()


@pytest.mark.proves("RUN-117")
@pytest.mark.parametrize("cli", DRIVERS)
def test_held_input_does_not_block_the_turn(agents, cli):
    ended = agents.run(cli, f"{agents.escape(SLEEP)}\necho 'the end'")
    assert there(pid_in(agents.folder / "left")), "it was nobody's to end"
    if cli == "command":
        assert ended.ok and ended.words == "the end"
    else:
        assert not ended.ok and ended.problem


@pytest.mark.proves("RUN-117")
def test_agent_that_speaks_before_reading_gets_everything(agents):
    lines = f"yes {BABBLE} | head -c 5000000\necho\nwc -c"
    assert agents.run("command", lines).words.endswith(f"\n{len(LONG)}")


@pytest.mark.proves("RUN-117")
def test_agent_that_never_reads_is_not_waited_for_forever(agents):
    wanted = order(agents.folder, "unused", turn=f"{TURN}-deaf")

    def tell(program, *words):
        with agent_process.launch_agent([program, *words], wanted, Watched().events()) as agent:
            if program == "true":
                assert list(agent.lines()) == []
            for _ in range(100):
                agent.send(LONG.encode())

    with pytest.raises(GateError, match="did not read its input"):
        tell("sleep", "300")
    tell("true")


@pytest.mark.proves("RUN-117", "RUN-115")
def test_dismissed_agent_need_not_read(agents, monkeypatch):
    monkeypatch.setattr(agent_process, "_LEAVE_SECONDS", 0.1)
    asked = f"echo '{json.dumps(ASK_CLAUDE)}'\nuntil [ -e answered ]; do :; done"

    def permit(*_):
        (agents.folder / "answered").touch()
        return Ruling(allow=False, message=LONG)

    ended = agents.run("claude", f"{asked}\necho '{RESULT}'\n{SLEEP}", permit=permit)
    assert ended.ok and ended.words == "well"


@pytest.mark.proves("RUN-118")
def test_agent_waits_while_its_output_is_unread(agents):
    wanted = order(agents.folder, "unused", turn=f"{TURN}-full")
    size, done = 50_000_000, agents.folder / "done"
    line = f"echo $$ > pid; head -c {size} /dev/zero; echo > {done}"
    with agent_process.launch_agent(["/bin/sh", "-c", line], wanted, Watched().events()) as agent:
        pid_in(agents.folder / "pid")
        # The test checks that nothing happens, so no event can be awaited.
        threading.Event().wait(0.5)
        assert not done.exists()
        assert sum(map(len, agent.lines())) == size and done.exists()
    with agent_process.launch_agent(["yes"], wanted, Watched().events()) as agent:
        eventually(agent._heard.full)
    assert agent.problem(), "left in the middle, it is ended all the same"


@pytest.mark.proves("RUN-118")
@pytest.mark.parametrize("cli", ["claude", "codex"])
def test_line_that_is_too_long_is_not_a_success(agents, cli, monkeypatch):
    monkeypatch.setattr(agent_process, "_MAX_LINE_BYTES", 1_000_000)
    turn = {"id": 3, "result": {"turn": {"id": "1", "status": "completed"}}}
    over = {"method": "turn/completed", "params": turn["result"]}
    well = [RESULT] if cli == "claude" else [json.dumps(turn), json.dumps(over)]
    said = "; ".join(f"echo '{line}'" for line in well)
    assert agents.run(cli, said).ok
    ended = agents.run(cli, f"head -c 2000000 /dev/zero\necho\n{said}")
    assert not ended.ok and "a line of more than 1 MB" in ended.problem


@pytest.mark.proves("RUN-118")
def test_too_long_line_of_a_command_is_split(agents):
    heard = []
    lines = "head -c 3000000 /dev/zero | tr '\\0' x\necho the end"
    ended = agents.run("command", lines, said=lambda text: heard.append(len(text)))
    assert ended.ok and len(ended.words) < 1_000_001 and ended.words.endswith("xthe end")
    assert sum(heard) == 3_000_007 and len(heard) > 2 and max(heard) < 1_100_000


@pytest.mark.proves("RUN-119")
def test_output_after_the_end_does_not_block_the_turn(agents):
    ended = agents.run("command", f"{agents.escape(f'yes {BABBLE}')}\nexit 0")
    assert ended.ok and set(ended.words) <= set("y\n")
    eventually(lambda: not there(pid_in(agents.folder / "left")))


@pytest.mark.proves("RUN-119")
def test_output_after_the_end_is_limited_to_one_pipe(monkeypatch):
    monkeypatch.setattr(pipes, "CHUNK_BYTES", 100)
    monkeypatch.setattr(pipes, "_MAX_LAST_BYTES", 1_000)
    over, (end, other_end) = pipes.Over(), os.pipe()
    os.write(other_end, b"x" * 5_000)
    over.come()
    assert sum(map(len, pipes.read(end, over))) == 1_000
    os.close(other_end)
    os.close(end)
    over.close()


@pytest.mark.proves("RUN-119", "RUN-115")
def test_dismissed_agent_that_keeps_writing_is_ended(agents, monkeypatch):
    monkeypatch.setattr(agent_process, "_LEAVE_SECONDS", 0.1)
    still = {"type": "assistant", "message": {"content": [{"type": "text", "text": BABBLE}]}}
    # The reader is slower than the writer, so there is always something to read.
    ended = agents.run(
        "claude",
        f"echo '{RESULT}'\nexec yes '{json.dumps(still)}'",
        said=lambda _: threading.Event().wait(0.002),
    )
    assert ended.ok and ended.words == "well"


@pytest.mark.proves("RUN-119")
@pytest.mark.parametrize(("cli", "asks"), [("claude", ASK_CLAUDE), ("codex", ASK_CODEX)])
def test_turn_ends_with_its_agent_despite_an_open_question(agents, cli, asks):
    asked, decided = threading.Event(), threading.Event()

    def permit(*_):
        (agents.folder / "asked").touch()
        asked.set()
        decided.wait(PATIENCE_SECONDS)
        return Ruling(allow=True)

    lines = f"echo '{json.dumps(asks)}'\nuntil [ -e asked ]; do :; done"
    ended = agents.run(cli, lines, permit=permit)
    assert not ended.ok and asked.is_set() and not decided.is_set()
    decided.set()


@pytest.mark.proves("RUN-123")
def test_relative_path_belongs_to_the_project(tmp_path, monkeypatch):
    """Never one in the agent's folder or in that of the driver."""
    project, folder = tmp_path / "project", tmp_path / "worktree"
    for where in (project, folder):
        where.mkdir()
        (where / "tool").write_text(f"#!/bin/sh\necho {where.name}; pwd\n", encoding="utf-8")
        (where / "tool").chmod(0o755)
    wanted = order(folder, "./tool", join=("./tool", "--talk"))._replace(project=str(project))
    assert CommandDriver().run(wanted, Watched().events()).words == f"project\n{folder}"
    assert CommandDriver().join(wanted)[-2:] == [f"{project}/./tool", "--talk"]
    (project / "tool").unlink()
    monkeypatch.chdir(folder)
    for lost in (wanted, wanted._replace(project="")):
        with pytest.raises(MissingAgentError, match="there is no program"):
            CommandDriver().run(lost, Watched().events())


@pytest.mark.proves("RUN-123")
def test_run_uses_programs_of_the_project_not_its_worktree(house, tmp_path, monkeypatch):
    folder = tmp_path / "worktree"
    folder.mkdir()
    place = Place(str(folder), str(folder), "gate/run-1", "base")
    monkeypatch.setattr(house.folders, "make", lambda *_, **__: place)
    coder = house.agent("coder", needs("Which?"))
    monkeypatch.setattr(coder, "join", lambda order: [order.project, order.cwd], raising=False)
    over = house.go(flow(lambda _: run("coder").status), in_place=False)
    (order,) = coder.orders
    assert (order.project, order.cwd) == (over.project, str(folder)) == (house.folder, over.folder)
    joined = run_session.open_visit(
        house.store, house.dependencies(), house.ask().id, a_person("ada")
    )
    assert joined.words == [house.folder, str(folder)]


@pytest.mark.proves("PROJ-13")
@pytest.mark.parametrize("gone", [False, True])
def test_end_is_noticed_without_waitid(monkeypatch, gone):
    """As on macOS, where a kernel queue does not report a process that has ended."""
    waitid, flags = os.waitid, os.WEXITED | os.WNOWAIT
    child = subprocess.Popen(["/bin/cat"], stdin=subprocess.PIPE)

    class Queue:
        closed = False

        def control(self, changes, most):
            assert (changes, most) == ([(child.pid, 1, 3, 4)], 1)
            if gone:
                raise ProcessLookupError
            child.stdin.close()
            waitid(os.P_PID, child.pid, flags)

        def close(self):
            Queue.closed = True

    names = {"KQ_FILTER_PROC": 1, "KQ_EV_ADD": 1, "KQ_EV_ONESHOT": 2, "KQ_NOTE_EXIT": 4}
    for name, value in {**names, "kevent": lambda *words: words, "kqueue": Queue}.items():
        monkeypatch.setattr(select, name, value, raising=False)
    with monkeypatch.context() as mac:
        mac.setattr(sys, "platform", "darwin")
        mac.delattr(os, "waitid")
        agent_process._await_end(child.pid)
    child.stdin.close()
    assert child.wait(10) == 0 and Queue.closed
