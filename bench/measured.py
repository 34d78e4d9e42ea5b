"""Measure a process from outside."""

from __future__ import annotations

import ctypes
import os
import time
from contextlib import suppress


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
