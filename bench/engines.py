"""Measure the engines that drive runs, ours and others: a step, a wait for a person, a step."""

from __future__ import annotations

import os
import random
import sys
import time
from contextlib import ExitStack, closing, contextmanager
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from bench import measured, stores
from bench.backends import Backend
from bench.comparison import IDLE_SECONDS, Since, cells, cpu, gather, p99
from bench.contestants import (
    Contestant,
    NotReachedError,
    other_engines,
    our_engines,
    start_side,
)
from bench.copies import copy_first_run
from bench.figures import Figure, align
from bench.waiting import WORK_SECONDS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bench.contestants import Child

SIZES = (10_000, 100_000)
"""Our engines are measured with the first size, and our default also with the others."""
OTHERS_SIZE = 2_000
"""Engines of others need minutes to make more."""
ANSWERS = 200
READY = 800
"""So many that they last longer than the start of four workers, which takes about a second."""
READY_OF_TEMPORAL = 200
READY_WORKING = 160
"""For each worker, of runs whose second step takes a tenth of a second."""
WORKERS = (1, 2, 4)
BLOCKED = 4
WITHIN_SECONDS = 600.0
ANSWERED_WITHIN_SECONDS = 120.0
TAKEN_OVER_WITHIN_SECONDS = 15.0

LIMIT_P50_MILLISECONDS = 15.0
LIMIT_P99_MILLISECONDS = 100.0
LIMIT_TAKEOVER_SECONDS = 10.0

_SETTLE_SECONDS = 2.0
# Up to so long, so that the answers meet an engine that looks once a second at any moment.
_PAUSE_SECONDS = 0.05
_CHANCE = 5
# Workers do not begin at the same moment, and the last runs do not fill all slots.
_FROM, _TO = 0.3, 0.95


class Held(NamedTuple):
    """The figures with this many waiting runs; None where one was not measured."""

    who: str
    size: int
    megabytes: float | None = None
    idle_percent: float | None = None
    servers_percent: float | None = None
    """Processor time of PostgreSQL and Temporal while nothing happens."""
    p50: float | None = None
    p99: float | None = None
    others_percent: float | None = None
    answers: int | None = None
    wanted_answers: int = ANSWERS
    shortfall: str = ""


class Pace(NamedTuple):
    """How fast workers are; None where it was not measured."""

    who: str
    one: float | None = None
    two: float | None = None
    four: float | None = None
    """Ready runs a second, with so many workers."""
    takeover: float | None = None
    others_percent: float | None = None
    shortfall: str = ""


class Stage(NamedTuple):
    """An empty store of one side, in a folder of its own."""

    side: Contestant
    folder: str
    environ: dict[str, str]

    @contextmanager
    def start(self, verb: str, *numbers: int, name: str = "", **more: str) -> Iterator[Child]:
        with start_side(
            self.side, self.folder, verb, *numbers, name=name, **self.environ | more
        ) as child:
            yield child


@contextmanager
def _open_stage(side: Contestant, backend: Backend) -> Iterator[Stage]:
    with stores.folder() as folder:
        yield Stage(side, folder, backend.prepare(folder))


def measure(
    sizes: tuple[int, ...], *, with_rivals: bool, ready: int = READY
) -> tuple[list[Figure], list[str]]:
    """Return our figures with their limits, and the tables that compare the engines."""
    ours = our_engines()
    sides = [*ours, *(other_engines() if with_rivals else ())]
    held: list[Held] = []
    paces: list[Pace] = []
    for side in sides:
        with closing(Backend(side)) as backend:
            smallest = sizes[0] if side in ours else min(sizes[0], OTHERS_SIZE)
            for size in sizes if side is sides[0] else (smallest,):
                print(f"  {side.name}: {size:,} waiting …", file=sys.stderr)
                held.append(gather(Held(side.name, size), _hold(side, backend, size)))
                print(f"    {held[-1]}", file=sys.stderr)
            print(f"  {side.name}: ready runs, and a killed worker …", file=sys.stderr)
            number = min(ready, READY_OF_TEMPORAL) if side.uses_temporal else ready
            paces.append(gather(Pace(side.name), _pace(side, backend, number)))
            print(f"    {paces[-1]}", file=sys.stderr)
            if side is sides[0]:
                working = Pace(f"{side.name}, {WORK_SECONDS:g} s of work")
                paces.append(gather(working, _pace_working(side, backend)))
                print(f"    {paces[-1]}", file=sys.stderr)
    return _figures(held, *paces[:2]), _lines(sides, held, paces)


