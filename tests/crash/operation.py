"""One operation in a process of its own, forked from a server that has imported everything.

The process opens its store, prints READY, and waits for a byte. After that it performs only the
operation. When the verb has returned, it prints ACK in one write.
"""

from __future__ import annotations

import ctypes
import gc
import json
import os
import signal
import socket
import sys
import tempfile
import traceback
from collections.abc import Callable
from contextlib import closing, suppress
from datetime import UTC, datetime
from typing import Any, NamedTuple

import workers

from gatebell.app import wiring
from gatebell.domain.asks.answers import Given
from gatebell.domain.asks.asks import Origin
from gatebell.domain.people.principals import Caller
from gatebell.domain.runs.journals import Carried
from gatebell.domain.runs.runs import Run
from gatebell.ports.store import Store
from gatebell.services.asks import (
    answer_ask,
    apply_deadlines,
    ask_messages,
    create_ask,
    wait_for_ask,
)
from gatebell.services.asks.create_ask import Request
from gatebell.services.people import manage_people
from gatebell.testing import FakeClock

ADA = Caller("person:ada", verified=False, via="cli", agent=None, evidence={"uid": 1000})
ORIGIN = Origin(project="shop", session="claude/s1", started_by="person:ada", owner="run-1")
LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)
SECRET = "swordfish-of-the-crash-harness"

_PR_SET_PDEATHSIG = 1
_PR_SET_PTRACER = 0x59616D61
_ANYBODY = ctypes.c_ulong(-1)


class Scene(NamedTuple):
    """The place of an operation, and its ask."""

    path: str
    ask_id: str = ""
    store: Store | None = None


class Operation(NamedTuple):
    prepare: Callable[[str], str]
    """Make the store for the operation; return the id of its ask."""
    perform: Callable[[Scene], Any]


def nothing(path: str) -> str:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    return ""


def no_ask(path: str) -> str:
    wiring.open_store(path).close()
    return ""


def pending(path: str, owner: str = ORIGIN.owner, **more: Any) -> str:
    with closing(wiring.open_store(path, FakeClock(LONG_AGO))) as store:
        request = Request("May it go out?", **{"kind": "approval", **more})
        return create_ask.ask(store, request, ORIGIN._replace(owner=owner), ADA).ask.id


def park(path: str) -> str:
    """Make an ask that a run waits for."""
    ask_id = pending(path, owner="run:1/1")
    with closing(wiring.open_store(path, FakeClock(LONG_AGO))) as store:
        new = Run(0, "ship", "ship.py", "", "", "shop", "person:ada", LONG_AGO)
        store.runs.add(new._replace(state="waiting_human"), [], Carried())
    return ask_id


def overdue(path: str) -> str:
    return pending(path, expires_seconds=60)


def open_answered(path: str, value: str = "yes", **more: Any) -> str:
    ask_id = pending(path, **more)
    with closing(wiring.open_store(path)) as store:
        answer_ask.answer(store, ask_id, ADA, Given(value))
    return ask_id


def secretly_answered(path: str) -> str:
    return open_answered(path, SECRET, kind="text", secret=True)


def asked_back(path: str) -> str:
    ask_id = pending(path)
    with closing(wiring.open_store(path)) as store:
        ask_messages.ask_back(store, ask_id, ADA, "To whom?")
    return ask_id


def ask(scene: Scene) -> Any:
    return create_ask.ask(scene.store, Request("May it go out?", "approval"), ORIGIN, ADA).ask.id


def answer(scene: Scene) -> Any:
    given = Given("yes", "but gently", key="once")
    return answer_ask.answer(scene.store, scene.ask_id, ADA, given)[1].decision


def refuse(scene: Scene) -> Any:
    """Give an answer that settles nothing and is kept."""
    try:
        answer_ask.answer(scene.store, scene.ask_id, ADA, Given("perhaps", key="once"))
    except answer_ask.RefusedError as refusal:
        return str(refusal)
    return None


def take(scene: Scene) -> Any:
    found = create_ask.get(scene.store, scene.ask_id)
    return wait_for_ask.take(scene.store, found, "agent:claude/s1")


def cancel(scene: Scene) -> Any:
    return create_ask.cancel(scene.store, scene.ask_id, ADA, "not needed any more").status


