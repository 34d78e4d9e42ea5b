"""The machine on which a store is used: its processes, locks that prove them alive, agents' files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager

    from gatebell.domain.runs.identities import Identity
    from gatebell.domain.runs.runs import Run
    from gatebell.ports.signal_files import SignalFiles


class Machine(Protocol):
    """Says which processes live and ends them. A store is given one; services ask the store."""

    @property
    def signal_files(self) -> SignalFiles:
        """The files by which the agents of runs signal."""
        ...

    def me(self) -> Identity:
        """The identity of this process."""
        ...

    def lives(self, identity: Identity) -> bool:
        """Whether this very process has not ended, as far as this machine can tell."""
        ...

    def is_elsewhere(self, identity: Identity) -> bool:
        """Whether a process belongs to another container of this boot."""
        ...

    def find_marked(self, mark: tuple[str, str]) -> list[int]:
        """The numbers of the living processes that carry this variable in their environment."""
        ...

    def describe(self, pid: int) -> str:
        """The number and the command of a process, to be shown as untrusted text."""
        ...

    def end(self, identity: Identity, mark: tuple[str, str] | None) -> bool:
        """End a process and all that carries its mark; True when all of it is proven gone."""
        ...

    def keep_run(self, run: Run) -> None:
        """Prove that this process drives a run by its claim, until `leave_run` or its end."""
        ...

    def leave_run(self, run: Run) -> None:
        """Take back once what `keep_run` said."""
        ...

    def is_run_kept(self, run: Run) -> bool:
        """Whether the process that made this claim of a run lives and keeps the run."""
        ...

    def enter_visit(self, visit_id: str) -> None:
        """Prove that this process holds a visit; call it before the visit is written."""
        ...

    def leave_visit(self, visit_id: str) -> None:
        """End the proof of a visit, also one whose holder died."""
        ...

    def is_visit_held(self, visit_id: str) -> bool:
        """Whether the holder of a visit lives, in any container."""
        ...

    def visit_proof(self, visit_id: str) -> AbstractContextManager[Sequence[int]]:
        """The descriptors that a program inherits to prove a visit after this process."""
        ...

    def join_alone(self) -> AbstractContextManager[None]:
        """Keep other processes from opening a session of a run for this moment."""
        ...

    def waiting(self, ask_id: str) -> AbstractContextManager[None]:
        """Prove for a while that this process waits for the answer to an ask."""
        ...

    def is_waiter_gone(self, ask_id: str) -> bool:
        """Whether the last process that waited for an ask was killed, and no other waits now."""
        ...

    def forget_waiter(self, ask_id: str) -> None:
        """Remove what a killed waiter left, once the answer was handed over."""
        ...
