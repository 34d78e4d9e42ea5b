"""Proof that a person's visit still has its holder: in an ask's session, or in one of a run.

The holder's process number proves it within one container. Other containers of the same machine
count their processes anew. There a lock proves it: the holder keeps a file locked, and the
kernel unlocks that file when the last process that has it open ends.
"""

from __future__ import annotations

import os
import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from gatebell.adapters.system import processes
from gatebell.errors import RefusedError, StoreTroubleError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gatebell.domain.runs.runs import Turn
    from gatebell.domain.sessions.visits import Sitting
    from gatebell.ports.store import Store


_JOINING = "joining"
_TRIES = 10


class _Entered:
    """The locked files of this process, by path."""

    def __init__(self) -> None:
        self.alone = threading.Lock()
        self.files: dict[str, int] = {}


_entered = _Entered()


def _forget() -> None:
    """Close the locks of the parent: they must end with the parent, not with its children."""
    global _entered
    for descriptor in _entered.files.values():
        with suppress(OSError):
            os.close(descriptor)
    _entered = _Entered()


os.register_at_fork(after_in_child=_forget)


def enter(store: Store, visit_id: str) -> None:
    """Prove from now on that this process holds a visit; call it before the visit is written."""
    # No other process sees a store in memory.
    if not store.path:
        return
    # Imported here and below: commands that only list asks need no locks.
    import fcntl

    path = _path(store, visit_id)
    try:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
    except OSError as error:
        raise StoreTroubleError(
            f"{path} cannot be locked ({error.strerror}), so no session is opened: make its folder "
            "writable for you, on a disk that knows locks"
        ) from None
    with _entered.alone:
        _entered.files[path] = descriptor


def leave(store: Store, visit_id: str) -> None:
    """End the proof of a visit that is closed, also where its holder died."""
    if not store.path:
        return
    path = _path(store, visit_id)
    with suppress(OSError):
        os.unlink(path)
    with _entered.alone:
        descriptor = _entered.files.pop(path, None)
    if descriptor is not None:
        os.close(descriptor)


@contextmanager
def proof(store: Store, visit_id: str) -> Iterator[Sequence[int]]:
    """The descriptors that a program inherits, so that it proves the visit after this process."""
    with _entered.alone:
        found = _entered.files.get(_path(store, visit_id)) if store.path else None
        # A copy: the child that becomes the program closes the descriptor that is known here.
        copies = [] if found is None else [os.dup(found)]
    try:
        yield copies
    finally:
        for copy in copies:
            os.close(copy)


@contextmanager
def alone(store: Store) -> Iterator[None]:
    """Keep other processes from opening a session of a run for this moment."""
    if not store.path:
        yield
        return
    # Imported here: commands that only list asks do not need it.
    from gatebell.app import notifier_process

    path = _path(store, _JOINING)
    # Each try lasts a tenth of a second: others write to a slow disk under this lock.
    tries = (notifier_process.hold(path) for _ in range(_TRIES))
    descriptor = next((found for found in tries if found is not None), None)
    if descriptor is None:
        raise RefusedError("another gate continue opens a session at this moment: try again")
    try:
        yield
    finally:
        notifier_process.release(descriptor)


def lives(store: Store, visit: Sitting | Turn) -> bool:
    """Whether the process that opened a visit lives, in this container or another one."""
    identity = processes.parse(visit.process)
    if store.path and processes.is_elsewhere(identity):
        return _is_locked(_path(store, visit.id))
    return processes.lives(identity)


def holds(store: Store, visit: Sitting | Turn) -> bool:
    """Whether an open visit has its holder, or processes that the holder left behind."""
    return lives(store, visit) or bool(processes.marked(("GATE_TURN", visit.id)))


def orphans(store: Store, visit: Sitting | Turn) -> list[str]:
    """The number and command of each process that outlives the holder of an open visit."""
    if visit.ended_at or lives(store, visit):
        return []
    return [processes.describe(pid) for pid in processes.marked(("GATE_TURN", visit.id))]


def sits_in(store: Store, cli: str, session: str) -> Sitting | None:
    """The visit that has this conversation open through a session ask."""
    found = store.asks.holder(cli, session)
    return found if found and holds(store, found) else None


def _path(store: Store, visit_id: str) -> str:
    # One file, by each name of the store.
    return os.path.join(f"{os.path.realpath(store.path)}-visits", visit_id)


def _is_locked(path: str) -> bool:
    import fcntl

    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        return False
    except OSError:
        # Where the file cannot be read, the holder is not proven gone.
        return True
    try:
        # Shared: two processes that look at once must not take each other for the holder.
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(descriptor)
    return False
