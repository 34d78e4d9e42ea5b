"""Processes: which one is meant, whether it lives, and ending all of an agent and proving it gone."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from functools import cache

from gatebell.domain.records import NamedTuple
from gatebell.domain.runs.identities import Identity

_PATIENCE_SECONDS = 10.0
_POLL_SECONDS = 0.01
_CLEAN_LOOKS = 2
_MAX_COMMAND_CHARACTERS = 60


class _Row(NamedTuple):
    """A process as the system's table shows it."""

    pid: int
    start: str
    group: int
    dead: bool
    """It has ended, and its parent has not yet asked how."""


def identify(pid: int) -> Identity | None:
    """The process that has this number now, if there is one."""
    row = _row(pid)
    return Identity(_boot(), pid, row.start) if row else None


def me() -> Identity:
    found = identify(os.getpid())
    assert found, "a process that looks is there"
    return found


def lives(identity: Identity) -> bool:
    """Whether this very process has not ended, as far as it can be told from here."""
    if not _same_boot(identity):
        return False
    if is_elsewhere(identity):
        return True
    row = _row(identity.pid)
    return bool(row and row.start == identity.start and not row.dead)


def is_elsewhere(identity: Identity) -> bool:
    """Whether a process belongs to another container of this boot: its number says nothing here."""
    return _same_boot(identity) and identity.boot != _boot()


def describe(pid: int) -> str:
    """The number of a process and the command that it runs, to be shown as untrusted text."""
    words = b""
    with suppress(OSError), open(f"/proc/{pid}/cmdline", "rb") as file:
        words = file.read(_MAX_COMMAND_CHARACTERS * 4)
    command = words.replace(b"\0", b" ").decode("utf-8", "replace").strip()
    if len(command) > _MAX_COMMAND_CHARACTERS:
        command = f"{command[: _MAX_COMMAND_CHARACTERS - 1]}…"
    return f"{pid} ({command})" if command else str(pid)


def end(identity: Identity, mark: tuple[str, str] | None) -> bool:
    """End this process, the group it leads, and whatever carries the mark in its environment.

    The mark must be unlike any other on this machine. True when all of it is proven gone. Nothing
    is ended that is not proven to belong to it, and never the process that calls this: what is
    itself part of an agent cannot prove it gone.
    """
    if not _same_boot(identity):
        return True
    if is_elsewhere(identity):
        return False
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
            # A process that is just being replaced by another program shows no environment.
            clean += 1
            if clean == _CLEAN_LOOKS:
                return mark is None or _has_proc()
        time.sleep(_POLL_SECONDS)
    return False


def find_marked(mark: tuple[str, str]) -> list[int]:
    """The numbers of the living processes that carry this mark, as far as they can be seen."""
    if not _has_proc():
        return []
    return [row.pid for row in _table() if not row.dead and _carries(row.pid, mark)]


def end_marked(mark: tuple[str, str]) -> None:
    """End whatever carries this mark, and what that starts meanwhile."""
    for _ in range(_CLEAN_LOOKS):
        for row in _table():
            if not row.dead and row.pid != os.getpid() and _carries(row.pid, mark):
                with suppress(ProcessLookupError, PermissionError):
                    _kill_one(row)


class _Look(NamedTuple):
    """What one look at the table found of an agent."""

    ours: list[_Row]
    led: bool
    """Its first process is there and leads the group, so the group is its own."""
    unproven: bool
    """Something is left that cannot be told from somebody else's, or is this process itself."""


def _look(identity: Identity, mark: tuple[str, str] | None, ours: set[tuple[int, str]]) -> _Look:
    rows = _table()
    first = next((row for row in rows if row.pid == identity.pid), None)
    led = bool(first and first.start == identity.start and first.group == identity.pid)
    for row in rows:
        if (led and row.group == identity.pid) or (mark and _carries(row.pid, mark)):
            ours.add((row.pid, row.start))
    living = [row for row in rows if not row.dead]
    # A number is not given away while a group goes by it: with another process under that
    # number nobody of the group is left; with none, those in it may be of either.
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
    # As a group first: nobody in it can start another process meanwhile.
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
    # Between a look and the signal the number may become somebody else's; this handle does not.
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
        # Containers share a boot, and each counts its processes anew.
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
    # The name stands in brackets and may itself hold brackets and blanks.
    fields = stat[stat.rindex(")") + 2 :].split()
    # The first thread may have ended while others of the process still work.
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
    """The table where there is no /proc, as `ps` tells it."""
    rows = []
    for line in _run_ps("ps", *which, "-o", "pid=,pgid=,stat=,lstart=").splitlines():
        pid, group, state, *start = line.split()
        rows.append(_Row(int(pid), "_".join(start), int(group), state.startswith("Z")))
    return rows


def _run_ps(*words: str) -> str:
    # Imported here: where there is a /proc, nobody needs it.
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