def expire(scene: Scene) -> Any:
    return apply_deadlines.fall_due(scene.store, create_ask.get(scene.store, scene.ask_id)).status


def ask_back(scene: Scene) -> Any:
    return ask_messages.ask_back(scene.store, scene.ask_id, ADA, "To whom?").asked_back


def reply(scene: Scene) -> Any:
    return ask_messages.reply(scene.store, scene.ask_id, ADA, "To everybody.").heard


def add_person(scene: Scene) -> Any:
    return bool(manage_people.add(scene.store, ADA, "grace"))


def migrate(scene: Scene) -> Any:
    wiring.open_store(scene.path).close()
    return "made"


OPERATIONS = {
    "ask": Operation(no_ask, ask),
    "answer": Operation(pending, answer),
    "answer_run": Operation(park, answer),
    "refuse": Operation(pending, refuse),
    "take": Operation(open_answered, take),
    "take_secret": Operation(secretly_answered, take),
    "cancel": Operation(pending, cancel),
    "expire": Operation(overdue, expire),
    "ask_back": Operation(pending, ask_back),
    "reply": Operation(asked_back, reply),
    "add_person": Operation(no_ask, add_person),
    "migrate": Operation(nothing, migrate),
}


def acknowledge(result: Any) -> None:
    os.write(1, f"ACK {json.dumps(result)}\n".encode())


def enter(scene: Scene) -> Scene:
    """Open the store if it exists; otherwise the operation itself makes it."""
    there = os.path.exists(scene.path)
    return scene._replace(store=wiring.open_store(scene.path)) if there else scene


def perform(operation: str, path: str, ask_id: str) -> None:
    """Try once for every byte that arrives, until it succeeds or the input is closed."""
    scene = enter(Scene(path, ask_id))
    os.write(1, b"READY\n")
    while workers.may_start():
        try:
            acknowledge(OPERATIONS[operation].perform(scene))
        except Exception as error:
            os.write(1, f"ERR {type(error).__name__}: {error}\n".encode())
        else:
            return


def stay_open(path: str, rounds: int) -> None:
    """Run many verbs in one process, each acknowledged."""
    with closing(wiring.open_store(path)) as store:
        os.write(1, b"READY\n")
        workers.may_start()
        for number in range(rounds):
            request = Request(f"Step {number}?", "approval")
            ask_id = create_ask.ask(store, request, ORIGIN, ADA).ask.id
            acknowledge("asked")
            acknowledge(answer(Scene(path, ask_id, store)))
            acknowledge(take(Scene(path, ask_id, store)))


JOBS = {
    "perform": perform,
    "stay_open": stay_open,
    "asker": workers.asker,
    "answerer": workers.answerer,
    "taker": workers.taker,
    "rival": workers.rival,
}


def live(job: str, arguments: dict[str, Any], stdin: int, stdout: int) -> None:
    """Run a forked process from its start to its end."""
    code = 1
    try:
        os.dup2(stdin, 0)
        os.dup2(stdout, 1)
        os.close(stdin)
        os.close(stdout)
        libc = ctypes.CDLL(None)
        libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        # Needed where only ancestors may trace a process.
        libc.prctl(_PR_SET_PTRACER, _ANYBODY)
        JOBS[job](**arguments)
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        # Without a clean exit of Python: a process that crashes does not close its store.
        os._exit(code)


def rehearse() -> None:
    """Do everything once, so that late imports are not among the calls of an operation."""
    with tempfile.TemporaryDirectory() as folder:
        for name, operation in OPERATIONS.items():
            path = os.path.join(folder, name, "gate.db")
            scene = Scene(path, operation.prepare(path))
            with suppress(Exception):
                operation.perform(enter(scene))
    # A garbage collection must not run during an operation either.
    gc.collect()
    gc.disable()


def serve(channel: socket.socket) -> None:
    """Fork a process for every request, until the other side hangs up."""
    rehearse()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        message, (*pipes,), _, _ = socket.recv_fds(channel, 65536, 2)
        if not message:
            return
        pid = os.fork()
        if pid == 0:
            channel.close()
            live(**json.loads(message), stdin=pipes[0], stdout=pipes[1])
        for pipe in pipes:
            os.close(pipe)
        channel.send(str(pid).encode())


if __name__ == "__main__":
    serve(socket.socket(fileno=int(sys.argv[1])))
