"""The port to the machine: its processes, locks that prove them alive, and agents' files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager

    from gatebell.domain.enums import ProcessState
    from gatebell.domain.runs.identities import Identity
    from gatebell.domain.runs.runs import Run
    from gatebell.ports.signal_files import SignalFiles


class Machine(Protocol):
    """Knows which processes live, and ends them. A store gets one; services ask the store."""

    @property
    def signal_files(self) -> SignalFiles:
        """The files by which the agents of runs signal."""
        ...

    @property
    def host(self) -> str:
        """The name of this host."""
        ...

    def me(self) -> Identity:
        """Return the identity of this process."""
        ...

    def lives(self, identity: Identity) -> bool:
        """Tell whether this very process is not proven gone: an unknown one may be at work."""
        ...

    def find_state(self, identity: Identity) -> ProcessState:
        """Tell whether this very process is alive, gone, or unknown because it is not seen here."""
        ...

    def is_of_other_host(self, identity: Identity) -> bool:
        """Tell whether a process belongs to another host, so that nothing proves its end here."""
        ...

    def is_elsewhere(self, identity: Identity) -> bool:
        """Tell whether a process belongs to another container of this boot."""
        ...

    def find_marked(self, mark: tuple[str, str]) -> list[int]:
        """Return the numbers of living processes with this variable in their environment."""
        ...

    def describe(self, pid: int) -> str:
        """Return the number and the command of a process, as untrusted text."""
        ...

    def end(self, identity: Identity, mark: tuple[str, str] | None) -> bool:
        """End a process.

        Args:
            identity: the process
            mark: a variable; all processes that carry it are ended, too

        Returns:
            True when all of them are proven gone; never for a process of another host.
        """
        ...

    def keep_run(self, run: Run) -> None:
        """Prove that this process drives a run by its claim, until `leave_run` or its end."""
        ...

    def leave_run(self, run: Run) -> None:
        """Take one `keep_run` back."""
        ...

    def is_run_kept(self, run: Run) -> bool:
        """Tell whether the process of this claim lives and keeps the run."""
        ...

    def enter_visit(self, visit_id: str) -> None:
        """Prove that this process holds a visit; call it before the visit is written."""
        ...

    def leave_visit(self, visit_id: str) -> None:
        """End the proof of a visit, even if its holder died."""
        ...

    def is_visit_held(self, visit_id: str) -> bool:
        """Tell whether the holder of a visit lives, in any container."""
        ...

    def visit_proof(self, visit_id: str) -> AbstractContextManager[Sequence[int]]:
        """Give the descriptors by which a program proves a visit after this process has ended."""
        ...

    def join_alone(self) -> AbstractContextManager[None]:
        """Keep other processes from opening a session of a run while this is entered."""
        ...

    def waiting(self, ask_id: str) -> AbstractContextManager[None]:
        """Prove that this process waits for an ask while this is entered."""
        ...

    def is_waiter_gone(self, ask_id: str) -> bool:
        """Tell whether the last process that waited for an ask was killed, and no other waits."""
        ...

    def forget_waiter(self, ask_id: str) -> None:
        """Remove the traces of a killed waiter, once the answer was handed over."""
        ...
