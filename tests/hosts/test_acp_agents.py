"""Turns of gemini, opencode and copilot by the agent client protocol: `make hosts`."""

from __future__ import annotations

import json
import os
from uuid import uuid4

import pytest
from tests.support.agent_processes import Watched
from tests.support.host_stage import build_prompt

from gatebell.adapters.agents.acp import AcpDriver
from gatebell.domain.runs.roles import Role
from gatebell.ports.agents import Order, Ruling

MODELS = {"gemini": "gemini-2.5-flash"}
LOADING = ("opencode", "copilot")


class Desk:
    """Runs turns of a real program, and decides its requests."""

    def __init__(self, stage, monkeypatch):
        self.stage, self.asked, self.met = stage, [], []
        self.ruling = Ruling(True)
        # The driver finds the program on the PATH and gives it our variables.
        program = stage.bin / stage.cli
        words = " ".join(f"'{word}'" for word in (*stage.network.prefix, *stage.words))
        program.write_text(f'#!/bin/sh\nexec {words} "$@"\n', encoding="utf-8")
        program.chmod(0o755)
        for name in os.environ.keys() - stage.environ.keys():
            monkeypatch.delenv(name)
        for name, value in stage.environ.items():
            monkeypatch.setenv(name, value)

    def permit(self, *call):
        self.asked.append(call)
        return self.ruling

    def turn(self, text, session=""):
        cli, project = self.stage.cli, str(self.stage.project)
        role = Role("coder", "", cli=cli, model=MODELS.get(cli, ""), limit_seconds=240)
        turn_id = f"t-{uuid4()}"
        environ = {"GATE_SIGNAL_FILE": ".agents/signals/x.json"}
        order = Order(turn_id, role, session, not session, "", text, project, environ)
        events = Watched().events(permit=self.permit, met=self.met.append)
        return AcpDriver(cli).run(order, events)

    def run_shell(self, command):
        given = {"command": command, "description": "make a file"}
        return self.turn(build_prompt(self.stage.host.shell, given))


@pytest.fixture
def desk(stage, monkeypatch):
    return Desk(stage, monkeypatch)


@pytest.mark.proves("ACP-8")
@pytest.mark.parametrize("allow", [False, True])
def test_decision_binds_a_command_of_the_program(desk, allow):
    desk.ruling = Ruling(allow, "" if allow else "open a PR")
    command = "touch made;\ntouch 'made too'"
    ended = desk.run_shell(command)
    assert ended.ok, ended
    ((tool, given, _),) = desk.asked
    assert (tool, given["command"]) == ("Bash", command)
    assert (desk.stage.project / "made too").exists() == allow


@pytest.mark.proves("ACP-8")
def test_edit_of_the_program_is_named(desk):
    desk.ruling = Ruling(False)
    path, host = desk.stage.project / "new.txt", desk.stage.host
    text = {"copilot": "file_text"}.get(desk.stage.cli, "content")
    desk.turn(build_prompt(host.write, {host.path: str(path), text: "x"}))
    ((tool, given, _),) = desk.asked
    assert tool == "Write"
    assert given["file_path"] == str(path)
    assert not path.exists()


@pytest.mark.proves("ACP-8")
def test_worktree_cannot_allow_commands(desk):
    allow = {"*": "allow", "bash": "allow"}
    settings = {"permission": allow, "agent": {"build": {"permission": allow}}}
    (desk.stage.project / "opencode.json").write_text(json.dumps(settings), encoding="utf-8")
    folder = desk.stage.project / ".gemini"
    folder.mkdir()
    tools = {"tools": {"allowed": ["run_shell_command"]}, "general": {"approvalMode": "yolo"}}
    (folder / "settings.json").write_text(json.dumps(tools), encoding="utf-8")
    desk.ruling = Ruling(False)
    desk.run_shell("touch made")
    assert desk.asked and not (desk.stage.project / "made").exists()


@pytest.mark.proves("ACP-8")
def test_session_goes_on_where_the_program_can(desk):
    desk.run_shell("touch made")
    results = len(desk.stage.list_results())
    ended = desk.turn("again", session=desk.met[0])
    assert ended.gone == (desk.stage.cli not in LOADING), ended
    if not ended.gone:
        # Without the old messages it would have no script.
        assert ended.ok and ended.words == "the script is at its end"
        assert len(desk.stage.list_results()) > results, "the model got the old messages"