def _hold(side: Contestant, backend: Backend, size: int) -> Iterator[tuple[str, float]]:
    with _open_stage(side, backend) as stage, ExitStack() as stack:
        copied = bool(side.worker and side.store)
        made = min(size, ANSWERS + 1) if copied else size
        with stage.start("fill", made) as child:
            child.hear(WITHIN_SECONDS)
        if made < size:
            copy_first_run(stage.environ["GATE_STORE"], size - made)
        teller = stack.enter_context(stage.start("answer", made))
        teller.hear(WITHIN_SECONDS)
        worker = stack.enter_context(stage.start("serve", size))
        if not side.worker:
            worker.hear(WITHIN_SECONDS)
        # The first one shows that it is at work.
        teller.tell(0)
        worker.resumed_at(0, WITHIN_SECONDS)
        time.sleep(_SETTLE_SECONDS)
        since, servers = Since(), backend.cpu_seconds()
        own = sum(map(cpu, (worker, teller)))
        yield "megabytes", measured.megabytes(worker.process.pid)
        idle = cpu(worker)
        time.sleep(IDLE_SECONDS)
        yield "idle_percent", (cpu(worker) - idle) / IDLE_SECONDS * 100
        yield "servers_percent", (backend.cpu_seconds() - servers) / IDLE_SECONDS * 100
        late = _answer_some(worker, teller, range(1, made))
        yield "answers", len(late)
        yield "p50", median(late)
        yield "p99", p99(late)
        used = sum(map(cpu, (worker, teller))) - own + backend.cpu_seconds() - servers
        yield "others_percent", since.others_percent(used)


def _answer_some(worker: Child, teller: Child, numbers: range) -> list[float]:
    """Return the milliseconds from each answer until the second step of its run begins."""
    chance = random.Random(_CHANCE)
    deadline, late = time.monotonic() + ANSWERED_WITHIN_SECONDS, []
    for number in chance.sample(numbers, min(ANSWERS, len(numbers))):
        began = time.monotonic()
        teller.tell(number)
        try:
            late.append((worker.resumed_at(number, deadline - began) - began) * 1e3)
        except NotReachedError:
            break
        time.sleep(chance.random() * _PAUSE_SECONDS)
    if not late:
        raise NotReachedError(f"not within {ANSWERED_WITHIN_SECONDS:.0f} s")
    return late


def _pace(side: Contestant, backend: Backend, ready: int) -> Iterator[tuple[str, float]]:
    since, servers, own = Since(), backend.cpu_seconds(), 0.0
    for name, workers in zip(("one", "two", "four"), WORKERS, strict=True):
        with _open_stage(side, backend) as stage:
            rate, used = _count_runs(stage, ready, workers)
        own += used
        yield name, rate
    with _open_stage(side, backend) as stage:
        yield "takeover", _kill_worker(stage)
    own += backend.cpu_seconds() - servers
    yield "others_percent", since.others_percent(own)


def _pace_working(side: Contestant, backend: Backend) -> Iterator[tuple[str, float]]:
    """Measure the pace of runs in which the workers mostly wait, as for agents."""
    since, servers, own = Since(), backend.cpu_seconds(), 0.0
    for name, workers in zip(("one", "two", "four"), WORKERS, strict=True):
        with _open_stage(side, backend) as stage:
            rate, used = _count_runs(stage, READY_WORKING * workers, workers, "fill-working")
        own += used
        yield name, rate
    yield "others_percent", since.others_percent(own + backend.cpu_seconds() - servers)


