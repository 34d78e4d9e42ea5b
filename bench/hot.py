"""What a command costs, in bare interpreters: the processor time of both, side by side."""

from __future__ import annotations

import compileall
import json
import os
import sys
from itertools import count
from typing import TYPE_CHECKING

from bench import stores
from bench.figures import Figure

import humangate
from humangate.service.asking import Request

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from humangate.store.sqlite.store import SqliteStore

ROUNDS = 20
LIMIT = 5.0
FORM_LIMIT = 6.5
SLOW_MODULES = (
    "asyncio",
    "logging",
    "subprocess",
    "importlib.metadata",
    "http.client",
    "tomllib",
    "jsonschema_rs",
)

_PYTHON = sys.executable
_GATE = os.path.join(os.path.dirname(_PYTHON), "gate")
_INTERPRETER = "python -c pass"
_FORM = "gate answer ID VALUE (form)"
_A_FULL_PAGE = 50
_SCHEMA = {
    "type": "object",
    "properties": {
        "region": {"enum": ["eu-central-1", "us-east-1"]},
        "replicas": {"type": "integer", "minimum": 1},
        "contact": {"type": "string", "format": "email"},
    },
    "required": ["region"],
}
_FILLED_IN = json.dumps({"region": "eu-central-1", "replicas": 3})


def measure() -> Iterator[Figure]:
    compileall.compile_dir(os.path.dirname(humangate.__file__), quiet=2)
    with stores.folder() as folder:
        quiet, busy = os.path.join(folder, "quiet.db"), os.path.join(folder, "busy.db")
        commands = _commands(quiet, busy)
        best = dict.fromkeys(commands, float("inf"))
        for _ in range(ROUNDS):
            for name, (path, words) in commands.items():
                best[name] = min(best[name], _cpu_seconds(words(), stores.environment(path)))
        bare = best.pop(_INTERPRETER)
        for name, seconds in best.items():
            path, words = commands[name]
            loaded = _slow_modules(words(), stores.environment(path))
            allowed = ["jsonschema_rs"] if name == _FORM else []
            detail = f"{seconds * 1e3:.1f} ms against {bare * 1e3:.1f} ms"
            limit = FORM_LIMIT if name == _FORM else LIMIT
            yield Figure(name, seconds / bare, "×", limit, detail)
            surplus = [module for module in loaded if module not in allowed]
            what = f"{name}: slow modules loaded"
            yield Figure(what, len(surplus), "", 0, ", ".join(loaded) or "none")


def _commands(quiet: str, busy: str) -> dict[str, tuple[str, Callable[[], list[str]]]]:
    """By name: the store it works on, and its words, made anew for each run."""
    store = stores.open_store(quiet)
    form = Request("Where, and how many?", "form", schema=_SCHEMA)
    waiting, crowded = stores.ask(store), stores.open_store(busy)
    for _ in range(_A_FULL_PAGE):
        stores.ask(crowded)
    runs = count()
    return {
        _INTERPRETER: (quiet, lambda: [_PYTHON, "-c", "pass"]),
        "gate inbox": (quiet, lambda: [_GATE, "inbox"]),
        f"gate inbox ({_A_FULL_PAGE} waiting)": (busy, lambda: [_GATE, "inbox"]),
        "gate show ID": (quiet, lambda: [_GATE, "show", waiting]),
        "gate ask --no-wait Q": (
            os.path.join(os.path.dirname(quiet), "asked.db"),
            lambda: [_GATE, "ask", "--no-wait", f"Question {next(runs)}?"],
        ),
        "gate answer ID VALUE": (
            quiet,
            lambda: [_GATE, "answer", stores.ask(store), "eu-central-1"],
        ),
        _FORM: (quiet, lambda: [_GATE, "answer", stores.ask(store, form), _FILLED_IN]),
        "gate wait ID (answered)": (quiet, lambda: [_GATE, "wait", _answered(store)]),
    }


def _answered(store: SqliteStore) -> str:
    ask_id = stores.ask(store)
    stores.answer(store, ask_id)
    return ask_id


def _cpu_seconds(words: list[str], environ: dict[str, str]) -> float:
    """User and system time of one run, as the kernel counts them."""
    silent = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
    child = os.posix_spawn(words[0], words, environ, file_actions=silent)
    _, status, used = os.wait4(child, 0)
    if status:
        raise RuntimeError(f"{' '.join(words)} failed: {os.waitstatus_to_exitcode(status)}")
    return used.ru_utime + used.ru_stime


def _slow_modules(words: list[str], environ: dict[str, str]) -> list[str]:
    # Imported here, so that it stays out of the memory of the processes forked elsewhere.
    import subprocess

    run = [_PYTHON, "-X", "importtime", *words]
    told = subprocess.run(run, env=environ, capture_output=True, text=True, check=True).stderr
    loaded = {line.rpartition("|")[2].strip() for line in told.splitlines()}
    return [module for module in SLOW_MODULES if module in loaded]
