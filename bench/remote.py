"""Compare the processor time of commands that speak to a server with that of a bare interpreter."""

from __future__ import annotations

import compileall
import os
import subprocess
import sys
import time
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

from bench import hot, stores
from bench.figures import Figure
from bench.web import run_up

import gatebell
from gatebell.app.wiring import open_throwaway_store
from gatebell.domain.asks.answers import Given
from gatebell.domain.people.principals import Caller, person
from gatebell.domain.permissions.rules import Scope
from gatebell.services.asks import answer_ask
from gatebell.services.people import manage_people

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bench.hot import Command

    from gatebell.ports.store import Store

LIMIT = 5.0
_GRANTED = "gate hook claude (granted call)"
_GATE = os.path.join(os.path.dirname(sys.executable), "gate")
_CERTIFICATE = (
    "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=127.0.0.1 "
    "-addext subjectAltName=IP:127.0.0.1 -days 2"
)


def measure() -> Iterator[Figure]:
    compileall.compile_dir(os.path.dirname(gatebell.__file__), quiet=2)
    with stores.folder() as folder:
        path = os.path.join(folder, "gate.db")
        with closing(open_throwaway_store(path)) as store:
            caller = Caller(person("bench"), verified=False, via="cli", agent=None, evidence={})
            agent = manage_people.add(store, caller, "asker", ["ask"])
            token = manage_people.add(store, caller, "ada")
            for tls in (False, True):
                with _serve(folder, path, tls=tls) as environ:
                    yield from _measure(store, environ, agent, token, folder, tls=tls)


@contextmanager
def _serve(folder: str, path: str, *, tls: bool) -> Iterator[dict[str, str]]:
    """Run a server; yield the variables by which clients find it."""
    if not tls:
        with run_up(path) as (_, port):
            yield {"GATE_SERVER": f"http://127.0.0.1:{port}"}
        return
    cert, key = (os.path.join(folder, name) for name in ("cert.pem", "key.pem"))
    words = [*_CERTIFICATE.split(), "-out", cert, "-keyout", key]
    subprocess.run(words, check=True, capture_output=True)
    with run_up(path, f"--tls-cert={cert}", f"--tls-key={key}") as (_, port):
        yield {"GATE_SERVER": f"https://127.0.0.1:{port}", "GATE_CA": cert}


def _measure(
    store: Store, server: dict[str, str], agent: str, token: str, folder: str, *, tls: bool
) -> Iterator[Figure]:
    base = {k: v for k, v in stores.environment("").items() if k != "GATE_STORE"}
    asker = base | server | {"GATE_TOKEN": agent, "HOME": folder}
    person_ = base | server | {"GATE_TOKEN": token, "HOME": folder}
    commands = _commands(store, asker, person_, folder)
    _grant(store, commands[_GRANTED])
    best = dict.fromkeys(commands, float("inf"))
    for _ in range(hot.ROUNDS):
        for name, command in commands.items():
            best[name] = min(best[name], hot.cpu_seconds(command))
    bare = best.pop(hot.INTERPRETER)
    way = "TLS" if tls else "on this machine"
    for name, seconds in best.items():
        detail = f"{seconds * 1e3:.1f} ms against {bare * 1e3:.1f} ms"
        yield Figure(f"{name}, server, {way}", seconds / bare, "×", LIMIT, detail)


def _grant(store: Store, hook: Command) -> None:
    """Let a person grant the call once it is asked: a grant is for the token that asked."""
    caller = Caller(person("ada"), verified=True, via="web", agent=None, evidence={})
    with (
        open(hook.stdin, encoding="utf-8") as event,
        subprocess.Popen(
            hook.words(), env=hook.environ, stdin=event, stdout=subprocess.DEVNULL
        ) as asking,
    ):
        # It ends by itself if an earlier grant covers the call.
        while asking.poll() is None:
            for one in store.asks.pending(100):
                if one.question.call:
                    answer_ask.answer(store, one.id, caller, Given("yes", scope=Scope("hour")))
            time.sleep(0.05)


def _commands(
    store: Store, asker: dict[str, str], person_: dict[str, str], folder: str
) -> dict[str, Command]:
    def open_own(*, answered: bool) -> str:
        words = [_GATE, "ask", "--no-wait", "Which one?"]
        ran = subprocess.run(words, env=asker, capture_output=True, text=True, check=True)
        ask_id = ran.stdout.strip()
        if answered:
            stores.answer(store, ask_id)
        return ask_id

    event = hot.write_event(folder, "PermissionRequest")
    stop = hot.write_event(folder, "Stop")
    return {
        hot.INTERPRETER: hot.Command(lambda: [sys.executable, "-c", "pass"], asker),
        "gate ask --no-wait Q": hot.Command(
            lambda: [_GATE, "ask", "--no-wait", "Which one?"], asker
        ),
        "gate wait ID (answered)": hot.Command(
            lambda: [_GATE, "wait", open_own(answered=True)], asker
        ),
        "gate inbox": hot.Command(lambda: [_GATE, "inbox", "--limit", "5"], person_),
        "gate answer ID VALUE": hot.Command(
            lambda: [_GATE, "answer", open_own(answered=False), "eu-central-1"], person_
        ),
        _GRANTED: hot.Command(lambda: [_GATE, "hook", "claude"], asker, event),
        "gate hook claude (end of a turn)": hot.Command(
            lambda: [_GATE, "hook", "claude"], asker, stop
        ),
    }
