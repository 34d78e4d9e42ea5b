"""Workers on one store whose results are written into a ledger."""

from __future__ import annotations

import random
import select
import time
from collections.abc import Iterable

from ledger import Ledger
from nursery import Child, Nursery

_LISTEN_SECONDS = 0.2


class Crew:
    """All workers on one store; a killed worker gets a successor."""

    def __init__(
        self, nursery: Nursery, path: str, dice: random.Random, roles: dict[str, str]
    ) -> None:
        self._nursery = nursery
        self._path = path
        self._roles = roles
        self._dice = dice
        self._workers: dict[str, Child] = {}
        self._heard_at: dict[str, float] = {}
        self.ledger = Ledger()
        self.interrupted = 0
        for name in roles:
            self._start(name)

    def _start(self, name: str) -> None:
        seed, resume = self._dice.randrange(2**32), self.ledger.find_unfinished(name)
        self.interrupted += resume is not None
        worker = self._nursery.start(
            self._roles[name], path=self._path, name=name, seed=seed, resume=resume
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
            self._heard_at[name] = time.monotonic()

    def wait_for_everybody(self, names: Iterable[str], seconds: float) -> list[str]:
        """Wait until each of these has said something; return those that are silent for so long."""
        began = time.monotonic()
        silent = list(names)
        while silent and time.monotonic() < began + seconds:
            self.listen(_LISTEN_SECONDS)
            silent = [name for name in silent if self._heard_at.get(name, 0) < began]
        return silent

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
