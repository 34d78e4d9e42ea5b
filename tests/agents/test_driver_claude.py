"""Turns of the real claude, one by one, through the driver that flows use."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import threading
from pathlib import Path
from uuid import uuid4

import pytest
from tests.support.agent_house import OWN_QUESTIONS
from tests.support.waiting import eventually

from gatebell.adapters.agents import claude
from gatebell.adapters.agents.claude import ClaudeDriver
from gatebell.adapters.system import processes
from gatebell.domain.runs.identities import parse_identity
from gatebell.domain.runs.roles import Role
from gatebell.errors import MissingAgentError, UsageError
from gatebell.install.scripted_model import script, text, tool, tools
from gatebell.ports.agents import Ended, Events, Order, Ruling

MAKE = "perl -e 'open F, q(>), q(made)'"
SLOW = "perl -e 'open F, q(>), q(slow); sleep 300'"
ALLOW = Ruling(allow=True)
LIMIT = 8
NO_RUN = "this signal does not count"
"""The reply of the signal tool to a turn without a run: the tool works and knows its turn."""


class Desk:
    """A caller that runs turns and decides the requests of claude."""

    def __init__(self, house):
        self.house = house
        self.driver = ClaudeDriver()
        self.asked, self.said, self.started = [], [], []
        self.ruling = lambda *_: ALLOW
        program = shlex.join([*house.network.prefix, house.programs.claude])
        (house.bin / "claude").write_text(f'#!/bin/sh\nexec {program} "$@"\n', encoding="utf-8")
        (house.bin / "claude").chmod(0o755)
        # Nothing is allowed in advance except by the driver itself.
        house.claude_settings.unlink()

    def permit(self, *request):
        self.asked.append(request)
        return self.ruling(*request)

    def order(self, steps, session="", fresh=True, fork_of="", schema=None, **role):
        turn = f"t-{uuid4()}"
        said = f"[turn {turn}] Please. {script(steps)}"
        session = session or self.driver.new_session()
        cwd = str(self.house.project)
        return Order(
            turn, Role("coder", "", **role), session, fresh, fork_of, said, cwd, {}, schema
        )

    def run(self, order, **other):
        events = Events(self.started.append, lambda _: None, self.permit, self.said.append)
        return self.driver.run(order, events._replace(**other))

    def sent(self):
        """Return the last request to the model."""
        return json.dumps(self.house.model.requests[-1]["messages"])


@pytest.fixture
def desk(house, monkeypatch):
    for name in set(os.environ) - set(house.environ) - {"PYTEST_CURRENT_TEST"}:
        monkeypatch.delenv(name)
    for name, value in house.environ.items():
        monkeypatch.setenv(name, value)
    return Desk(house)


@pytest.mark.proves("RUN-130", "RUN-139")
def test_session_continues_turn_after_turn_and_can_be_forked(desk):
    first = desk.order([text("The plan is A.")], arguments=("--effort", "low"), model="opus")
    ended = desk.run(first)
    assert ended == Ended(True, "The plan is A.")
    assert desk.said == ["The plan is A."]
    assert not processes.lives(parse_identity(desk.started[0]))
    assert desk.driver.was_turn_sent(first.session, first.turn_id)
    second = desk.order([text("It is still A.")], first.session, fresh=False)
    assert not desk.driver.was_turn_sent(first.session, second.turn_id)
    assert desk.run(second).words == "It is still A."
    assert "The plan is A." in desk.sent()
    fork = desk.order([text("Now B.")], fork_of=first.session)
    assert desk.run(fork).words == "Now B." and "It is still A." in desk.sent()
    assert desk.driver.was_turn_sent(fork.session, fork.turn_id)
    assert not desk.driver.was_turn_sent(first.session, fork.turn_id)
    # A session that began and was killed is resumed: claude would refuse to begin it again.
    again = desk.order([text("Again.")], first.session, fresh=True)
    assert desk.run(again).words == "Again." and "It is still A." in desk.sent()
    # A person in a terminal can continue it, and the agent can signal there.
    words = desk.driver.join(second)
    assert "-p" not in words and words[words.index("--permission-mode") + 1] == "acceptEdits"
    prompt = f"Go on. {script([tool('signal', status='DONE'), text('{{result}}')])}"
    printed = subprocess.run(
        [*words, "-p", prompt], cwd=first.cwd, capture_output=True, text=True, check=True
    )
    assert NO_RUN in printed.stdout and "The plan is A." in desk.sent()
    lost = desk.order([text("?")], desk.driver.new_session(), fresh=False)
    ended = desk.run(lost)
    assert "No conversation found" in ended.problem and ended.gone
    assert desk.driver.knows(first.session) and not desk.driver.knows(lost.session)


@pytest.mark.proves("RUN-131")
def test_calls_beyond_edits_are_asked_for(desk):
    """An answer may change the call, and the person sees it before it runs."""
    made = desk.house.project / "made"

    def ruling(tool_name, given, call_id):
        assert not made.exists()
        if len(desk.asked) == 1:
            return Ruling(allow=False, message="not on my machine")
        return Ruling(allow=True, input={"command": "perl -e 'print q(instead)'"})

    desk.ruling = ruling
    written = str(desk.house.project / "notes.txt")
    steps = [
        tool("Write", file_path=written, content="edited"),
        tool("Bash", command=MAKE, description="make it"),
        tool("Bash", command=MAKE, description="make it"),
        text("{{result}}"),
    ]
    ended = desk.run(desk.order(steps))
    assert ended.ok, (ended, desk.sent()[-1500:])
    assert Path(written).read_text(encoding="utf-8") == "edited"
    assert [request[:2] for request in desk.asked] == 2 * [
        ("Bash", {"command": MAKE, "description": "make it"})
    ]
    assert ended.ok and ended.words == "instead" and not made.exists()
    assert "not on my machine" in desk.sent()
    assert desk.said[:2] == [f"Write({written})", f"Bash({MAKE})"]


@pytest.mark.proves("RUN-131", "RUN-132")
def test_requests_wait_together_and_run_only_once_logged(desk, monkeypatch):
    """Requests are held while the log is late, so that a kill cannot lose them."""
    rules = {"permissions": {"ask": ["Bash(cat:*)"]}}
    desk.house.claude_settings.write_text(json.dumps(rules), encoding="utf-8")
    (desk.house.project / "part").write_text("content", encoding="utf-8")
    all_there = threading.Barrier(3, timeout=20)
    desk.ruling = lambda *_: [ALLOW, all_there.wait()][0]
    looked, records = [], claude._find_records

    def late(path, words):
        looked.append(len(desk.house.model.requests) - 1)
        return iter(()) if len(looked) < 9 else records(path, words)

    monkeypatch.setattr(claude, "_find_records", late)
    order = desk.order([tools(*3 * [("Bash", {"command": "cat part"})]), text("done")])
    assert desk.run(order).ok and len(desk.asked) == 3
    assert len(looked) >= 9 and not any(looked[:9])


@pytest.mark.proves("RUN-133")
def test_questions_reach_people_and_the_agent_can_signal(desk):
    answers = {"Which database?": "SQLite", "Which colours?": "Red"}
    desk.ruling = lambda _, given, _call: Ruling(allow=True, input=given | {"answers": answers})
    steps = [
        tool("AskUserQuestion", questions=OWN_QUESTIONS),
        tool("ask_human", question="Which port?"),
        tool("signal", status="DONE", summary="{{result}}"),
        text("{{result}}"),
    ]
    # The wait alone is longer than the limit of its work.
    person = threading.Thread(target=answer_late, args=(desk.house,))
    person.start()
    ended = desk.run(desk.order(steps, limit_seconds=LIMIT))
    person.join()
    assert ended.ok and NO_RUN in ended.words, ended
    assert "Which database?" in desk.sent() and "SQLite" in desk.sent() and "8080" in desk.sent()
    assert [request[0] for request in desk.asked] == ["AskUserQuestion"]


def answer_late(house):
    (ask,) = house.wait_for_asks()
    threading.Event().wait(LIMIT)
    house.answer(ask, "8080")


@pytest.mark.proves("RUN-134")
def test_installed_hook_does_not_ask_a_second_time(desk):
    desk.house.install("claude")
    desk.ruling = lambda *_: [ALLOW, threading.Event().wait(1)][0]
    ended = desk.run(desk.order([tool("Bash", command="touch gated"), text("done")]))
    assert ended.ok and desk.house.ran() and len(desk.asked) == 1
    assert desk.house.store.asks.count() == 0


@pytest.mark.proves("RUN-135")
def test_turn_past_its_limit_ends_with_its_tools(desk):
    """Tools run in their own process sessions. The time of the person does not count."""
    desk.ruling = lambda *_: [ALLOW, threading.Event().wait(LIMIT)][0]
    order = desk.order([tool("Bash", command=SLOW), text("?")], limit_seconds=LIMIT)
    seen = []
    slow = desk.house.project / "slow"
    watching = threading.Thread(
        target=lambda: seen.extend(eventually(slow.exists) and find_marked(order))
    )
    watching.start()
    ended = desk.run(order)
    watching.join()
    assert not ended.ok and "longer than its limit" in ended.problem
    assert any("sleep 300" in words for words in seen) and find_marked(order) == []


@pytest.mark.proves("RUN-135")
def test_error_in_the_permission_callback_ends_the_turn(desk):
    def stop(*_):
        raise LookupError("the run was stopped")

    desk.ruling = stop
    order = desk.order([tool("Bash", command=MAKE), text("?")])
    with pytest.raises(LookupError, match="the run was stopped"):
        desk.run(order)
    assert find_marked(order) == [] and not (desk.house.project / "made").exists()


def find_marked(order):
    """Return the command lines of all processes with a turn's mark."""
    found, mark = [], f"GATE_TURN={order.turn_id}".encode()
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if mark in (folder / "environ").read_bytes().split(b"\0"):
                found.append((folder / "cmdline").read_bytes().decode())
        except OSError:
            continue
    return found


