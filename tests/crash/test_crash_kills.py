"""Workers that are killed at random moments, and a ledger of the results they received."""

from __future__ import annotations

import os
import random
import select
import time

import pytest
from ledger import Ledger
from nursery import Child, Nursery
from telling import tell

ROLES = {
    "asker-1": "asker", "asker-2": "asker",
    "answerer-1": "answerer", "answerer-2": "answerer", "answerer-3": "answerer",
    "taker-1": "taker", "taker-2": "taker",
}  # fmt: skip
MAX_LIFE_SECONDS = 0.05


class Crew:
    """All workers on one store; a killed worker gets a successor."""

    def __init__(self, nursery: Nursery, path: str, dice: random.Random) -> None:
        self._nursery = nursery
        self._path = path
        self._dice = dice
        self._workers: dict[str, Child] = {}
        self.ledger = Ledger()
        self.interrupted = 0
        for name in ROLES:
            self._start(name)

    def _start(self, name: str) -> None:
        seed, resume = self._dice.randrange(2**32), self.ledger.find_unfinished(name)
        self.interrupted += resume is not None
        worker = self._nursery.start(
            ROLES[name], path=self._path, name=name, seed=seed, resume=resume
        )
        worker.go()
        self._workers[name] = worker

    def listen(self, seconds: float) -> None:
        """Record the output for this long."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            ready = select.select(self._workers.values(), [], [], left)[0]
            for name, worker in self._workers.items():
                if worker in ready:
                    self._write_down(name, worker.lines())

    def _write_down(self, name: str, lines: list[str]) -> None:
        for line in lines:
            self.ledger.write(name, line)

    def kill(self, name: str) -> None:
        worker = self._workers.pop(name)
        worker.kill()
        self._write_down(name, worker.last_lines())
        worker.close()

    def replace_somebody(self) -> None:
        name = self._dice.choice(list(self._workers))
        self.kill(name)
        self._start(name)

    def kill_all(self) -> None:
        for name in list(self._workers):
            self.kill(name)


@pytest.mark.proves("CRASH-4")
def test_confirmed_changes_outlive_every_kill(whole, tmp_path, capsys):
    seed = int(os.environ.get("CRASH_SEED") or random.randrange(2**32))
    dice = random.Random(seed)
    path = str(tmp_path / "store" / "gate.db")
    kills = 1000 if whole else 60
    with Nursery() as nursery:
        crew = Crew(nursery, path, dice)
        for _ in range(kills):
            crew.listen(dice.uniform(0, MAX_LIFE_SECONDS))
            crew.replace_somebody()
        crew.kill_all()
    tell(
        capsys,
        f"CRASH_SEED={seed}: {kills} kills, {crew.interrupted} of them in the middle of a verb; "
        f"confirmed: {crew.ledger.counts()}",
    )
    assert list(crew.ledger.compare(path)) == []
