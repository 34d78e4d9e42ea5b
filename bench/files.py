"""Measure how soon a listener shows a question, and how soon the asker prints the answer."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
import uuid
from importlib.resources import files
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from bench import measured, stores
from bench.figures import Figure

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import IO

    from gatebell.adapters.sqlite.store import SqliteStore

ROUNDS = 20
LIMIT_MILLISECONDS = 50.0
LIMIT_PERCENT = 2.0
IDLE_SECONDS = 10.0

_BIN = os.path.dirname(sys.executable)
_HELPERS = ("", "questions", "answers", "agents", "queue")
# So that no process is still awake from the previous answer.
_PAUSE_SECONDS = 0.3
# The listener checks the files at intervals: answers must not always come just after a check.
_SPREAD_SECONDS = 0.2
_POLL_SECONDS = 0.001


class _Asked(NamedTuple):
    """A question: its ask, when it was sent and when shown, and how its asker is heard."""

    ask_id: str
    at: float
    shown_at: float
    told: Callable[[], float]
    """Wait for the answer, and return the time of its arrival."""


def measure() -> Iterator[Figure]:
    with stores.folder() as folder:
        project = os.path.join(folder, "project")
        for name in ("../project", *(f".helpers/{one}" for one in _HELPERS)):
            os.makedirs(os.path.join(project, name), 0o700, exist_ok=True)
        environ = stores.environment(os.path.join(folder, "gate.db"))
        environ["PATH"] = f"{_BIN}:{environ['PATH']}"
        store = stores.open_store(environ["GATE_STORE"])
        listener = subprocess.Popen(
            [sys.executable, "-m", "gatebell", "listen", "--no-prompt", "--json"],
            cwd=project, env=environ, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        try:
            assert listener.stdout
            listener.stdout.readline()
            yield from _with_gate(store, listener.stdout, project, environ)
            yield from _by_files(store, listener.stdout, project)
            yield _idle(listener.pid)
        finally:
            listener.terminate()
            listener.wait()
            store.close()


def _with_gate(
    store: SqliteStore, lines: IO[str], project: str, environ: dict[str, str]
) -> Iterator[Figure]:
    """Ask by the script, which then is `gate ask`."""
    script = str(files("gatebell") / "install" / "scripts" / "ask-human.sh")

    def ask(number: int) -> _Asked:
        asker = subprocess.Popen(
            ["bash", script, f"Question {number}?"],
            cwd=project, env=environ, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        )  # fmt: skip
        ask_id, shown_at = _event(lines, "queued")
        opened = store.asks.get(ask_id)
        assert opened

        def wait_for_answer() -> float:
            assert asker.stdout
            asker.stdout.readline()
            at = time.time()
            asker.communicate()
            return at

        return _Asked(ask_id, opened.opened_at.timestamp(), shown_at, wait_for_answer)

    return _figures("with gate", "stdout", store, lines, ask)


def _by_files(store: SqliteStore, lines: IO[str], project: str) -> Iterator[Figure]:
    """Ask by the files alone, until the answer's file; `file_script` measures the script."""
    helpers = os.path.join(project, ".helpers")

    def ask(number: int) -> _Asked:
        key, at = str(uuid.uuid4()), time.time()
        name = f"_agent_{number}_{int(at)}_{key}.json"
        beside = os.path.join(helpers, "questions", f".tmp.{key}")
        with open(beside, "w", encoding="utf-8") as file:
            json.dump({"id": key, "content": f"Question {number}?"}, file)
        at = time.time()
        os.rename(beside, os.path.join(helpers, "questions", f"q{name}"))
        ask_id, shown_at = _event(lines, "queued")

        def wait_for_answer() -> float:
            while not os.path.exists(os.path.join(helpers, "answers", f"a{name}")):
                time.sleep(_POLL_SECONDS)
            seen = time.time()
            os.unlink(os.path.join(helpers, "answers", f"a{name}"))
            os.unlink(os.path.join(helpers, "questions", f"q{name}"))
            return seen

        return _Asked(ask_id, at, shown_at, wait_for_answer)

    return _figures("by files", "file", store, lines, ask)


def _figures(
    how: str, where: str, store: SqliteStore, lines: IO[str], ask: Callable[[int], _Asked]
) -> Iterator[Figure]:
    shown, told, dice = [], [], random.Random(1)
    for number in range(ROUNDS):
        asked = ask(number)
        shown.append((asked.shown_at - asked.at) * 1e3)
        time.sleep(_PAUSE_SECONDS)
        stores.answer(store, asked.ask_id)
        answered = time.time()
        told.append((asked.told() - answered) * 1e3)
        _event(lines, "answered")
        time.sleep(dice.uniform(_PAUSE_SECONDS, _PAUSE_SECONDS + _SPREAD_SECONDS))
    for what, late in ((f"question to shown, {how}", shown), (f"answer to {where}, {how}", told)):
        detail = f"max {max(late):.1f} ms of {len(late)}"
        yield Figure(what, median(late), "ms", LIMIT_MILLISECONDS, detail)


def _event(lines: IO[str], wanted: str) -> tuple[str, float]:
    """Return the next ask of these, and the time of its arrival."""
    while True:
        event = json.loads(lines.readline())
        if event["event"] == wanted:
            return event["ask"], time.time()


def _idle(pid: int) -> Figure:
    time.sleep(1)
    before, began = measured.cpu_seconds(pid), time.monotonic()
    time.sleep(IDLE_SECONDS)
    percent = (measured.cpu_seconds(pid) - before) / (time.monotonic() - began) * 100
    return Figure("listener without a question", percent, "%", LIMIT_PERCENT, "one core")
