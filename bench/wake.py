"""Measure how soon a waiter gets its answer, and the cost of a hundred idle waiters."""

from __future__ import annotations

import os
import signal
import struct
import time
import traceback
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from bench import measured, stores
from bench.figures import Figure

from gatebell.adapters.sqlite import bell
from gatebell.services.asks import wait_for_ask

if TYPE_CHECKING:
    from collections.abc import Iterator

WAITERS = 100
IDLE_SECONDS = 10.0
LIMIT_MILLISECONDS = 30.0
LIMIT_PERCENT = 20.0

_SETTLE_SECONDS = 2.0
# Long enough between two answers for polling waiters to reach their slowest interval.
_PAUSE_SECONDS = 0.5
_MOMENT = struct.Struct("d")


class Waiter(NamedTuple):
    """A process that waits for one ask; it sends the moments of its start and of its wake-up."""

    ask_id: str
    pid: int
    pipe: int


def measure() -> Iterator[Figure]:
    yield from _measure("notified by kernel", looking=False)
    yield from _measure("polling the file", looking=True)


def _measure(how: str, *, looking: bool) -> Iterator[Figure]:
    with stores.folder() as folder:
        path = os.path.join(folder, "gate.db")
        waiters = _start(path, looking=looking)
        try:
            for waiter in waiters:
                _moment(waiter)
            # They have reported that they are about to wait; give them time to do so.
            time.sleep(_SETTLE_SECONDS)
            percent = _idle_percent(waiters)
            late = _latencies(path, waiters)
        finally:
            _end(waiters)
    detail = f"p99 {sorted(late)[-2]:.1f} ms of {len(late)} answers"
    yield Figure(f"answer to waiter, {how}", median(late), "ms", LIMIT_MILLISECONDS, detail)
    detail = f"one core, {WAITERS} waiters, {IDLE_SECONDS:.0f} s without a change"
    yield Figure(f"idle waiters, {how}", percent, "%", LIMIT_PERCENT, detail)


def _start(path: str, *, looking: bool) -> list[Waiter]:
    store = stores.open_store(path)
    ids = [stores.ask(store) for _ in range(WAITERS)]
    # A connection must not be inherited by another process.
    store.close()
    return [_fork(path, ask_id, looking=looking) for ask_id in ids]


def _fork(path: str, ask_id: str, *, looking: bool) -> Waiter:
    read, write = os.pipe()
    pid = os.fork()
    if pid:
        os.close(write)
        return Waiter(ask_id, pid, read)
    try:
        if looking:
            bell.KernelBell = bell.LookingBell  # type: ignore  # as without kernel events
        store = stores.open_store(path)
        os.write(write, _MOMENT.pack(time.monotonic()))
        wait_for_ask.wait(store, ask_id)
        os.write(write, _MOMENT.pack(time.monotonic()))
    except Exception:
        # The pipe ends without a second moment, which the other side notices.
        traceback.print_exc()
    finally:
        os._exit(0)


def _moment(waiter: Waiter) -> float:
    """The message of a waiter; the monotonic clock is shared by all processes of a machine."""
    return _MOMENT.unpack(os.read(waiter.pipe, _MOMENT.size))[0]


def _idle_percent(waiters: list[Waiter]) -> float:
    before, began = _cpu_seconds(waiters), time.monotonic()
    time.sleep(IDLE_SECONDS)
    return (_cpu_seconds(waiters) - before) / (time.monotonic() - began) * 100


def _cpu_seconds(waiters: list[Waiter]) -> float:
    return sum(measured.cpu_seconds(waiter.pid) for waiter in waiters)


def _latencies(path: str, waiters: list[Waiter]) -> list[float]:
    """Milliseconds from the return of `answer` to the return of `wait`.

    The bell rings just before `answer` returns, so a quick waiter may be ahead of it.
    """
    store, late = stores.open_store(path), []
    for waiter in waiters:
        stores.answer(store, waiter.ask_id)
        answered = time.monotonic()
        late.append((_moment(waiter) - answered) * 1e3)
        time.sleep(_PAUSE_SECONDS)
    store.close()
    return late


def _end(waiters: list[Waiter]) -> None:
    for waiter in waiters:
        os.close(waiter.pipe)
        os.kill(waiter.pid, signal.SIGKILL)
        os.waitpid(waiter.pid, 0)
