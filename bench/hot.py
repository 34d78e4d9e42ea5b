"""Compare the processor time of each command with that of a bare interpreter."""

from __future__ import annotations

import compileall
import json
import os
import subprocess
import sys
from contextlib import closing
from typing import TYPE_CHECKING, NamedTuple

from bench import stores
from bench.figures import Figure

import gatebell
from gatebell.domain.permissions.rules import Rule
from gatebell.services.asks.create_ask import Request

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gatebell.adapters.sqlite.store import SqliteStore

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
INTERPRETER = "python -c pass"
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


class Command(NamedTuple):
    """A command line, built again for each run, and the environment that names its store."""

    words: Callable[[], list[str]]
    environ: dict[str, str]
    stdin: str = os.devnull


def measure() -> Iterator[Figure]:
    compileall.compile_dir(os.path.dirname(gatebell.__file__), quiet=2)
    with stores.folder() as folder, closing(_store(folder, "quiet")) as store:
        commands = _commands(folder, store)
        best = dict.fromkeys(commands, float("inf"))
        for _ in range(ROUNDS):
            for name, command in commands.items():
                best[name] = min(best[name], cpu_seconds(command))
        bare = best[INTERPRETER]
        for name, seconds in best.items():
            detail = f"{seconds * 1e3:.1f} ms against {bare * 1e3:.1f} ms"
            limit = FORM_LIMIT if name == _FORM else LIMIT
            if name != INTERPRETER:
                yield Figure(name, seconds / bare, "×", limit, detail)
        loaded = {name: _slow_modules(command) for name, command in commands.items()}
    yield _count_loaded(loaded)


def _store(folder: str, name: str) -> SqliteStore:
    return stores.open_store(os.path.join(folder, f"{name}.db"))


def _commands(folder: str, store: SqliteStore) -> dict[str, Command]:
    """Return the commands by name. The store is the quiet one, in which a single ask waits."""
    form = Request("Where, and how many?", "form", schema=_SCHEMA)
    waiting = stores.ask(store)
    store.rules.add([Rule("g-222222", "grant", "Bash(git *)", "person:ada", store.now())], [])
    with closing(_store(folder, "busy")) as crowded:
        for _ in range(_A_FULL_PAGE):
            stores.ask(crowded)
    quiet, busy, new = (
        stores.environment(os.path.join(folder, f"{name}.db")) for name in ("quiet", "busy", "new")
    )
    return {
        INTERPRETER: Command(lambda: [_PYTHON, "-c", "pass"], quiet),
        "gate inbox": Command(lambda: [_GATE, "inbox"], quiet),
        f"gate inbox ({_A_FULL_PAGE} waiting)": Command(lambda: [_GATE, "inbox"], busy),
        "gate show ID": Command(lambda: [_GATE, "show", waiting], quiet),
        "gate ask --no-wait Q": Command(lambda: [_GATE, "ask", "--no-wait", "Which one?"], new),
        "gate answer ID VALUE": Command(
            lambda: [_GATE, "answer", stores.ask(store), "eu-central-1"], quiet
        ),
        _FORM: Command(lambda: [_GATE, "answer", stores.ask(store, form), _FILLED_IN], quiet),
        "gate wait ID (answered)": Command(lambda: [_GATE, "wait", _open_answered(store)], quiet),
        "gate hook claude (granted call)": Command(
            lambda: [_GATE, "hook", "claude"], quiet, write_event(folder, "PermissionRequest")
        ),
        "gate hook claude (end of a turn)": Command(
            lambda: [_GATE, "hook", "claude"], quiet, write_event(folder, "Stop")
        ),
    }


def write_event(folder: str, name: str) -> str:
    """Write the event of a host about a call that a rule allows."""
    path = os.path.join(folder, f"{name}.json")
    event = {
        "hook_event_name": name,
        "session_id": "s1",
        "cwd": folder,
        "tool_name": "Bash",
        "tool_input": {"command": "git push"},
    }
    with open(path, "w", encoding="utf-8") as file:
        json.dump(event, file)
    return path


def _open_answered(store: SqliteStore) -> str:
    ask_id = stores.ask(store)
    stores.answer(store, ask_id)
    return ask_id


def cpu_seconds(command: Command) -> float:
    """Return user and system time of one run, as the kernel counts them."""
    words = command.words()
    silent = [
        (os.POSIX_SPAWN_OPEN, 0, command.stdin, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
    ]
    child = os.posix_spawn(words[0], words, command.environ, file_actions=silent)
    _, status, used = os.wait4(child, 0)
    if status:
        raise RuntimeError(f"{' '.join(words)} failed: {os.waitstatus_to_exitcode(status)}")
    return used.ru_utime + used.ru_stime


def _slow_modules(command: Command) -> list[str]:
    """Return the slow modules that one run of a command imports."""
    run = [_PYTHON, "-X", "importtime", *(word for word in command.words() if word != _PYTHON)]
    with open(command.stdin, encoding="utf-8") as stdin:
        done = subprocess.run(
            run, env=command.environ, stdin=stdin, capture_output=True, text=True, check=True
        )
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    return [module for module in SLOW_MODULES if module in loaded]


def _count_loaded(by_command: dict[str, list[str]]) -> Figure:
    surplus = [
        f"{module} by {name}"
        for name, modules in by_command.items()
        for module in modules
        if (name, module) != (_FORM, "jsonschema_rs")
    ]
    detail = ", ".join(surplus) or f"none of {', '.join(SLOW_MODULES)}; the last only by a form"
    return Figure("slow modules loaded by these", len(surplus), "", 0, detail)
