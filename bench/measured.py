"""Measure a process from outside."""

from __future__ import annotations

import ctypes
import os
import threading
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def noise() -> Iterator[list[float]]:
    """Sleep again and again, and yield how many milliseconds late each one ended.

    A machine that is busy with other things wakes us late.
    """
    late: list[float] = []
    over = threading.Event()

    def sleep() -> None:
        while not over.is_set():
            began = time.perf_counter()
            time.sleep(0.01)
            late.append(max(0.0, (time.perf_counter() - began - 0.01) * 1000))

    thread = threading.Thread(target=sleep, daemon=True)
    thread.start()
    try:
        yield late
    finally:
        over.set()
        thread.join()


def find_p99(values: list[float]) -> float:
    return sorted(values)[max(0, int(len(values) * 0.99) - 1)]


def cpu_seconds(pid: int) -> float:
    """Return the processor time so far, of all its threads."""
    # /proc counts in hundredths of a second: too coarse for processes that hardly run.
    clock = ctypes.c_int()
    if ctypes.CDLL(None).clock_getcpuclockid(pid, ctypes.byref(clock)):
        raise RuntimeError(f"process {pid} is gone")
    return time.clock_gettime(clock.value)


def megabytes(pid: int) -> int:
    """Return its memory."""
    with open(f"/proc/{pid}/status", encoding="utf-8") as file:
        (line,) = [line for line in file if line.startswith("VmRSS")]
    return int(line.split()[1]) // 1024


def threads(pid: int) -> int:
    return len(os.listdir(f"/proc/{pid}/task"))


def busy_seconds() -> float:
    """Return the processor time of this machine so far, and of its neighbours if it is a guest."""
    with open("/proc/stat", encoding="utf-8") as file:
        user, nice, system, _, _, irq, softirq, steal, *_ = map(int, file.readline().split()[1:])
    ticks = user + nice + system + irq + softirq + steal
    return ticks / os.sysconf("SC_CLK_TCK")


def family_cpu_seconds(pid: int) -> float:
    """Return the processor time so far of a process and its children, the ended ones too."""
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        words = file.read().rpartition(")")[2].split()
    # Time of children that have ended, in the user's mode and in the system's.
    found = sum(map(int, words[13:15])) / os.sysconf("SC_CLK_TCK") + cpu_seconds(pid)
    with open(f"/proc/{pid}/task/{pid}/children", encoding="utf-8") as file:
        children = [int(one) for one in file.read().split()]
    for child in children:
        # One may end at this moment.
        with suppress(RuntimeError, OSError):
            found += cpu_seconds(child)
    return found
