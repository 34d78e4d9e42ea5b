"""Codex as an agent of a flow: the real program, driven through its app server."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import sys
import tempfile
import threading
from pathlib import Path
from uuid import uuid4

import pytest
from tests.support.waiting import eventually

from gatebell.adapters.agents.codex import CodexDriver
from gatebell.adapters.system import processes
from gatebell.domain.runs.identities import parse_identity
from gatebell.domain.runs.roles import Role
from gatebell.errors import MissingAgentError, UsageError
from gatebell.install.scripted_model import script, text, tool, tool_results
from gatebell.ports.agents import Ended, Events, Order, Ruling

SIGNAL = ".agents/signals/coder.json"
DRIVER = CodexDriver()
OTHER_SERVER = """
import json, sys
schema = {"type": "object", "properties": {"at": {"type": "string"}}}
for request in map(json.loads, sys.stdin):
    about = {
        "initialize": {
            "protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
            "serverInfo": {"name": "other", "version": "1"},
        },
        "tools/list": {"tools": [{"name": "launch", "inputSchema": schema}]},
        "tools/call": {"content": [{"type": "text", "text": "launched"}]},
    }
    if "id" in request:
        reply = {"jsonrpc": "2.0", "id": request["id"], "result": about.get(request["method"], {})}
        print(json.dumps(reply), flush=True)
"""


def patch(path):
    change = f"*** Begin Patch\n*** Add File: {path}\n+made\n*** End Patch"
    return tool("exec_command", cmd=f"apply_patch <<'END'\n{change}\nEND")


def beyond(command):
    """A command that the agent wants to run outside its sandbox."""
    why = {"sandbox_permissions": "require_escalated", "justification": "it must be"}
    return tool("exec_command", cmd=command, **why)


class Desk:
    """Runs the turns of codex, decides its requests, and records its input."""

    def __init__(self, house):
        self.house = house
        self.token = uuid4().hex
        self.ruling = Ruling(allow=True)
        self.process, self.session = "", ""
        self.asked, self.said, self.requests_when_met = [], [], None

    def turn(self, *steps, number=1, session="", fork_of="", **role):
        self.asked.clear()
        return DRIVER.run(self.order(number, session, fork_of, steps, **role), self.events)

    def order(self, number, session, fork_of="", steps=(), **role):
        turn_id = self.id(number)
        return Order(
            turn_id, Role("coder", "", "codex", **role), session, not session, fork_of,
            f"[turn {turn_id}] {script(steps)}", str(self.house.project),
            {"GATE_TURN": turn_id, "GATE_SIGNAL_FILE": SIGNAL},
        )  # fmt: skip

    def id(self, number):
        """The mark of a turn. Processes are found and ended by it, so each test needs its own."""
        return f"t-{self.token}-{number}"

    def was_turn_sent(self, session, number):
        return DRIVER.was_turn_sent(session, self.id(number))

    @property
    def events(self):
        return Events(self._starting, self._note_session, self._permit, self.said.append)

    def _starting(self, process):
        self.process = process

    def _note_session(self, session):
        self.session = session
        self.requests_when_met = len(self.house.model.requests)

    def _permit(self, name, given, call_id):
        self.asked.append((name, given, call_id))
        return self.ruling(name) if callable(self.ruling) else self.ruling

    @property
    def results(self):
        """Return the results of tools, or the words of people, in the last request to the model."""
        return tool_results(self.house.model.requests[-1])

    @property
    def request(self):
        return str(self.house.model.requests[-1])

    def is_gone(self):
        ours = self.house.processes()
        return not processes.lives(parse_identity(self.process)) and not ours


@pytest.fixture
def tmp_path(monkeypatch):
    """A folder on the disk: the sandbox of codex has its own /dev without our folders."""
    with tempfile.TemporaryDirectory(dir="/tmp", prefix="gate-codex-") as made:
        monkeypatch.setenv("TMPDIR", made)
        monkeypatch.setattr(tempfile, "tempdir", made)
        yield Path(made)


@pytest.fixture
def desk(house, monkeypatch):
    for name, value in house.environ.items():
        monkeypatch.setenv(name, value)
    line = shlex.join([*house.network.prefix, house.programs.codex])
    put_codex(house, f'exec {line} "$@"')
    return Desk(house)


def put_codex(house, lines):
    program = house.bin / "codex"
    program.write_text(f"#!/bin/sh\n{lines}\n", encoding="utf-8")
    program.chmod(0o755)


@pytest.mark.proves("RUN-150", "RUN-151")
def test_turn_has_its_words_and_next_continues_thread(desk, house):
    assert DRIVER.new_session() == ""
    first = desk.turn(text("hello"))
    assert first == Ended(True, "hello")
    assert desk.requests_when_met == 0 and desk.said[-1] == "hello" and desk.is_gone()
    thread = desk.session
    assert desk.was_turn_sent(thread, 1) and not desk.was_turn_sent(thread, 2)
    again = desk.turn(text("once more"), number=2, session=thread)
    assert again.words == "once more" and desk.session == thread
    assert desk.id(1) in desk.request and desk.was_turn_sent(thread, 2)
    forked = desk.turn(text("elsewhere"), number=3, fork_of=thread)
    assert forked.words == "elsewhere" and desk.session != thread
    assert desk.id(2) in desk.request and desk.was_turn_sent(desk.session, 3)
    assert not desk.was_turn_sent(thread, 3) and not desk.was_turn_sent(desk.session, 1)
    nowhere = "01999999-0000-7000-8000-000000000001"
    assert DRIVER.knows(thread) and not DRIVER.knows(nowhere)
    lost = desk.turn(text("?"), number=4, session=nowhere)
    assert lost.gone and "no rollout found" in lost.problem and not lost.ok


@pytest.mark.proves("RUN-152", "RUN-153")
def test_only_the_worktree_is_changed_without_asking(desk, house):
    """The user's own settings allow codex everything."""
    settings = house.home / ".codex" / "config.toml"
    elsewhere = house.folder / "elsewhere"
    elsewhere.mkdir()
    before = settings.read_text(encoding="utf-8").replace(str(house.project), str(elsewhere))
    settings.write_text(before, encoding="utf-8")
    starts = house.folder / "started"
    (house.project / ".codex").mkdir()
    (house.project / ".codex" / "config.toml").write_text(
        f'[mcp_servers.project]\ncommand = "touch"\nargs = ["{starts}"]\n', encoding="utf-8"
    )
    tries = f"touch {elsewhere}/x; touch /tmp/gate-x; echo ok > {SIGNAL}; mktemp; pwd"
    ended = desk.turn(patch("made"), tool("exec_command", cmd=tries), text("done"))
    assert ended.ok and desk.asked == []
    assert (house.project / "made").exists() and (house.project / SIGNAL).exists()
    assert desk.results[-1].count("Read-only file system") == 2
    assert not (elsewhere / "x").exists() and not os.path.exists("/tmp/gate-x")
    assert str(house.project) in desk.results[-1]
    # Its scratch folder is private and is removed with it.
    scratch = re.search(r"/\S+/gate-[^/]+(?=/tmp\.)", desk.results[-1])
    assert not os.path.exists(scratch[0])
    # The folder was not entered as trusted, and its programs were not started.
    assert settings.read_text(encoding="utf-8") == before and not starts.exists()