def _count_runs(stage: Stage, ready: int, workers: int, fill: str = "fill") -> tuple[float, float]:
    """Let workers drive runs that were made ready before; return how many a second, and their CPU."""
    own = _make_ready(stage, ready, workers, fill)
    with ExitStack() as stack:
        running = [
            stack.enter_context(
                stage.start("serve", ready // workers, name=f"w{n}", DBOS__VMID=f"w{n}")
            )
            for n in range(workers)
        ]
        ends = sorted(_read_ends(running[0], ready))
        own += sum(map(cpu, running))
    first, last = int(ready * _FROM), int(ready * _TO)
    return (last - first) / (ends[last] - ends[first]), own


def _make_ready(stage: Stage, ready: int, workers: int, fill: str = "fill") -> float:
    """Bring runs to their wait and answer them, while no worker is there; return the CPU time."""
    own = 0.0
    shares = workers if stage.side.keeps_its_runs else 1
    part = ready // shares
    for n in range(shares):
        with stage.start(fill, part, n * part, DBOS__VMID=f"w{n}") as child:
            child.hear(WITHIN_SECONDS)
            own += cpu(child)
    with stage.start("answer", ready) as teller:
        teller.hear(WITHIN_SECONDS)
        for number in range(ready):
            teller.tell(number)
        teller.confirm(ready - 1, WITHIN_SECONDS)
        return own + cpu(teller)


def _read_ends(child: Child, number: int) -> list[float]:
    """Wait until the second steps of so many runs have begun; return when they did."""
    deadline = time.monotonic() + ANSWERED_WITHIN_SECONDS
    while time.monotonic() < deadline:
        with open(child.ledger, encoding="utf-8") as file:
            found = [line.split() for line in file if line.startswith("second ")]
        ends = {words[1]: float(words[2]) for words in found if len(words) == 3}
        if len(ends) == number:
            return list(ends.values())
        time.sleep(0.1)
    raise NotReachedError(f"{len(ends)} of {number} within {ANSWERED_WITHIN_SECONDS:.0f} s")


def _kill_worker(stage: Stage) -> float:
    """Kill a worker while it drives runs; return when the last of them went on at another one."""
    with ExitStack() as stack:
        first = stack.enter_context(stage.start("block", BLOCKED, DBOS__VMID="w0"))
        if not stage.side.keeps_its_runs:
            first.hear(WITHIN_SECONDS)
            first = stack.enter_context(stage.start("serve", 0, name="w0"))
        for number in range(BLOCKED):
            _wait_for_file(os.path.join(stage.folder, f"begun-{number}"))
        other = stack.enter_context(stage.start("serve", 0, name="w1", DBOS__VMID="w1"))
        time.sleep(_SETTLE_SECONDS)
        began = time.monotonic()
        first.process.kill()
        until = began + TAKEN_OVER_WITHIN_SECONDS
        return max(
            other.resumed_at(number, until - time.monotonic()) - began for number in range(BLOCKED)
        )


def _wait_for_file(path: str) -> None:
    deadline = time.monotonic() + WITHIN_SECONDS
    while not os.path.exists(path):
        if time.monotonic() > deadline:
            raise NotReachedError("no worker began the runs")
        time.sleep(0.01)


def _figures(held: list[Held], pace: Pace, working: Pace) -> list[Figure]:
    """Return the figures of our default, at the largest size, with their limits."""
    largest = [found for found in held if found.who == pace.who][-1]
    at = f"procrastinate, {largest.size:,} runs wait"
    wanted = (
        ("answer to next step, p50", largest.p50, "ms", LIMIT_P50_MILLISECONDS, at),
        ("answer to next step, p99", largest.p99, "ms", LIMIT_P99_MILLISECONDS, at),
        ("takeover after kill −9", pace.takeover, "s", LIMIT_TAKEOVER_SECONDS, "procrastinate"),
        ("pace of 1 worker against 4", *_compare(pace)),
        (f"the same, {WORK_SECONDS:g} s of work in each run", *_compare(working)),
    )
    return [
        Figure(what, value, unit, limit, detail)
        # A point that was not reached is over any limit.
        if value is not None
        else Figure(what, float("inf"), unit, limit, largest.shortfall or pace.shortfall)
        for what, value, unit, limit, detail in wanted
    ]


def _compare(pace: Pace) -> tuple[float | None, str, float, str]:
    """Return the share of one worker in the pace of four, with its limit and both paces."""
    share = pace.one / pace.four if pace.one and pace.four else None
    rates = f"{pace.one or 0:.0f} against {pace.four or 0:.0f} ready runs a second"
    return share, "×", 1.0, rates


def _lines(sides: list[Contestant], held: list[Held], paces: list[Pace]) -> list[str]:
    first = ("engine", "waiting", "memory of a worker", "its idle CPU", "idle CPU of servers")
    rows = [(*first, "answer → resumed p50", "p99", "others")]
    for found in held:
        default = [one for one in held if one.who == held[0].who]
        base = next((one for one in default if one.size == found.size), held[0])
        units = ("MB", "%", "%", "ms", "ms", "%")
        rows.append((found.who, f"{found.size:,}", *cells(found, base, Held._fields[2:8], units)))
    counts = tuple(f"ready runs, {number} worker{'s' * (number > 1)}" for number in WORKERS)
    pace_rows = [("engine", *counts, "takeover after kill −9", "others")]
    for pace in paces:
        units = ("/s", "/s", "/s", "s", "%")
        # Runs that work are not compared with those that do nothing.
        base = pace if pace is paces[1] else paces[0]
        pace_rows.append((pace.who, *cells(pace, base, Pace._fields[1:6], units)))
    versions = [f"{side.name}: {side.versions}." for side in sides if side.versions]
    return [*align(rows), "", *align(pace_rows), *([""] if versions else []), *versions]
