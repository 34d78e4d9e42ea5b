"""Processes that drive runs: one that is struck at a chosen point, and workers.

Forked like those of operation.py. A point is before and after each effect that outlives the
process: every write of a run or an ask, and every turn of an agent.
"""

from __future__ import annotations

import importlib
import os
import shutil
import signal
import socket
import sys
import threading
from collections.abc import Callable
from contextlib import closing
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import operation
import workers

from gatebell.adapters.agents import agent_process
from gatebell.app import runtime, wiring
from gatebell.domain.runs.runs import RunChange
from gatebell.ports.store import Store
from gatebell.services.runs import claims
from gatebell.services.runs.dependencies import RunDependencies
from gatebell.services.runs.drive_run import Driver

_POLL_SECONDS = 0.005


class Striker:
    """Counts points, all or those of one name, and strikes this process at one of them."""

    def __init__(self, point: int, fault: str, where: str) -> None:
        self._point, self._where = point, where
        self._signal = signal.Signals[fault]
        self._lock = threading.RLock()
        self.passed = 0
        self.struck = False

    def around(self, owner: Any, name: str) -> None:
        """Put points before and after a method."""
        verb = getattr(owner, name)

        def between(*arguments: Any, **named: Any) -> Any:
            told = _describe_point(name, arguments[0])
            self._pass(f"before {told}")
            done = verb(*arguments, **named)
            self._pass(f"after {told}")
            return done

        setattr(owner, name, between)

    def around_write(self, owner: Any, name: str) -> None:
        """Put points around a write; a stop never comes inside it, where all others wait."""
        write = getattr(owner, name)

        def alone(*arguments: Any, **named: Any) -> Any:
            with self._lock:
                return write(*arguments, **named)

        setattr(owner, name, alone)
        if name != "extend":
            self.around(owner, name)

    def _pass(self, where: str) -> None:
        with self._lock:
            self.passed += self._where in ("", where)
            if self.passed == self._point and not self.struck and self._where in ("", where):
                self.struck = True
                workers.tell("struck", where)
                # To this thread, which stops at once; another thread might notice it late.
                signal.pthread_kill(threading.get_ident(), self._signal)


def _describe_point(name: str, subject: Any) -> str:
    """Describe a point: `change 2 recorded`, `change 1 open, turn over`, `run`."""
    if not isinstance(subject, RunChange):
        return name
    parts = [f"{call.path} {call.state}" for call in subject.calls] or [subject.run.state]
    parts += ["turn over" if turn.ended_at else "turn" for turn in subject.turns]
    return f"{name} {', '.join(parts)}"


def shorten_lease(seconds: float) -> None:
    """Shorten leases so that they expire while a test waits."""
    claims.LEASE = timedelta(seconds=seconds)
    claims._BEAT_SECONDS = seconds / 3
    claims._GRACE_SECONDS = seconds / 4
    claims._PAUSE = timedelta(seconds=seconds / 10)


def get_ready() -> None:
    # The server that forked this ignores its children; a process that runs agents must not.
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.write(1, b"READY\n")
    workers.may_start()


def untie_agents() -> None:
    """Let agents outlive their worker, as where the kernel cannot end them with it."""
    agent_process.shutil = SimpleNamespace(
        which=lambda word, **more: None if word == "setpriv" else shutil.which(word, **more)
    )


def drive(path: str, run_id: int, point: tuple[int, str, str], lease: float) -> None:
    """Drive one run to its end; report when it waits for people, and continue at the next byte."""
    if lease:
        shorten_lease(lease)
    striker = Striker(*point)
    with closing(wiring.open_store(path)) as store:
        get_ready()
        driver = Driver(store, _struck_dependencies(store, striker))
        while not striker.struck:
            run = store.runs.get(run_id)
            assert run
            if run.has_ended:
                workers.tell("ended", striker.passed)
                break
            if run.state == "waiting_human":
                workers.tell("parked")
                if not workers.may_start():
                    return
            elif run_id in store.runs.ready(1) or run.state == "running":
                driver.drive(run)
            threading.Event().wait(_POLL_SECONDS)
        driver.close()


def _struck_dependencies(store: Store, striker: Striker) -> RunDependencies:
    for name in ("change", "extend"):
        striker.around_write(store.runs, name)
    for name in ("open", "change"):
        striker.around_write(store.asks, name)
    needs = runtime.build_dependencies(store)

    def driver(role: Any, work: Callable[..., Any] | None) -> Any:
        made = needs.agents.driver(role, work)
        striker.around(made, "run")
        return made

    return needs._replace(agents=SimpleNamespace(driver=driver))


def work(path: str, lease: float = 0, slow: str = "", tied: bool = True) -> None:
    """Work until killed; the kernel ends an agent with its worker only where that is `tied`."""
    if lease:
        shorten_lease(lease)
    if slow:
        os.environ["CHAOS_SLOW"] = slow
    if not tied:
        untie_agents()
    with closing(wiring.open_store(path)) as store:
        get_ready()
        runtime.build_worker(store, runtime.build_driver(store), 3).work()


operation.JOBS.update(drive=drive, work=work)

if __name__ == "__main__":
    for late in (
        *("api.flows", "api.phases", "adapters.agents.command", "adapters.engines.local"),
        "adapters.git.worktrees",
    ):
        importlib.import_module(f"gatebell.{late}")
    operation.serve(socket.socket(fileno=int(sys.argv[1])))
