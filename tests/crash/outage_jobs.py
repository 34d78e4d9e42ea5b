"""Processes on a PostgreSQL store that is out of reach now and then; forked like operation.py's."""

from __future__ import annotations

import importlib
import socket
import sys
from pathlib import Path
from typing import Any

import flow_jobs
import operation
import workers
from plays import Stage

from gatebell.adapters.postgres import wire
from gatebell.domain.asks.answers import Given
from gatebell.errors import AlreadySettledError, StoreError
from gatebell.services.asks import answer_ask

_RUNS_AT_ONCE = 6
_LEASE_SECONDS = 2.0


def starter(path: str, name: str, seed: int, resume: list[Any] | None) -> None:
    """Start runs, a few at once."""
    store, folder = workers.begin(path), Path(name)
    bell = store.bell()

    def start_one(number: int) -> None:
        workers.tell("try started", number)
        stage = Stage(folder / f"{seed}.{number}", path, "questions")
        workers.tell("started", stage.start(store))

    def start_some(number: int) -> None:
        active = workers.insist(lambda: store.runs.newest(_RUNS_AT_ONCE, active=True))
        if len(active) < _RUNS_AT_ONCE:
            try:
                start_one(number)
            except StoreError as error:
                # A start has no key: it may have been recorded, and another run follows.
                workers.tell("outage", str(error))
        else:
            workers.tell("idle")
            bell.wait(1)

    workers.repeat(start_some)


def runs_person(path: str, name: str, seed: int, resume: list[Any] | None) -> None:
    """Answer the questions of runs."""
    store, caller = workers.begin(path), workers.make_caller(name)
    bell = store.bell()

    def answer_one(ask_id: str, words: str) -> None:
        workers.tell("try answered", ask_id, words, caller.principal)
        try:
            answer_ask.answer(store, ask_id, caller, Given(words, key=words))
        except AlreadySettledError as late:
            workers.tell("late", ask_id, str(late))
        else:
            workers.tell("answered", ask_id, words, caller.principal)

    def answer_all(number: int) -> None:
        for run in workers.insist(lambda: store.runs.newest(100, active=True)):
            for ask in workers.insist(lambda run=run: store.asks.pending_of_run(run.id)):
                words = f"{name} says {ask.id} {number}"
                workers.insist(lambda ask=ask, words=words: answer_one(ask.id, words))
        workers.tell("idle")
        bell.wait(1)

    workers.repeat(answer_all)


def run_worker(path: str, name: str, seed: int, resume: list[Any] | None) -> None:
    flow_jobs.work(path, _LEASE_SECONDS)


def shorten_waits() -> None:
    """Give up a silent peer earlier than the product does, so that a test may be short."""
    wire.Wire.limit = 2.0
    wire._IDLE_SECONDS = 3
    wire.LASTING["connect_timeout"] = 2


operation.JOBS.update(starter=starter, runs_person=runs_person, run_worker=run_worker)

if __name__ == "__main__":
    # Imported before the first fork.
    for late in ("api.flows", "adapters.engines.local", "adapters.postgres.store"):
        importlib.import_module(f"gatebell.{late}")
    shorten_waits()
    operation.serve(socket.socket(fileno=int(sys.argv[1])))