DRIVE = """
import json, sys
from gatebell.domain.runs.roles import Role
from gatebell.ports.agents import Events, Order, Ruling
from gatebell.adapters.agents.claude import ClaudeDriver
words = json.loads(sys.argv[1])
words[1] = Role(words[1][0], "")
say = lambda process: print(process, flush=True)
ClaudeDriver().run(Order(*words), Events(say, print, lambda *_: Ruling(True), lambda _: None))
"""


@pytest.mark.proves("RUN-136")
def test_successor_of_a_killed_driver_finds_nothing_running(desk):
    order = desk.order([tool("Bash", command=SLOW), text("?")])
    command = [sys.executable, "-c", DRIVE, json.dumps(order)]
    driving = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    with driving, driving.stdout:
        agent = parse_identity(driving.stdout.readline().strip())
        eventually((desk.house.project / "slow").exists)
        assert processes.lives(agent)
        driving.kill()
    eventually(lambda: not processes.lives(agent))
    assert processes.end(agent, ("GATE_TURN", order.turn_id)) and find_marked(order) == []
    assert desk.driver.was_turn_sent(order.session, order.turn_id)
    again = desk.order([text("I go on.")], order.session, fresh=False)
    assert desk.run(again).words == "I go on." and "its outcome is unknown" in desk.sent()


