"""Four workers on two hosts, faults that overlap, and a judge outside of the product."""

from __future__ import annotations

import json
import random
import select
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from engine_backends import HOSTS, Backend
from nursery import Child, Nursery
from plays import Piece, Stage, violations

from gatebell.app import wiring
from gatebell.domain.runs.runs import Run
from gatebell.ports.store import Store
from gatebell.services.audit import verify

ERRAND = Piece(
    "errand",
    ["prepare", "finish-it is done", "go", "deliver"],
    {"main": ["prepare", "deliver"]},
)
WORKERS = {f"{host}-{number}": host for host in HOSTS for number in (1, 2)}
LEASE_SECONDS = 1.5
SLOW = "0.4"
RUNS_AT_ONCE = 8
DEAD_SECONDS = (0.0, 2.0)
STOPPED_SECONDS = (LEASE_SECONDS * 2, LEASE_SECONDS * 5)
CUT_OFF_SECONDS = (0.2, 7.0)
PARTED_SECONDS = (0.2, 12.0)
DOWN_SECONDS = (0.0, 2.0)
_LISTEN_SECONDS = 0.1


class FoundStage(Stage):
    """The folder of a run that another process has made."""

    def __init__(self, project: str) -> None:
        self.folder, self.project = Path(project).parent, Path(project)


class Hosts:
    """All processes on two hosts, what they say, and the faults that strike them."""

    def __init__(
        self, nursery: Nursery, backend: Backend, folder: Path, dice: random.Random
    ) -> None:
        self._nursery, self._backend, self._folder, self._dice = nursery, backend, folder, dice
        self._children: dict[str, Child] = {}
        self._stopped: set[str] = set()
        self._struck: set[str] = set()
        """The hosts and servers that are struck at the moment."""
        self._later: list[tuple[float, Callable[[], None]]] = []
        self.said: Counter[str] = Counter()
        self.started: list[int] = []
        self.problems: list[str] = []
        self.counts: Counter[str] = Counter()
        self._checkout = folder / "checkout"
        (self._checkout / ".gate").mkdir(parents=True)
        (self._checkout / ".gate" / "project").write_text("errands\n")

    def begin(self) -> None:
        for host in HOSTS:
            self._add(
                f"starter of {host}", "engine_starter", environ=self._environ(host),
                folder=str(self._folder / host), at_once=RUNS_AT_ONCE,
                in_pool=self._backend.has_pools,
            )  # fmt: skip
        self._add("person", "engine_person", path=self._backend.path)
        for name in WORKERS:
            self._start_worker(name)

    def _add(self, name: str, job: str, **arguments: Any) -> None:
        child = self._nursery.start(job, **arguments)
        child.go()
        self._children[name] = child

    def _environ(self, host: str) -> dict[str, str]:
        log = {"CHAOS_LOG": str(self._folder / f"{host}.log"), "CHAOS_SLOW": SLOW}
        return self._backend.build_environ(host) | log

    def _start_worker(self, name: str) -> None:
        # On one host, the kernel does not end agents with their worker.
        self._add(
            name, "engine_worker", environ=self._environ(WORKERS[name]), lease=LEASE_SECONDS,
            project=str(self._checkout), tied=WORKERS[name] == HOSTS[0],
        )  # fmt: skip

    def listen(self, seconds: float) -> None:
        """Record what the processes say, and end the faults whose time is over."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            speaking = [one for one in self._children.values() if not one.ended]
            for child in select.select(speaking, [], [], min(left, _LISTEN_SECONDS))[0]:
                for line in child.lines():
                    self._note(*json.loads(line))
            self._report_ended()
            self._end_faults(time.monotonic())

    def _note(self, word: str, *facts: Any) -> None:
        self.said[word] += 1
        if word == "started":
            self.started += facts
        if word == "error":
            self.problems.append(f"a process met {facts}")

    def _report_ended(self) -> None:
        for name in [one for one, child in self._children.items() if child.ended]:
            self.problems.append(f"{name} ended by itself")
            self._children.pop(name).close()

    def _end_faults(self, now: float) -> None:
        due = [one for one in self._later if one[0] <= now]
        self._later = [one for one in self._later if one[0] > now]
        for _, end in due:
            end()

    def _end_later(self, seconds: tuple[float, float], end: Callable[[], None]) -> None:
        self._later.append((time.monotonic() + self._dice.uniform(*seconds), end))

    def rage(self, faults: Counter[str], longest_seconds: float) -> Iterator[float]:
        """Make these faults in any order, as many as there is time for; yield after each."""
        order = list(faults.elements())
        self._dice.shuffle(order)
        began = time.monotonic()
        for fault in order:
            while not getattr(self, f"_{fault}")():
                assert not self.problems, self.problems
                self.listen(_LISTEN_SECONDS)
            self.counts[fault] += 1
            self.listen(self._dice.uniform(*self._backend.between_seconds))
            yield time.monotonic() - began
            if time.monotonic() > began + longest_seconds:
                break

    def calm_down(self) -> None:
        """Wait for the end of all faults; no further run starts."""
        for host in HOSTS:
            self._end_child(f"starter of {host}")
        while self._later:
            self.listen(_LISTEN_SECONDS)

    def _end_child(self, name: str) -> None:
        child = self._children.pop(name)
        child.kill()
        for line in child.last_lines():
            self._note(*json.loads(line))
        child.close()

    def _kill(self) -> bool:
        """Kill a worker, which may be stopped; another begins in its place a little later."""
        living = [name for name in WORKERS if name in self._children]
        if not living:
            return False
        name = self._dice.choice(living)
        self._stopped.discard(name)
        self._end_child(name)
        self._end_later(DEAD_SECONDS, lambda: self._start_worker(name))
        return True

    def _stop(self) -> bool:
        """Stop a worker for longer than its lease."""
        free = [name for name in WORKERS if name in self._children and name not in self._stopped]
        if not free:
            return False
        self._freeze_workers([self._dice.choice(free)])
        return True

    def _silence(self) -> bool:
        """Stop all workers of a host for longer than their leases; their agents work on."""
        host = self._dice.choice(HOSTS)
        self._freeze_workers(
            [one for one in WORKERS if one in self._children and WORKERS[one] == host]
        )
        return True

    def _freeze_workers(self, names: list[str]) -> None:
        found = [(name, self._children[name]) for name in names]
        for name, child in found:
            child.send(signal.SIGSTOP)
            self._stopped.add(name)

        def go_on() -> None:
            for name, child in found:
                child.send(signal.SIGCONT)
                self._stopped.discard(name)

        self._end_later(STOPPED_SECONDS, go_on)

    def _strike_network(self) -> str:
        """Return a host whose network works, and that is cut off now."""
        free = [host for host in HOSTS if host not in self._struck]
        if not free:
            return ""
        host = self._dice.choice(free)
        self._struck.add(host)
        return host

    def _cut(self) -> bool:
        for proxy in self._backend.networks[self._dice.choice(HOSTS)]:
            proxy.cut()
        return True

    def _freeze(self) -> bool:
        """Without an end: both sides must give the connections up by themselves."""
        for proxy in self._backend.networks[self._dice.choice(HOSTS)]:
            proxy.freeze()
        return True

    def _stall(self) -> bool:
        if not (host := self._strike_network()):
            return False
        for proxy in self._backend.networks[host]:
            proxy.flows.clear()

        def flow() -> None:
            for proxy in self._backend.networks[host]:
                proxy.flows.set()
            self._struck.discard(host)

        self._end_later(CUT_OFF_SECONDS, flow)
        return True

    def _refuse(self) -> bool:
        if not (host := self._strike_network()):
            return False
        for proxy in self._backend.networks[host]:
            proxy.refuses = True
            proxy.cut()

        def accept() -> None:
            for proxy in self._backend.networks[host]:
                proxy.refuses = False
            self._struck.discard(host)

        self._end_later(CUT_OFF_SECONDS, accept)
        return True

    def _partition(self) -> bool:
        """Cut the cable of a host; packets are lost, and its proxies go on."""
        cables = self._backend.cables
        assert cables
        free = [host for host in HOSTS if f"cable of {host}" not in self._struck]
        if not free:
            return False
        host = self._dice.choice(free)
        self._struck.add(f"cable of {host}")
        cables.cut(host)

        def mend() -> None:
            cables.mend(host)
            self._struck.discard(f"cable of {host}")

        self._end_later(PARTED_SECONDS, mend)
        return True

    def _postgres(self) -> bool:
        return self._restart("postgres", self._backend.postgres)

    def _temporal(self) -> bool:
        return self._restart("temporal", self._backend.temporal)

    def _restart(self, name: str, server: Any) -> bool:
        if name in self._struck:
            return False
        self._struck.add(name)
        server.crash()

        def start() -> None:
            server.start()
            self._struck.discard(name)

        self._end_later(DOWN_SECONDS, start)
        return True

    def wait_for_ends(self, store: Store, seconds: float) -> bool:
        """Return whether all runs ended within this time, and left no job."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            self.listen(_LISTEN_SECONDS * 2)
            if not store.runs.newest(1, active=True) and not self._backend.count_jobs():
                return True
        self.problems.append(f"{self._backend.count_jobs()} jobs are left")
        return False


