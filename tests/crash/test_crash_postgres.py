"""PostgreSQL is killed, and the network to it fails, while processes ask, answer, take and run."""

from __future__ import annotations

import os
import random
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing

import pytest
from crew import Crew
from nursery import Nursery
from telling import tell
from tests.support.postgres_proxy import Proxy
from tests.support.postgres_server import SAFE, Server

from gatebell.app import wiring

ROLES = {
    "asker-1": "asker", "asker-2": "asker",
    "answerer-1": "answerer", "answerer-2": "answerer", "answerer-3": "answerer",
    "taker-1": "taker", "person-1": "runs_person",
    "worker-1": "run_worker", "worker-2": "run_worker",
}  # fmt: skip
SPEAKERS = [name for name, role in ROLES.items() if role != "run_worker"]
FEW = Counter(cut=4, stall=1, freeze=1, refuse=1, kill=3)
MANY = Counter(cut=200, stall=30, freeze=30, refuse=30, kill=1000)
LONGEST_SECONDS = 1800.0
REPORT_SECONDS = 60.0
BEFORE_SECONDS = (0.1, 0.6)
LENGTH_SECONDS = (0.1, 2.5)
DOWN_SECONDS = (0.0, 0.3)
SILENT_SECONDS = 15.0
DRAINED_WITHIN_SECONDS = 60.0


class Storm:
    """All the faults, one after another."""

    def __init__(self, server: Server, proxy: Proxy, crew: Crew, dice: random.Random) -> None:
        self._server, self._proxy, self._crew, self._dice = server, proxy, crew, dice
        self.counts: Counter[str] = Counter()
        self.restart_seconds = 0.0

    def rage(self, faults: Counter[str]) -> Iterator[str]:
        """Make these faults in any order, or as many of them as there is time for.

        Yields the counts so far, once a minute.
        """
        order = list(faults.elements())
        self._dice.shuffle(order)
        began = told = time.monotonic()
        for fault in order:
            now = time.monotonic()
            if now > began + LONGEST_SECONDS:
                return
            if now > told + REPORT_SECONDS:
                told = now
                yield f"after {(now - began) / 60:.0f} min: {dict(self.counts)}"
            self._crew.listen(self._dice.uniform(*BEFORE_SECONDS))
            getattr(self, f"_{fault}")()
            self.counts[fault] += 1

    def _last(self) -> None:
        self._crew.listen(self._dice.uniform(*LENGTH_SECONDS))

    def _cut(self) -> None:
        self._proxy.cut()

    def _stall(self) -> None:
        self._proxy.flows.clear()
        self._last()
        self._proxy.flows.set()

    def _freeze(self) -> None:
        """Without an end: both sides must give the connections up by themselves."""
        self._proxy.freeze()
        self._last()

    def _refuse(self) -> None:
        self._proxy.refuses = True
        self._proxy.cut()
        self._last()
        self._proxy.refuses = False

    def _kill(self) -> None:
        self._server.crash()
        self._crew.listen(self._dice.uniform(*DOWN_SECONDS))
        began = time.monotonic()
        self._server.start()
        self.restart_seconds += time.monotonic() - began


@pytest.fixture
def server(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.setenv("GATE_KEY_FILE", str(tmp_path / "keys.json"))
    made = Server(SAFE)
    wiring.migrate_store(made.dsn("postgres"))
    yield made
    made.stop()


@pytest.fixture
def proxy(server):
    made = Proxy(server.dsn("postgres"))
    yield made
    made.close()


def drain(crew, store):
    """Let the crew answer everything; return whether it did."""
    until = time.monotonic() + DRAINED_WITHIN_SECONDS
    while time.monotonic() < until:
        crew.listen(0.2)
        if not store.asks.pending(1) and not store.runs.newest(1, active=True):
            return True
    return False


@pytest.mark.proves("PG-16")
def test_confirmed_changes_outlive_faults_of_postgres(whole, tmp_path, server, proxy, capsys):
    seed = int(os.environ.get("CRASH_SEED") or random.randrange(2**32))
    dice = random.Random(seed)
    faults = MANY if whole else FEW
    starter = str(tmp_path / "starter")
    began = time.monotonic()
    tell(capsys, f"CRASH_SEED={seed}: {dict(faults)} are wanted")
    with Nursery("outage_jobs.py") as nursery:
        crew = Crew(nursery, proxy.dsn, dice, ROLES | {starter: "starter"})
        storm = Storm(server, proxy, crew, dice)
        for progress in storm.rage(faults):
            tell(capsys, progress)
        # Nobody hangs at a connection that has died. Workers of runs say nothing.
        silent = crew.wait_for_everybody([*SPEAKERS, starter], SILENT_SECONDS)
        for name in ("asker-1", "asker-2", starter):
            crew.kill(name)
        with closing(wiring.open_store(server.dsn("postgres"))) as store:
            drain(crew, store)
            crew.kill_all()
            tell(
                capsys,
                f"CRASH_SEED={seed}: {dict(storm.counts)} in {time.monotonic() - began:.0f} s, "
                f"a restart took {storm.restart_seconds / storm.counts['kill']:.2f} s; "
                f"confirmed: {crew.ledger.counts()}",
            )
            assert list(crew.ledger.compare_store(store)) == []
            assert silent == []
