"""Workers that are killed or stopped at random while they drive runs with agents and people."""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Self

import pytest
from nursery import Child, Nursery
from plays import Person, Stage, all_asks, damage, is_doubt, violations
from telling import tell

from gatebell.app import wiring
from gatebell.ports.store import Store

WORKERS = 4
RUNS_AT_ONCE = 6
LEASE_SECONDS = 1.5
SLOW = "0.05"
MAX_LIFE_SECONDS = 0.5
STOPPED_SECONDS = (2.5, 4.0)
MAX_STOPPED = 2
STOPS_OF_TEN = 2
ENDED_WITHIN_SECONDS = 60.0


class Factory:
    """Several workers on one store; a killed worker gets a successor."""

    def __init__(self, nursery: Nursery, path: str, dice: random.Random) -> None:
        self._nursery, self._path, self._dice = nursery, path, dice
        self._workers: list[Child] = []
        self._stopped: dict[Child, threading.Timer] = {}
        self.kills = self.stops = 0
        for _ in range(WORKERS):
            self._start()

    def _start(self) -> None:
        worker = self._nursery.start("work", path=self._path, lease=LEASE_SECONDS, slow=SLOW)
        worker.go()
        self._workers.append(worker)

    def strike(self) -> None:
        """Kill a worker, or stop it for a while."""
        self._stopped = {one: timer for one, timer in self._stopped.items() if timer.is_alive()}
        worker = self._dice.choice(self._workers)
        stop = self._dice.randrange(10) < STOPS_OF_TEN and len(self._stopped) < MAX_STOPPED
        if stop and worker not in self._stopped:
            self._stop(worker)
            self.stops += 1
        else:
            self._replace(worker)
            self.kills += 1

    def _stop(self, worker: Child) -> None:
        worker.send(signal.SIGSTOP)
        # By a timer: a process that is stopped inside a write blocks all others, this one too.
        seconds = self._dice.uniform(*STOPPED_SECONDS)
        self._stopped[worker] = threading.Timer(seconds, worker.send, [signal.SIGCONT])
        self._stopped[worker].start()

    def _replace(self, worker: Child) -> None:
        if timer := self._stopped.pop(worker, None):
            timer.cancel()
            timer.join()
        self._workers.remove(worker)
        worker.kill()
        worker.close()
        self._start()

    def replace_dead(self) -> None:
        """Replace ended workers: a process in doubt about a dangerous step ends the one that began it."""
        for worker in [one for one in self._workers if one.is_gone()]:
            self._replace(worker)


class Office:
    """Starts runs, with a person who answers all their questions."""

    def __init__(self, folder: Path, path: str) -> None:
        self._folder, self._path = folder, path
        self._people: dict[int, Person] = {}
        self.stages: dict[int, Stage] = {}
        self.problems: list[str] = []
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._answer)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._closed.set()
        self._thread.join()

    def start_runs(self, store: Store) -> None:
        while len(store.runs.newest(RUNS_AT_ONCE, active=True)) < RUNS_AT_ONCE:
            stage = Stage(self._folder / str(len(self.stages)), self._path)
            run_id = stage.start(store)
            self.stages[run_id] = stage

    def _answer(self) -> None:
        try:
            with closing(wiring.open_store(self._path)) as store:
                while not self._closed.wait(0.02):
                    for run in store.runs.newest(100, active=True):
                        # A run that has just started is visible a moment later.
                        with suppress(KeyError):
                            self._person(store, run.id).answer_all()
        except Exception as error:
            self.problems.append(f"the person was told {error!r}")

    def _person(self, store: Store, run_id: int) -> Person:
        if run_id not in self._people:
            self._people[run_id] = Person(store, self.stages[run_id], run_id)
        return self._people[run_id]


def everything_wrong(store: Store, office: Office) -> Iterator[str]:
    yield from office.problems
    yield from damage(store.path)
    for run_id, stage in office.stages.items():
        yield from (f"run {run_id}: {one}" for one in violations(store, stage, run_id))


@pytest.mark.proves("RUN-504", "LAW-5")
def test_runs_outlive_every_worker(whole, tmp_path, capsys):
    seed = int(os.environ.get("CRASH_SEED") or random.randrange(2**32))
    dice = random.Random(seed)
    path = str(tmp_path / "store" / "gate.db")
    kills = 1000 if whole else 30
    with closing(wiring.open_store(path)) as store, Nursery("flow_jobs.py") as nursery:
        factory = Factory(nursery, path, dice)
        with Office(tmp_path / "stages", path) as office:
            while factory.kills < kills:
                office.start_runs(store)
                threading.Event().wait(dice.uniform(0, MAX_LIFE_SECONDS))
                factory.strike()
                factory.replace_dead()
            until = time.monotonic() + ENDED_WITHIN_SECONDS
            while store.runs.newest(1, active=True) and time.monotonic() < until:
                threading.Event().wait(0.1)
                factory.replace_dead()
        doubts = sum(is_doubt(ask) for ask in all_asks(store))
        tell(
            capsys,
            f"CRASH_SEED={seed}: {factory.kills} kills and {factory.stops} stops over "
            f"{len(office.stages)} runs, {doubts} dangerous steps in doubt",
        )
        assert list(everything_wrong(store, office)) == []
