"""Five walks through the layers, as docs/architecture.md describes them, traced for real."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.upward_calls import rank
from tests.support.waiting import eventually

ROOT = Path(__file__).parents[2]
# They run when the kernel delivers a signal, at any place of the program.
SIGNAL_HANDLERS = (
    "cli/interrupts.py Interrupts._note",
    "cli/workers/worker.py run.<locals>.<lambda>",
)
AGENT = """#!/bin/sh
case $(cat) in
*"Human's answer"*) echo '{"status": "DONE", "summary": "It is blue"}' ;;
*) echo '{"status": "NEEDS_HUMAN", "summary": "Not clear", "question": "Which colour?"}' ;;
esac
"""
FLOW = """from gatebell import flow, run


@flow
def paint(prompt):
    return run("painter").status
"""
EVENT = {
    "hook_event_name": "PermissionRequest",
    "session_id": "s1",
    "tool_name": "Bash",
    "tool_input": {"command": "rm -rf build"},
}


class Walker:
    """Run traced commands in a project whose agent asks for a colour."""

    def __init__(self, world):
        self.world, self.folder = world, Path(world.ada.folder)
        self.trace = world.folder / "trace.txt"
        self.trace.touch()
        self.environ = world.ada.environ | {"PYTHONPATH": str(ROOT)}
        for name, text in (
            ("agent.sh", AGENT),
            (".gate/agents/painter.md", '---\ncommand: ["./agent.sh"]\n---\nYou paint.\n'),
            (".gate/flows/paint.py", FLOW),
        ):
            (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / name).write_text(text)
        (self.folder / "agent.sh").chmod(0o755)
        who = ("-c", "user.name=ada", "-c", "user.email=ada@example.org")
        for words in (("init", "-q"), ("add", "."), ("commit", "-qm", "begin")):
            subprocess.run(["git", *who, *words], cwd=self.folder, env=self.environ, check=True)

    def start(self, *words):
        command = [sys.executable, "-m", "tests.support.trace_calls", str(self.trace), *words]
        return subprocess.Popen(
            command, env=self.environ, cwd=self.folder, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip

    def run(self, *words, given=""):
        return self.end(self.start(*words), given)

    def end(self, process, given=None):
        said, _ = process.communicate(given, timeout=60)
        assert process.returncode == 0, said
        return said.strip()

    def stop(self, process):
        process.terminate()
        process.communicate(timeout=60)

    def answer(self, text):
        """Answer the waiting ask, in a process that is not traced."""
        (ask,) = eventually(lambda: self.world.store.asks.pending(2), seconds=60)
        ran = self.world.ada.gate("answer", ask.id, text)
        assert ran.code == 0, ran.err
        return ask.id


@pytest.fixture
def walker(world):
    return Walker(world)


def walk_ask(walker):
    ask_id = walker.run("ask", "--no-wait", "Which colour?")
    walker.run("answer", ask_id, "blue")
    assert walker.run("wait", ask_id) == "blue"


def walk_hook(walker):
    hook = walker.start("hook", "claude")
    hook.stdin.write(json.dumps(EVENT | {"cwd": str(walker.folder)}))
    hook.stdin.close()
    hook.stdin = None
    walker.answer("yes")
    assert json.loads(walker.end(hook))["hookSpecificOutput"]["decision"] == {"behavior": "allow"}


def walk_run(walker):
    run = walker.start("run", "paint", "Paint the door")
    walker.answer("blue")
    assert "completed" in walker.end(run)


def walk_task(walker):
    walker.run("task", "create", "Paint the wall", "--role", "painter")
    worker = walker.start("worker")
    walker.answer("green")
    tasks = walker.world.store.tasks
    eventually(lambda: not tasks.how_many(str(walker.folder), closed=False), seconds=60)
    walker.stop(worker)


def walk_file(walker):
    assert walker.world.ada.gate("init", "--yes").code == 0
    listener = walker.start("listen", "--no-prompt")
    environ = walker.environ | {"PATH": "/usr/bin:/bin"}
    script = subprocess.Popen(
        ["scripts/ask-human.sh", "Which file?"], env=environ, cwd=walker.folder,
        text=True, stdout=subprocess.PIPE,
    )  # fmt: skip
    ask_id = walker.answer("this one")
    assert script.communicate(timeout=60)[0].strip() == "this one"
    eventually(lambda: walker.world.get(ask_id).delivered_at)
    walker.stop(listener)


WALKS = {"ask": walk_ask, "hook": walk_hook, "run": walk_run, "task": walk_task, "file": walk_file}


def told_files(walk):
    """Return the files that the page names in this walk, in its order."""
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    (section,) = re.findall(rf"^### Walk: {walk}.*?$(.*?)(?=^##)", page, re.MULTILINE | re.DOTALL)
    return list(dict.fromkeys(re.findall(r"`([a-z_]+/[a-z_/]+\.py)`", section)))


@pytest.mark.proves("LAYER-5", "LAYER-6")
@pytest.mark.parametrize("walk", WALKS)
def test_walk_is_as_described_and_never_goes_up(walker, walk):
    WALKS[walk](walker)
    calls = [line.split(" ", 2) for line in walker.trace.read_text().splitlines()]
    crossed = list(dict.fromkeys(file for caller, callee, _ in calls for file in (caller, callee)))
    told = told_files(walk)
    assert told and sorted(told, key=(crossed + told).index) == told
    assert [file for file in told if file not in crossed] == []
    upwards = [
        f"{caller} -> {callee} {function}"
        for caller, callee, function in calls
        if find_rank(caller) < find_rank(callee) and f"{callee} {function}" not in SIGNAL_HANDLERS
    ]
    assert upwards == []


def find_rank(path):
    found = rank("gatebell." + path.removesuffix(".py").replace("/", "."))
    assert found is not None or path == "__init__.py", path
    return rank("gatebell.api") if found is None else found