@pytest.mark.proves("RUN-137")
@pytest.mark.parametrize("how", ["SIGKILL", pytest.param("SIGINT", marks=pytest.mark.matrix)])
def test_killed_turn_is_not_taken_for_its_end(desk, how):
    def ruling(*_):
        os.kill(parse_identity(desk.started[-1]).pid, getattr(signal, how))
        threading.Event().wait(0.5)
        return ALLOW

    desk.ruling = ruling
    ended = desk.run(desk.order([tool("Bash", command=MAKE), text("done")]))
    assert not ended.ok and ended.problem and not (desk.house.project / "made").exists()


@pytest.mark.proves("RUN-137")
def test_error_of_a_turn_is_reported(desk, monkeypatch):
    order = desk.order([tool("Bash", command="echo once"), text("done")])
    limited = order._replace(role=order.role._replace(arguments=("--max-turns", "1")))
    ended = desk.run(limited)
    assert not ended.ok and "maximum number of turns" in ended.problem
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:1")
    ended = desk.run(desk.order([text("never said")]))
    assert not ended.ok and "api_error" in ended.problem and "API Error" in ended.words


@pytest.mark.proves("RUN-138")
def test_role_has_its_named_tools_without_permission_for_them(desk):
    """The result of a turn with a schema is returned, too."""
    desk.ruling = lambda *_: Ruling(allow=False, message="no")
    named = ("Read", "Bash(perl:*)", "mcp__other__tool")
    steps = [tool("Bash", command=MAKE), tool("StructuredOutput", n=3), text("done")]
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    ended = desk.run(desk.order(steps, schema=schema, tools=named))
    offered = {offer["name"] for offer in desk.house.model.requests[-1]["tools"]}
    assert ended.ok and ended.structured == {"n": 3} and len(desk.asked) == 1
    assert {"Read", "Bash", "mcp__gatebell__signal"} <= offered and "Write" not in offered


@pytest.mark.proves("RUN-140")
def test_missing_program_and_role_that_never_asks_are_refused(desk):
    (desk.house.bin / "claude").unlink()
    with pytest.raises(MissingAgentError, match="npm install -g @anthropic-ai/claude-code"):
        desk.run(desk.order([text("?")]))
    (desk.house.bin / "claude").symlink_to("/bin/true")
    for word in ("--dangerously-skip-permissions", "--permission-mode=bypassPermissions"):
        with pytest.raises(UsageError, match="lets the agent do everything without asking"):
            desk.run(desk.order([text("?")], arguments=(word,)))
    assert desk.started == []
    ended = desk.run(desk.order([text("?")]))
    assert ended.problem == "It ended without a result: its output is cut off."
