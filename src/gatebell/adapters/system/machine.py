"""This machine: the processes and locks that the users of one store need."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING

from gatebell.adapters.system import processes
from gatebell.adapters.system.hosts import this_host

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager

    from gatebell.domain.enums import ProcessState
    from gatebell.domain.runs.identities import Identity
    from gatebell.domain.runs.runs import Run
    from gatebell.ports.signal_files import SignalFiles

# The modules of locks are imported where they are used: most commands need no lock.


class LocalMachine:
    """The processes of this machine, and locks in files beside a store.

    Without a path the store is in memory. Other processes do not see it, so it needs no locks.
    """

    def __init__(self, store_path: str) -> None:
        self._path = store_path

    @property
    def signal_files(self) -> SignalFiles:
        # Imported here: most commands do not work with the agents of runs.
        from gatebell.adapters.files.signal_files import LocalSignalFiles

        return LocalSignalFiles()

    @property
    def host(self) -> str:
        return this_host()

    def me(self) -> Identity:
        return processes.me()

    def lives(self, identity: Identity) -> bool:
        return processes.lives(identity)

    def find_state(self, identity: Identity) -> ProcessState:
        return processes.find_state(identity)

    def is_of_other_host(self, identity: Identity) -> bool:
        return processes.is_of_other_host(identity)

    def is_elsewhere(self, identity: Identity) -> bool:
        return bool(self._path) and processes.is_elsewhere(identity)

    def find_marked(self, mark: tuple[str, str]) -> list[int]:
        return processes.find_marked(mark)

    def describe(self, pid: int) -> str:
        return processes.describe(pid)

    def end(self, identity: Identity, mark: tuple[str, str] | None) -> bool:
        return processes.end(identity, mark)

    def keep_run(self, run: Run) -> None:
        if self._path:
            from gatebell.adapters.system import run_locks

            run_locks.hold_waiting(self._path, run)

    def leave_run(self, run: Run) -> None:
        if self._path:
            from gatebell.adapters.system import run_locks

            run_locks.release_waiting(self._path, run)

    def is_run_kept(self, run: Run) -> bool:
        if not self._path:
            return True
        from gatebell.adapters.system import run_locks

        return run_locks.is_waiting_held(self._path, run)

    def enter_visit(self, visit_id: str) -> None:
        if self._path:
            from gatebell.adapters.system import visit_locks

            visit_locks.enter(self._path, visit_id)

    def leave_visit(self, visit_id: str) -> None:
        if self._path:
            from gatebell.adapters.system import visit_locks

            visit_locks.leave(self._path, visit_id)

    def is_visit_held(self, visit_id: str) -> bool:
        from gatebell.adapters.system import visit_locks

        return visit_locks.is_held(self._path, visit_id)

    def visit_proof(self, visit_id: str) -> AbstractContextManager[Sequence[int]]:
        if not self._path:
            return nullcontext(())
        from gatebell.adapters.system import visit_locks

        return visit_locks.copy_proof(self._path, visit_id)

    def join_alone(self) -> AbstractContextManager[None]:
        if not self._path:
            return nullcontext()
        from gatebell.adapters.system import visit_locks

        return visit_locks.lock_joining(self._path)

    def waiting(self, ask_id: str) -> AbstractContextManager[None]:
        if not self._path:
            return nullcontext()
        from gatebell.adapters.system import waiter_locks

        return waiter_locks.waiting(self._path, ask_id)

    def is_waiter_gone(self, ask_id: str) -> bool:
        if not self._path:
            return False
        from gatebell.adapters.system import waiter_locks

        return waiter_locks.is_gone(self._path, ask_id)

    def forget_waiter(self, ask_id: str) -> None:
        if self._path:
            from gatebell.adapters.system import waiter_locks

            waiter_locks.forget(self._path, ask_id)
