"""Visits in sessions whose harness is dead, and the log that claude wrote of them."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import timedelta
from typing import Any

import pytest

from gatebell.adapters.system import processes


def dead_process() -> str:
    """A process that has ended."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        return str(processes.identify(process.pid))


def kill_harness(store: Any, visit: Any) -> None:
    """As if whoever opened this visit had been killed."""
    dead = dead_process()
    rewrite_visit(store, visit.id, process=dead)


def rewrite_visit(store: Any, visit_id: str, **columns: str) -> None:
    """Who opened a visit is written once; here it becomes somebody else's."""
    with store.transaction():
        for name, value in columns.items():
            store.connection.write(f"UPDATE visits SET {name} = ? WHERE id = ?", (value, visit_id))


def write_log(folder: Any, store: Any, session: str, *said: tuple[str, str]) -> None:
    """What a person and claude said, each a second later than the one before."""
    path = folder / "claude" / "projects" / "p" / f"{session}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = []
    for number, (kind, text) in enumerate(said, 1):
        at = (store.now() + timedelta(seconds=number)).isoformat()
        message = {"role": kind, "content": [{"type": "text", "text": text}]}
        lines.append(json.dumps({"type": kind, "timestamp": at, "message": message}))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


@pytest.fixture
def orphan():
    """Starts a process that carries the mark of a visit; it lives until the test is over."""
    started = []

    def start(mark):
        child = subprocess.Popen(
            [sys.executable, "-c", "print(flush=True); input('\x1b[2J')", "x" * 60],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={"GATE_TURN": mark},
        )
        # While a program is being loaded, its environment cannot be read.
        child.stdout.readline()
        started.append(child)
        return child

    yield start
    for child in started:
        child.communicate(b"\n")
