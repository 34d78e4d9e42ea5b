"""Workers of one host with any engine, a program that starts runs there, and a person.

Forked like those of operation.py. A host is a value of GATE_HOST.
"""

from __future__ import annotations

import ctypes
import importlib
import logging
import os
import socket
import sys
import threading
from pathlib import Path

import flow_jobs
import operation
import outage_jobs
import workers
from plays import Stage

from gatebell.app import engines, runtime, settings
from gatebell.domain.asks.answers import Given
from gatebell.domain.asks.asks import Ask
from gatebell.domain.digests import text_digest
from gatebell.domain.enums import RunState
from gatebell.domain.runs.runs import RunChange
from gatebell.errors import AlreadySettledError, StoreError
from gatebell.ports.store import Store
from gatebell.services.asks import answer_ask
from gatebell.services.runs import manage_runs
from gatebell.services.runs.manage_runs import RunRequest

SLOTS = 3
_KEY = "name:errands"
_NEW_NETWORK = 0x40000000


def engine_worker(environ: dict[str, str], lease: float, project: str, tied: bool) -> None:
    """Work as `gate worker` does, until killed."""
    _move_to(environ)
    flow_jobs.shorten_lease(lease)
    if not tied:
        flow_jobs.untie_agents()
    flow_jobs.get_ready()
    part = engines.Part([project])
    workers.insist(lambda: runtime.BackgroundWorker(SLOTS, (), None, part))
    workers.tell("working")
    threading.Event().wait()


def engine_starter(
    environ: dict[str, str], folder: str, at_once: int, in_pool: bool, clone: str = ""
) -> None:
    """Keep a number of runs under way; with `in_pool`, half of them begin without a home.

    With a clone, the runs have folders of their own, which may travel.
    """
    _move_to(environ)
    store = workers.begin(environ["GATE_STORE"])
    bell = store.bell()

    def start_some(number: int) -> None:
        if len(workers.insist(lambda: store.runs.newest(at_once, active=True))) == at_once:
            bell.wait(0.2)
            return
        try:
            place = Path(folder) / str(number)
            if clone:
                _start_journey(store, place, clone)
            else:
                _start_run(store, place, in_pool and number % 2 == 1)
        except StoreError as error:
            # A start has no key: it may have been recorded, and another run follows.
            workers.tell("outage", str(error))

    workers.repeat(start_some)


def _start_run(store: Store, folder: Path, in_pool: bool) -> None:
    stage = Stage(folder, "", "errand")
    source = stage.project / ".gate" / "flows" / "errand.py"
    digest = text_digest(source.read_text(encoding="utf-8"))
    project = str(stage.project)
    request = RunRequest(
        "errand",
        str(source),
        digest,
        "",
        project,
        in_place=True,
        begin=not in_pool,
        project_key=_KEY,
    )
    made, _ = manage_runs.start(store, runtime.workspace(store), request, operation.ADA)
    if in_pool:
        pool = settings.pool(os.environ)
        ready = made._replace(state=RunState.READY, reason="", host="", pool=pool)
        assert store.runs.change(RunChange(ready), made)
    workers.tell("started", made.id)


def _start_journey(store: Store, ledgers: Path, clone: str) -> None:
    ledgers.mkdir(parents=True)
    source = Path(clone) / ".gate" / "flows" / "journey.py"
    digest = text_digest(source.read_text(encoding="utf-8"))
    request = RunRequest("journey", str(source), digest, str(ledgers), clone, project_key=_KEY)
    made, _ = manage_runs.start(store, runtime.workspace(store), request, operation.ADA)
    workers.tell("started", made.id)


def engine_person(path: str) -> None:
    """Answer the questions of all runs."""
    store = workers.begin(path)
    bell = store.bell()

    def answer_all(_: int) -> None:
        for run in workers.insist(lambda: store.runs.newest(100, active=True)):
            for ask in workers.insist(lambda run=run: store.asks.pending_of_run(run.id)):
                workers.insist(lambda ask=ask: _answer(store, ask))
        bell.wait(0.2)

    workers.repeat(answer_all)


def _answer(store: Store, ask: Ask) -> None:
    prompt = ask.question.prompt
    if prompt.startswith("Host "):
        # It only waits for its host.
        return
    if "died one after another" in prompt:
        given = Given("Try again", key=ask.id)
    elif prompt == "Go on?":
        given = Given("yes", "go", key=ask.id)
    else:
        workers.tell("error", f"an unexpected question: {prompt!r}")
        given = Given(None)
    try:
        answer_ask.answer(store, ask.id, operation.ADA, given)
        workers.tell("answered", ask.id)
    except AlreadySettledError:
        # The reply to this answer was lost, and it was given again.
        workers.tell("late", ask.id)


def _move_to(environ: dict[str, str]) -> None:
    os.environ.update(environ)
    if network := environ.get("CHAOS_NETWORK"):
        # Before the first thread: a network belongs to a thread and those that it starts.
        with open(network, "rb") as file:
            assert not ctypes.CDLL(None).setns(file.fileno(), _NEW_NETWORK)
    logging.basicConfig(filename=environ["CHAOS_LOG"], format="%(asctime)s %(process)d %(message)s")


operation.JOBS.update(
    engine_worker=engine_worker, engine_starter=engine_starter, engine_person=engine_person
)

if __name__ == "__main__":
    # Imported before the first fork.
    for late in (
        *("api.flows", "adapters.agents.command", "adapters.git.worktrees", "services.members"),
        *("adapters.engines.local", "adapters.engines.procrastinate", "adapters.postgres.store"),
        "adapters.files.backlog_settings",
    ):
        importlib.import_module(f"gatebell.{late}")
    outage_jobs.shorten_waits()
    operation.serve(socket.socket(fileno=int(sys.argv[1])))
