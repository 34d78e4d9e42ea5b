"""Measure the cost of runs that wait for a person, here and on others: a step, a wait, a step."""

from __future__ import annotations

import random
import sys
import time
from contextlib import ExitStack
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from bench import measured, stores
from bench.comparison import IDLE_SECONDS, Since, cells, cpu, gather, p99
from bench.contestants import Contestant, NotReachedError, ours, rivals, start_side
from bench.figures import Figure, align

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bench.contestants import Child

SIZES = (1_000, 10_000, 100_000)
ANSWERS = 200
STEPS = (1_000, 10_000)
REPLAYED = 1_000
WITHIN_SECONDS = 600.0
"""The limit for each: making the runs, the first answer after a kill, all waiting again."""
ANSWERED_WITHIN_SECONDS = 300.0

LIMIT_READY_SECONDS = 1.0
LIMIT_P50_MILLISECONDS = 20.0
LIMIT_MEGABYTES = 60.0
# This equals 2,000 steps a second.
LIMIT_STEP_MICROSECONDS = 500.0

_SETTLE_SECONDS = 2.0
_CHANCE = 5


class Held(NamedTuple):
    """The figures of this many waiting runs; None where one was not measured."""

    who: str
    size: int
    megabytes: float | None = None
    threads: float | None = None
    idle_percent: float | None = None
    ready_seconds: float | None = None
    p50: float | None = None
    p99: float | None = None
    others_percent: float | None = None
    """The share of the whole machine that other processes used during the measurement."""
    answers: int | None = None
    wanted_answers: int = ANSWERS
    shortfall: str = ""
    """The note about the first limit that was not reached in time."""


class Pace(NamedTuple):
    """How fast one run advances by itself; None where it was not measured."""

    who: str
    short_steps: float | None = None
    long_steps: float | None = None
    replayed: float | None = None
    others_percent: float | None = None
    shortfall: str = ""


def measure(sizes: tuple[int, ...], *, with_rivals: bool) -> tuple[list[Figure], list[str]]:
    """Return our figures with their limits, and the tables that compare the engines."""
    sides = [ours(), *(rivals() if with_rivals else ())]
    paces = [_pace(side) for side in sides]
    held = [_hold(side, size) for size in sizes for side in sides]
    return _figures(held, paces), _lines(sides, held, paces)


def _pace(side: Contestant) -> Pace:
    print(f"  {side.name}: steps one after another …", file=sys.stderr)
    return gather(Pace(side.name), _paces(side))


def _hold(side: Contestant, size: int) -> Held:
    print(f"  {side.name}: {size:,} waiting …", file=sys.stderr)
    with stores.folder() as folder:
        found: Held = gather(Held(side.name, size), _holds(side, size, folder))
    print(f"    {found}", file=sys.stderr)
    return found


def _paces(side: Contestant) -> Iterator[tuple[str, float]]:
    since, own = Since(), 0.0
    for name, calls in zip(("short_steps", "long_steps"), STEPS, strict=True):
        with stores.folder() as folder:
            with start_side(side, folder, "steps", calls) as child:
                yield name, calls / float(child.hear(WITHIN_SECONDS))
                own += cpu(child)
            if calls == REPLAYED:
                with start_side(side, folder, "replay", calls) as child:
                    # An engine that replays nothing differs only by chance, in both directions.
                    longer = max(0.0, float(child.hear(WITHIN_SECONDS)))
                    yield "replayed", longer / calls * 1e6
                    own += cpu(child)
    yield "others_percent", since.others_percent(own)


