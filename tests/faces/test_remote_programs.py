"""`Gate()` in Python, `ask-human.sh` and `gate signal` with a server."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from tests.support.programs import find_program
from tests.support.server_world import server_world
from tests.support.waiting import eventually

from gatebell.app.project_files import ask_script

__all__ = ["server_world"]

_PROGRAM = """
from gatebell import Gate
from gatebell.errors import UsageError
gate = Gate(agent="deployer")
approval = gate.approve("Deploy build 42?", timeout=60, reply=lambda text: f"about {text}")
print(bool(approval), approval.settled_by, gate.choose("Which?", ["A", "B"], timeout=60).value)
try:
    gate.tasks
except UsageError as error:
    print(error)
"""


def the_pending(world, prompt):
    asks = world.store.asks.pending(99, None)
    return next((ask for ask in asks if ask.question.prompt == prompt), None)


@pytest.mark.proves("REMOTE-14")
def test_program_asks_and_waits_on_a_server(server_world):
    program = subprocess.Popen(
        [sys.executable, "-c", _PROGRAM], env=server_world.plain.environ,
        cwd=server_world.plain.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    first = eventually(lambda: the_pending(server_world, "Deploy build 42?"))
    assert first.origin.agent == "deployer"
    assert server_world.ada.gate("ask-back", first.id, "which branch").code == 0
    eventually(lambda: len(server_world.store.asks.messages(first.id)) == 2)
    assert server_world.ada.gate("answer", first.id, "yes").code == 0
    second = eventually(lambda: the_pending(server_world, "Which?"))
    assert server_world.ada.gate("answer", second.id, "B").code == 0
    out, err = program.communicate(timeout=60)
    assert out.startswith("True person:ada B\n"), err
    assert "needs a store on this machine" in out
    assert server_world.store.asks.messages(first.id)[1].text == "about which branch"


@pytest.mark.proves("REMOTE-14")
def test_program_answers_on_a_server(server_world):
    ask_id = server_world.ask("Which name?")
    code = f"from gatebell import Gate; print(Gate().answer({ask_id!r}, 'gatebell').status)"
    environ = server_world.shell("ada").environ
    # An agent that runs these tests is seen by its process, so the program presents a token.
    code = code.replace("Gate()", "Gate(token=__import__('os').environ['GATE_TOKEN'])")
    ran = subprocess.run(
        [sys.executable, "-c", code], env=environ, capture_output=True, text=True, check=False
    )
    assert ran.stdout == "answered\n", ran.stderr
    assert server_world.get(ask_id).settled_by == "person:ada"


@pytest.mark.proves("REMOTE-14")
def test_script_asks_on_a_server(server_world, tmp_path):
    find_program("bash", "ask-human.sh")
    gate = tmp_path / "gate"
    gate.write_text(f'#!/bin/sh\nexec {sys.executable} -m gatebell "$@"\n', encoding="utf-8")
    gate.chmod(0o755)
    environ = server_world.agent.environ
    environ = environ | {"PATH": f"{tmp_path}:{environ['PATH']}"}
    script = subprocess.Popen(
        ["bash", ask_script(), "Which colour?", "select", "Red,Blue"], env=environ,
        cwd=server_world.plain.folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    ask = eventually(lambda: the_pending(server_world, "Which colour?"))
    assert server_world.ada.gate("answer", ask.id, "Blue").code == 0
    out, err = script.communicate(timeout=60)
    assert (script.returncode, out) == (0, "Blue\n"), err


@pytest.mark.proves("REMOTE-14")
def test_script_without_gate_says_so(server_world, tmp_path):
    find_program("bash", "ask-human.sh")
    bare = os.pathsep.join(
        folder for folder in ("/usr/bin", "/bin") if not os.path.exists(f"{folder}/gate")
    )
    ran = subprocess.run(
        ["bash", ask_script(), "Which?"], env=server_world.agent.environ | {"PATH": bare},
        cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ran.returncode != 0 and "GATE_SERVER is set, but gate is not installed" in ran.stderr
