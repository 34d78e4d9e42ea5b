"""The port to runs of flows: every change is conditional on the claim that it was made under."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from gatebell.domain.audit.events import Event
    from gatebell.domain.runs.journals import Carried
    from gatebell.domain.runs.runs import FlowCall, Run, RunChange, Turn
    from gatebell.domain.stats import TurnTime


class Runs(Protocol):
    """Runs of flows, with their calls and turns."""

    def add(self, run: Run, events: Sequence[Event], carried: Carried) -> Run:
        """Write a new run.

        Args:
            run: the run, without a number
            events: its audit events
            carried: the calls and turns that it takes along from another run

        Returns:
            The run with its number.
        """
        ...

    def get(self, run_id: int) -> Run | None:
        """Return the run of this number, or None."""
        ...

    def newest(self, limit: int, *, active: bool = False) -> list[Run]:
        """Return runs, newest first; with `active` only those that have not ended."""
        ...

    def ready(self, limit: int, *, shuffled: bool = False) -> list[int]:
        """Return runs that any driver of this host should drive now, longest waits first.

        Args:
            limit: at most so many
            shuffled: the runs that are as urgent as the first one come in any order
        """
        ...

    def list_unplaced(self, key: str, limit: int) -> list[Run]:
        """Return ready runs of the project with this key that have no folder yet, oldest first."""
        ...

    def list_kept(self) -> list[Run]:
        """Return runs that should be driven now by the process that keeps each of them."""
        ...

    def next_ready_at(self) -> datetime | None:
        """Return when the next sleeping run of this host wakes that no process keeps, or None."""
        ...

    def of_task(self, task_id: str) -> list[Run]:
        """Return the runs that worked on a task, oldest first."""
        ...

    def running(self, late_before: datetime) -> list[Run]:
        """Return runs that a process drives without a lease, or whose lease ended by then."""
        ...

    def owners(self) -> list[str]:
        """Return the processes that drive runs, each once."""
        ...

    def list_driven_by(self, owner: str) -> list[Run]:
        """Return the runs that this process drives."""
        ...

    def list_of_host(self, host: str) -> list[Run]:
        """Return the runs that have not ended and are at home on a host, oldest first."""
        ...

    def changed_since(self, at: datetime) -> dict[int, tuple[str, str, int]]:
        """Return the runs that changed visibly since then, each with a value that tells changes apart."""
        ...

    def change(self, change: RunChange, expected: Run) -> bool:
        """Write a step of a run's life.

        A run that is to wait for people becomes ready instead, if one of its asks was settled before this
        write.

        Args:
            change: the run after the step, with everything that belongs to it
            expected: the run that the step was decided on

        Returns:
            False if its claim or state has changed, or if a turn opens in a session that has a holder.
        """
        ...

    def extend(self, held: Sequence[Run], until: datetime) -> set[int]:
        """Keep the claims of several runs for longer, in one write.

        Returns:
            The runs whose claims still hold; the other claims were lost.
        """
        ...

    def raise_claims(self, by: int) -> int:
        """Raise the claim of every run, so that no driver of before writes; return how many runs."""
        ...

    def skip_numbers(self, count: int, events: Sequence[Event]) -> None:
        """Leave out so many numbers before the next new run."""
        ...

    def calls(self, run_id: int) -> list[FlowCall]:
        """Return the calls of a run, in the order of their paths."""
        ...

    def turns(self, run_id: int) -> list[Turn]:
        """Return the turns of a run, in the order in which they began."""
        ...

    def turn_times(self, since: datetime, until: datetime, project: str) -> list[TurnTime]:
        """Return the times of agents' turns that began in a period, in a project or in all."""
        ...

    def turn(self, turn_id: str) -> Turn | None:
        """Return the turn of this id, or None."""
        ...

    def holder(self, cli: str, session: str) -> Turn | None:
        """Return the open turn of an agent session, or None."""
        ...

    def list_joined_turns(self) -> list[Turn]:
        """Return the open turns of people who joined an agent's session."""
        ...

    def offer(self, turn_id: str, signal: Any) -> bool:
        """Keep the signal of an agent that still works.

        Returns:
            False if it cannot count: its turn is over, its run has ended, or the ask is settled for which
            a person joined its session.
        """
        ...

    def delete(self, run: Run, events: Sequence[Event]) -> bool:
        """Forget an ended run; the audit trail keeps its events. False if it was claimed again."""
        ...