def _holds(side: Contestant, size: int, folder: str) -> Iterator[tuple[str, float]]:
    with start_side(side, folder, "fill", size) as child:
        child.hear(WITHIN_SECONDS)
    with ExitStack() as stack:
        teller = None
        if not side.answers_itself:
            teller = stack.enter_context(start_side(side, folder, "answer"))
            teller.hear(WITHIN_SECONDS)
        since, began = Since(), time.monotonic()
        server = stack.enter_context(start_side(side, folder, "serve", size))
        teller = teller or server
        # One from the middle: if runs are resumed one by one, half of them come before it.
        teller.tell(size // 2)
        yield "ready_seconds", server.resumed_at(size // 2, WITHIN_SECONDS) - began
        if not side.worker:
            server.hear(WITHIN_SECONDS)
        time.sleep(_SETTLE_SECONDS)
        yield "megabytes", measured.megabytes(server.process.pid)
        yield "threads", measured.threads(server.process.pid)
        yield "idle_percent", _idle_percent(server.process.pid)
        late = _latencies(server, teller, size)
        yield "answers", len(late)
        yield "p50", median(late)
        yield "p99", p99(late)
        yield "others_percent", since.others_percent(sum(map(cpu, {server, teller})))


def _idle_percent(pid: int) -> float:
    before, began = measured.cpu_seconds(pid), time.monotonic()
    time.sleep(IDLE_SECONDS)
    return (measured.cpu_seconds(pid) - before) / (time.monotonic() - began) * 100


def _latencies(server: Child, teller: Child, size: int) -> list[float]:
    """Return the milliseconds from each answer until the second step of its run begins."""
    others = [number for number in range(size) if number != size // 2]
    chance = random.Random(_CHANCE)
    deadline, late = time.monotonic() + ANSWERED_WITHIN_SECONDS, []
    for number in chance.sample(others, min(ANSWERS, len(others))):
        began = time.monotonic()
        teller.tell(number)
        try:
            late.append((server.resumed_at(number, deadline - began) - began) * 1e3)
        except NotReachedError:
            break
        # At random intervals: an engine that checks once a second would always show its worst.
        time.sleep(chance.random())
    if not late:
        raise NotReachedError(f"not within {ANSWERED_WITHIN_SECONDS:.0f} s")
    return late


def _figures(held: list[Held], paces: list[Pace]) -> list[Figure]:
    """Return our figures at the largest size, with their limits."""
    largest = [found for found in held if found.who == ours().name][-1]
    pace = paces[0]
    at = f"{largest.size:,} runs wait"
    wanted = (
        ("memory of the worker", largest.megabytes, "MB", LIMIT_MEGABYTES, at),
        ("ready after kill −9", largest.ready_seconds, "s", LIMIT_READY_SECONDS, at),
        ("answer to next step, p50", largest.p50, "ms", LIMIT_P50_MILLISECONDS, at),
        (
            "one step after another",
            pace.long_steps and 1e6 / pace.long_steps,
            "µs",
            LIMIT_STEP_MICROSECONDS,
            f"{pace.long_steps or 0:,.0f} steps a second, {STEPS[-1]:,} in one run",
        ),
    )
    return [
        Figure(what, value, unit, limit, detail)
        # A point that was not reached is over any limit.
        if value is not None
        else Figure(what, float("inf"), unit, limit, largest.shortfall or pace.shortfall)
        for what, value, unit, limit, detail in wanted
    ]


def _lines(sides: list[Contestant], held: list[Held], paces: list[Pace]) -> list[str]:
    first = ("engine", "waiting", "memory", "threads", "idle CPU", "kill −9 → ready")
    rows = [(*first, "answer → resumed p50", "p99", "others")]
    for found in held:
        base = next(one for one in held if one.size == found.size)
        units = ("MB", "", "%", "s", "ms", "ms", "%")
        rows.append((found.who, f"{found.size:,}", *cells(found, base, Held._fields[2:9], units)))
    counts = tuple(f"{calls:,} steps one after another" for calls in STEPS)
    pace_rows = [("engine", *counts, f"replay per call, of {REPLAYED:,}", "others")]
    for pace in paces:
        units = ("/s", "/s", "µs", "%")
        pace_rows.append((pace.who, *cells(pace, paces[0], Pace._fields[1:5], units)))
    versions = [f"{side.name}: {side.versions}." for side in sides if side.versions]
    return [*align(rows), "", *align(pace_rows), *([""] if versions else []), *versions]