@pytest.mark.proves("RUN-154", "RUN-155")
def test_writes_outside_the_worktree_are_asked_for(desk, house):
    log, other = house.folder / "log", house.folder / "other"
    ended = desk.turn(beyond(f"echo 'it ran' >> {log}"), patch(other), text("done"))
    assert ended.ok and log.read_text(encoding="utf-8") == "it ran\n" and other.exists()
    command, change = desk.asked
    asked = {"command": f"echo 'it ran' >> {log}", "description": "it must be"}
    assert command[:2] == ("Bash", asked)
    assert change[:2] == ("Write", {"file_path": str(other), "content": "made\n"})
    assert "call_step0" in command[2] and "call_step1" in change[2]

    desk.ruling = Ruling(allow=False, message="not on a Friday")
    other.unlink()
    ended = desk.turn(
        beyond(f"echo 'it ran' >> {log}"), patch(other), text("done"),
        number=2, session=desk.session,
    )  # fmt: skip
    assert ended.ok and log.read_text(encoding="utf-8") == "it ran\n" and not other.exists()
    assert len(desk.asked) == 2 and all("rejected" in result for result in desk.results[-2:])
    assert desk.request.count("not on a Friday") == 2


@pytest.mark.proves("RUN-155")
def test_changed_call_does_not_run_and_agent_learns_it(desk, house):
    desk.ruling = Ruling(allow=True, input={"command": "touch ../b"})
    assert desk.turn(beyond("touch ../a"), text("done")).ok
    assert not (house.folder / "a").exists() and not (house.folder / "b").exists()
    assert "Make this call" in desk.request and "touch ../b" in desk.request


@pytest.mark.proves("RUN-156")
def test_our_tools_are_there_and_foreign_tools_ask(desk, house):
    (house.folder / "other.py").write_text(OTHER_SERVER, encoding="utf-8")
    server = {"command": sys.executable, "args": [str(house.folder / "other.py")]}
    words = [("-c", f"mcp_servers.other.{name}={value!r}") for name, value in server.items()]
    role = {"arguments": tuple(word for pair in words for word in pair)}
    steps = (tool("notify_human", message="hi"), tool("launch", at="noon"), text("done"))
    assert desk.turn(*steps, **role).ok
    ((name, given, call_id),) = desk.asked
    assert (name, given) == ("mcp__other__launch", {"at": "noon"}) and "call_step1" in call_id
    assert "Sent to the inbox" in desk.results[0] and "launched" in desk.results[1]
    assert 'mcp__other__launch {"at": "noon"}' in desk.said
    desk.ruling = Ruling(allow=False, message="later")
    assert desk.turn(*steps, number=2, session=desk.session, **role).ok
    assert "launched" not in desk.results[-1] and "later" in desk.request


