"""The port to engines, which decide where and when a ready run is driven.

The unit is one run, from its claim until it parks or ends. Claims, journal and fencing are not the
engine's: it may hand over the same run twice, and need not know what became of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from gatebell.domain.asks.asks import Ask
    from gatebell.domain.runs.runs import Run
    from gatebell.domain.tasks.tasks import Task


class DriveReport(NamedTuple):
    """An engine begins to drive a run, or has driven it as far as it goes."""

    run: Run
    is_over: bool
    task: Task | None = None
    """The task of the run."""
    asks: Sequence[Ask] = ()
    """The asks that the task waits for."""


class Engine(Protocol):
    """Drives the ready runs that this process may drive, a few at once."""

    def work(self) -> None:
        """Drive runs until `stop` is called."""
        ...

    def stop(self) -> None:
        """Begin no more drives; those that are under way are not waited for."""
        ...

    def busy(self) -> list[int]:
        """Return the runs that are being driven."""
        ...

    def wait_idle(self, seconds: float) -> bool:
        """Wait for the end of all drives, at most so long; return whether all have ended."""
        ...


class Dispatch(NamedTuple):
    """A ready run that is to be handed over to an engine outside of the store."""

    run: int
    seq: int
    place: str
    priority: int
    claim: int


class WaitingPlace(NamedTuple):
    """A place in which runs of a project are due; older versions set neither host nor pool."""

    host: str
    pool: str
    project: str
    runs: int
    """How many runs are due there."""


class Dispatches(Protocol):
    """How a store hands ready runs over, in the transaction that makes them ready."""

    def engine(self) -> str:
        """Return the engine of this store, or "" for the local one."""
        ...

    def store_id(self) -> str:
        """Return a short text that tells this store from others."""
        ...

    def use(self, engine: str) -> None:
        """Hand runs over to this engine from now on, also those that are ready already."""
        ...

    def list_queues(self) -> list[str]:
        """Return the places in which procrastinate has jobs."""
        ...

    def dispatch_missing(self, changed_before: datetime) -> int:
        """Hand over again what the engine has lost, if it did not change since then."""
        ...

    def take(self, limit: int, seconds: float) -> list[Dispatch]:
        """Return runs that are due; no other process gets them for some seconds."""
        ...

    def finish(self, done: Dispatch) -> None:
        """Forget a dispatch that its engine has accepted."""
        ...

    def next_due(self) -> datetime | None:
        """Return when the next sleeping run is due, or None."""
        ...

    def list_waiting(self, ready_before: datetime) -> list[WaitingPlace]:
        """Return the places with runs that are due since then."""
        ...
