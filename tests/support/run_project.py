"""A project with flows and scripted agents, for `gate run` in a real process."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.support.waiting import eventually

AGENT = """#!{python}
import json, os, sys, time
text = sys.stdin.read()
signal_file = os.environ["GATE_SIGNAL_FILE"]
role = os.path.basename(signal_file).split("-")[0]
stage = {stage!r}
print(role, "has begun \\x1b[31m", flush=True)
if role.startswith("slow"):
    open(os.path.join(stage, role + ".pid"), "a").write(str(os.getpid()) + "\\n")
    while not os.path.exists(os.path.join(stage, "go")):
        time.sleep(0.02)
status = "DONE"
if role == "asker" and "Human's answer" not in text:
    status = "NEEDS_HUMAN"
if role == "writer":
    open("written.txt", "w").write("work")
signal = {{"status": status, "summary": role + " is done", "question": "Which \\x1b[1mway?"}}
json.dump(signal, open(signal_file, "w"))
"""
FLOWS = {
    "simple": "run('quick')\n    log('one\\nline')\n    return {'prompt': prompt}",
    "gated": (
        "run('asker')\n    gate = pause('Deploy?')\n    if not gate:\n"
        "        return stuck(gate.reason)\n    run('quick')\n    return 'deployed'"
    ),
    "slow": "run('quick')\n    return run('slow').status",
    "both": "return parallel(lambda: run('slow').status, lambda: run('slower').status)",
    "broken": (
        "run('quick')\n    path = os.path.join({stage!r}, 'mended')\n"
        "    return step(lambda: open(path).read(), name='reads')"
    ),
    "lost": "return stuck('no way \\x1b[31m')",
    "sleepy": "sleep(0.3)\n    return run('quick').status",
    "worker": "return run('writer').status",
    "trio": "run('quick')\n    run('writer')\n    return run('quick').status",
}
HEAD = "import os\nfrom gatebell.api.flows import flow, log, parallel, pause, run, sleep, step, stuck\n"


class RunProject:
    """The flows above in a git repository, in the folder of the shells of a World."""

    def __init__(self, world):
        self.world = world
        self.folder = world.ada.folder
        self.stage = world.folder / "stage"
        self.stage.mkdir()
        agent = world.folder / "agent.py"
        agent.write_text(AGENT.format(python=sys.executable, stage=str(self.stage)))
        agent.chmod(0o755)
        for kind in ("flows", "agents"):
            (self.folder / ".gate" / kind).mkdir(parents=True)
        for role in ("quick", "asker", "slow", "slower", "writer"):
            text = f'---\ncommand: ["{agent}"]\n---\nYou are {role}.\n'
            (self.folder / ".gate" / "agents" / f"{role}.md").write_text(text)
        for name, body in FLOWS.items():
            code = f"{HEAD}\n\n@flow\ndef {name}(prompt):\n    {body}\n"
            code = code.replace("{stage!r}", repr(str(self.stage)))
            (self.folder / ".gate" / "flows" / f"{name}.py").write_text(code)
        self.git("init", "-q", "-b", "main")
        self.commit()

    def git(self, *words):
        who = ("-c", "user.name=ada", "-c", "user.email=ada@example.org")
        environ = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
        done = subprocess.run(
            ["git", "-C", self.folder, *who, *words], env=environ, check=True, capture_output=True
        )
        return done.stdout.decode()

    def commit(self):
        self.git("add", ".")
        self.git("commit", "-qm", "all")

    def go(self):
        """Let slow agents continue."""
        (self.stage / "go").touch()

    def pids(self, role="slow"):
        """Return the processes of a slow role."""
        path = self.stage / f"{role}.pid"
        return [int(line) for line in path.read_text().split()] if path.exists() else []

    def run(self, number):
        return self.world.store.runs.get(number)

    def ask(self, number):
        """Wait for the only ask of a run, and return it."""
        return eventually(lambda: self.world.store.asks.pending_of_run(number))[0]

    def is_in(self, number, *states):
        return eventually(lambda: (run := self.run(number)) and run.state in states and run)


def lives(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def seen(process, beginning):
    """Return its output up to a line with this start."""
    lines = []
    while not lines or not lines[-1].startswith(beginning):
        lines.append(process.stdout.readline())
        assert lines[-1], f"it ended before it said {beginning!r}: {lines}"
    return "".join(lines)


def wait_for_end(process):
    # `communicate` would lose the lines that were read ahead.
    out, err = process.stdout.read(), process.stderr.read()
    return process.wait(60), out, err


@pytest.fixture
def project(world):
    made = RunProject(world)
    yield made
    made.go()


@pytest.fixture
def started(world):
    """Start commands that end with the test."""
    processes = []

    def start(*words, **environ):
        processes.append(world.ada.start(*words, **environ))
        return processes[-1]

    yield start
    for process in processes:
        process.kill()
        process.communicate()