@pytest.mark.proves("RUN-157")
def test_codex_killed_in_slow_tool_leaves_nothing_and_resumes(desk, house):
    def kill():
        eventually((house.project / "began").exists)
        os.kill(parse_identity(desk.process).pid, signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    ended = desk.turn(beyond("touch began; sleep 60; touch ../ended"), text("done"))
    killer.join()
    assert not ended.ok and "SIGKILL" in ended.problem and desk.is_gone()
    thread = desk.session
    assert desk.was_turn_sent(thread, 1)
    again = desk.turn(text("went on"), number=2, session=thread)
    assert (
        again.ok
        and desk.session == thread
        and again.words == "went on"
        and desk.results == ["aborted"]
    )


@pytest.mark.proves("RUN-157")
def test_error_in_the_permission_callback_ends_the_agent(desk, house):
    def fail(_):
        raise KeyError("the store")

    desk.ruling = fail
    with pytest.raises(KeyError, match="the store"):
        desk.turn(beyond("touch ../a"), text("done"))
    assert desk.is_gone() and not (house.folder / "a").exists()


@pytest.mark.proves("RUN-158")
def test_error_of_the_model_or_codex_is_one_sentence(desk, house):
    settings = house.home / ".codex" / "config.toml"
    right = settings.read_text(encoding="utf-8")
    settings.write_text(right.replace("/v1", "/v2"), encoding="utf-8")
    ended = desk.turn(text("hello"))
    assert not ended.ok and "404" in ended.problem and not ended.words
    lost = desk.turn(text("hello"), session="01a1e368-cd11-7eb0-9f24-b1169560db87")
    assert not lost.ok and "no rollout found" in lost.problem
    settings.write_text("[", encoding="utf-8")
    broken = desk.turn(text("hello"))
    assert not broken.ok and "config.toml" in broken.problem


@pytest.mark.proves("RUN-158")
def test_torn_output_or_foreign_protocol_is_not_a_success(desk, house):
    for lines in ("echo '{\"id\": 1, '", "echo 7", "echo", "read a"):
        put_codex(house, lines)
        ended = desk.turn(text("hello"))
        assert not ended.ok and "middle of its turn" in ended.problem and desk.is_gone()


@pytest.mark.proves("RUN-159")
def test_codex_that_would_not_ask_is_sent_nothing(desk, house):
    """An organisation's settings may override ours."""
    held = {"type": "workspaceWrite", "excludeSlashTmp": True, "networkAccess": False}
    for policy, sandbox in (
        ("never", held),
        ("on-request", {"type": "dangerFullAccess"}),
        ("on-request", held | {"networkAccess": True}),
        ("on-request", held | {"excludeSlashTmp": False}),
        ("on-request", held | {"writableRoots": ["/"]}),
        ("on-request", {"type": "readOnly", "networkAccess": True}),
    ):
        thread = {"approvalPolicy": policy, "sandbox": sandbox, "thread": {"id": "x"}}
        replies = [json.dumps({"id": n, "result": r}) for n, r in ((1, {}), (2, thread))]
        heard = "read a; echo '{}'; read b; read c; : > sent; echo '{}'; read d && echo >> sent"
        put_codex(house, heard.format(*replies))
        ended = desk.turn(text("hello"))
        assert not ended.ok and "without asking" in ended.problem and not desk.session
        assert (house.project / "sent").read_text(encoding="utf-8") == ""


@pytest.mark.proves("RUN-160")
def test_missing_program_is_named_with_its_installation(desk, house):
    (house.bin / "codex").unlink()
    with pytest.raises(MissingAgentError, match="npm install -g @openai/codex"):
        desk.turn(text("hello"))
    assert not desk.process


@pytest.mark.proves("RUN-161")
def test_role_needs_the_sandbox_or_a_stricter_one(desk, house):
    for word in ("--yolo", "--sandbox=danger-full-access"):
        with pytest.raises(UsageError, match="without asking"):
            desk.turn(text("hello"), arguments=(word,))
    ended = desk.turn(tool("exec_command", cmd="touch made"), text("done"), tools=("Read", "Grep"))
    assert ended.ok and "Read-only file system" in desk.results[0]


@pytest.mark.proves("RUN-161")
def test_link_in_the_worktree_opens_no_folder_elsewhere(desk, house):
    elsewhere = house.folder / "elsewhere"
    elsewhere.mkdir()
    (house.project / ".agents").symlink_to(elsewhere)
    assert "sandbox_workspace_write.writable_roots=[]" in DRIVER.join(desk.order(1, "x"))
    assert not list(elsewhere.iterdir())


@pytest.mark.proves("RUN-162")
def test_person_joins_the_thread_in_a_terminal(desk, house, terminal):
    assert desk.turn(text("what a day")).ok
    terminal._start(DRIVER.join(desk.order(2, desk.session)))
    terminal.until("what a day")
    terminal.type(f"Please. {script([tool('inbox_status'), beyond('touch ../a'), text('done')])}")
    terminal.until('"done"}]>>script')
    terminal.type("", "Enter")
    terminal.until("Would you like to run the following command?")
    assert "waits for nothing" in desk.results[-1] and "what a day" in desk.request
    assert not (house.folder / "a").exists()
