"""Identify processes, and end all processes of an agent with proof that they are gone."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from functools import cache

from gatebell.adapters.system.hosts import this_host
from gatebell.domain.enums import ProcessState
from gatebell.domain.records import NamedTuple
from gatebell.domain.runs.identities import Identity

_PATIENCE_SECONDS = 10.0
_POLL_SECONDS = 0.01
_CLEAN_LOOKS = 2
_MAX_COMMAND_CHARACTERS = 60


class _Row(NamedTuple):
    """A process in the system's table."""

    pid: int
    start: str
    group: int
    dead: bool
    """It has ended, and its parent has not yet read its exit code."""


def identify(pid: int) -> Identity | None:
    """Return the process that has this number now, if there is one."""
    row = _row(pid)
    return Identity(_boot(), pid, row.start, this_host()) if row else None


def me() -> Identity:
    found = identify(os.getpid())
    assert found, "this process must be in the table"
    return found


def find_state(identity: Identity) -> ProcessState:
    """Return whether this process has ended; unknown if this host cannot see it."""
    if is_of_other_host(identity) or is_elsewhere(identity):
        return ProcessState.UNKNOWN
    row = _row(identity.pid) if _same_boot(identity) else None
    is_there = row and row.start == identity.start and not row.dead
    return ProcessState.ALIVE if is_there else ProcessState.GONE


def lives(identity: Identity) -> bool:
    """Return whether this process is not proven gone: an unknown one may be at work."""
    return find_state(identity) != ProcessState.GONE


def is_of_other_host(identity: Identity) -> bool:
    """Return whether a process belongs to another host: nothing about it can be seen here."""
    return identity.host not in ("", this_host())


def is_elsewhere(identity: Identity) -> bool:
    """Return whether a process is in another container: its number means nothing here."""
    return not is_of_other_host(identity) and _same_boot(identity) and identity.boot != _boot()


def describe(pid: int) -> str:
    """Return the number and the command of a process; the command is untrusted text."""
    words = b""
    with suppress(OSError), open(f"/proc/{pid}/cmdline", "rb") as file:
        words = file.read(_MAX_COMMAND_CHARACTERS * 4)
    command = words.replace(b"\0", b" ").decode("utf-8", "replace").strip()
    if len(command) > _MAX_COMMAND_CHARACTERS:
        command = f"{command[: _MAX_COMMAND_CHARACTERS - 1]}…"
    return f"{pid} ({command})" if command else str(pid)


def end(identity: Identity, mark: tuple[str, str] | None) -> bool:
    """End this process, its group, and all processes with the mark in their environment.

    The mark must be unique on this machine. Return True when all of them are proven gone; that is
    never so for a process of another host. Only processes that are proven to belong to it are ended. The calling process is never ended: a part
    of an agent cannot prove that the agent is gone.
    """
    if is_of_other_host(identity) or is_elsewhere(identity):
        return False
    if not _same_boot(identity):
        return True
    until = time.monotonic() + _PATIENCE_SECONDS
    ours: set[tuple[int, str]] = {(identity.pid, identity.start)}
    clean = 0
    while time.monotonic() < until:
        look = _look(identity, mark, ours)
        if look.ours:
            clean = 0
            _kill(identity, look)
        elif look.unproven:
            return False
        else:
            # During exec, a process shows no environment.
            clean += 1
            if clean == _CLEAN_LOOKS:
                return mark is None or _has_proc()
        time.sleep(_POLL_SECONDS)
    return False


def find_marked(mark: tuple[str, str]) -> list[int]:
    """Return the numbers of the visible running processes with this mark."""
    if not _has_proc():
        return []
    return [row.pid for row in _table() if not row.dead and _carries(row.pid, mark)]


def end_marked(mark: tuple[str, str]) -> None:
    """End all processes with this mark, and those that they start during this call."""
    for _ in range(_CLEAN_LOOKS):
        for row in _table():
            if not row.dead and row.pid != os.getpid() and _carries(row.pid, mark):
                with suppress(ProcessLookupError, PermissionError):
                    _kill_one(row)