def judge(path: str, hosts: Hosts) -> Iterator[str]:
    """Return every broken rule, from the store and from what agents and steps wrote themselves."""
    yield from hosts.problems
    with closing(wiring.open_store(path)) as store:
        yield from verify(store)
        runs = {run.id: run for run in store.runs.newest(1_000_000) if was_started(run)}
        yield from (
            f"run {one} was confirmed and is lost" for one in set(hosts.started) - set(runs)
        )
        for run in runs.values():
            yield from (f"run {run.id} of {run.host}: {one}" for one in _judge_run(store, run))


def was_started(run: Run) -> bool:
    """Return whether its start was recorded as a whole, and not interrupted."""
    return not (run.state == "stuck" and run.claim == 0)


def _judge_run(store: Store, run: Run) -> Iterator[str]:
    stage = FoundStage(run.project)
    yield from violations(store, stage, run.id, ERRAND)
    events = Counter(entry.event.kind for entry in store.audit.of_subject(run.name))
    ends = sum(events[kind] for kind in ("run.completed", "run.stuck", "run.failed"))
    if ends != 1:
        yield f"it ended {ends} times"
    if stage.hosts() != {run.host}:
        yield f"it was driven by {sorted(stage.hosts())}"
    started_at = stage.folder.parent.name
    if not run.pool and run.host != started_at:
        yield f"it was taken from {started_at}"
