"""Visits of a dead harness, and the log of claude about them."""

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
    """Make a visit look as if its process had been killed."""
    dead = dead_process()
    rewrite_visit(store, visit.id, process=dead)


def rewrite_visit(store: Any, visit_id: str, **columns: str) -> None:
    """Change the holder of a visit, which the product never does."""
    with store.transaction():
        for name, value in columns.items():
            store.connection.write(f"UPDATE visits SET {name} = ? WHERE id = ?", (value, visit_id))


def write_log(folder: Any, store: Any, session: str, *said: tuple[str, str]) -> None:
    """Write a log of a person and claude, with one second between messages."""
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
    """Start a process with the mark of a visit; it lives until the end of the test."""
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