class _Look(NamedTuple):
    """The processes of an agent that one look at the table found."""

    ours: list[_Row]
    led: bool
    """Its first process exists and leads the group, so the whole group belongs to it."""
    unproven: bool
    """Some process may or may not belong to it, or is this process itself."""


def _look(identity: Identity, mark: tuple[str, str] | None, ours: set[tuple[int, str]]) -> _Look:
    rows = _table()
    first = next((row for row in rows if row.pid == identity.pid), None)
    led = bool(first and first.start == identity.start and first.group == identity.pid)
    for row in rows:
        if (led and row.group == identity.pid) or (mark and _carries(row.pid, mark)):
            ours.add((row.pid, row.start))
    living = [row for row in rows if not row.dead]
    # A number is not reused while a group has it. If another process has the number, the group is
    # empty; if none has it, the group's members may belong to either.
    orphans = first is None and any(
        row.group == identity.pid and (row.pid, row.start) not in ours for row in living
    )
    found = [row for row in living if (row.pid, row.start) in ours]
    myself = os.getpid()
    return _Look(
        [row for row in found if row.pid != myself],
        led,
        orphans or any(row.pid == myself for row in found),
    )


def _kill(identity: Identity, look: _Look) -> None:
    # First as a group: then no member can start another process.
    if look.led and os.getpgrp() != identity.pid:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(identity.pid, signal.SIGKILL)
    for row in look.ours:
        with suppress(ProcessLookupError, PermissionError):
            _kill_one(row)


def _kill_one(row: _Row) -> None:
    if not hasattr(os, "pidfd_open"):
        if _row(row.pid) == row:
            os.kill(row.pid, signal.SIGKILL)
        return
    # The number may be reused between the look and the signal; this handle may not.
    handle = os.pidfd_open(row.pid)
    try:
        now = _row(row.pid)
        if now and now.start == row.start:
            signal.pidfd_send_signal(handle, signal.SIGKILL)
    finally:
        os.close(handle)


def _has_proc() -> bool:
    return os.path.exists("/proc/self/stat")


def _same_boot(identity: Identity) -> bool:
    return identity.boot.partition(":")[0] == _boot().partition(":")[0]


@cache
def _boot() -> str:
    with suppress(OSError):
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            boot = file.read().strip()
        # Containers share a boot, and each has its own process numbers.
        namespace = os.readlink("/proc/self/ns/pid").rpartition("[")[2].rstrip("]")
        return f"{boot}:{namespace}"
    return _run_ps("sysctl", "-n", "kern.bootsessionuuid").strip()


def _table() -> list[_Row]:
    if _has_proc():
        pids = [int(name) for name in os.listdir("/proc") if name.isdigit()]
        return [row for pid in pids if (row := _row(pid))]
    return _list_with_ps("-A")


def _row(pid: int) -> _Row | None:
    if not _has_proc():
        return next(iter(_list_with_ps("-p", str(pid))), None)
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            stat = file.read()
    except (FileNotFoundError, ProcessLookupError):
        return None
    # The name is in brackets, and may itself contain brackets and blanks.
    fields = stat[stat.rindex(")") + 2 :].split()
    # The first thread may have ended while other threads still work.
    dead = fields[0] in "ZX" and int(fields[17]) <= 1
    return _Row(pid, fields[19], int(fields[2]), dead)


def _carries(pid: int, mark: tuple[str, str]) -> bool:
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            variables = file.read().split(b"\0")
    except OSError:
        return False
    return os.fsencode("=".join(mark)) in variables


def _list_with_ps(*which: str) -> list[_Row]:
    """Return the table from `ps`, for systems without /proc."""
    rows = []
    for line in _run_ps("ps", *which, "-o", "pid=,pgid=,stat=,lstart=").splitlines():
        pid, group, state, *start = line.split()
        rows.append(_Row(int(pid), "_".join(start), int(group), state.startswith("Z")))
    return rows


def _run_ps(*words: str) -> str:
    # Imported here: it is only needed without /proc.
    import subprocess

    try:
        told = subprocess.run(
            words,
            env=os.environ | {"LC_ALL": "C"},
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            check=False,
        )
    except OSError:
        return ""
    return told.stdout
