"""The door to runs of flows: every change of one is conditional on the claim it was made under."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from gatebell.domain.audit.events import Event
    from gatebell.domain.runs.journals import Carried
    from gatebell.domain.runs.runs import FlowCall, Run, RunChange, Turn


class Runs(Protocol):
    """Runs of flows, with their calls and turns."""

    def add(self, run: Run, events: Sequence[Event], carried: Carried) -> Run:
        """Write a new run, with what it takes along; returns it with its number."""
        ...

    def get(self, run_id: int) -> Run | None: ...

    def newest(self, limit: int, *, active: bool = False) -> list[Run]:
        """The newest first; active: only those that have not ended."""
        ...

    def ready(self, limit: int) -> list[int]:
        """Runs that anybody should drive now, those that waited longest first."""
        ...

    def list_kept(self) -> list[Run]:
        """Runs that should be driven now, by the process that keeps each while it lives."""
        ...

    def next_ready_at(self) -> datetime | None:
        """When the next sleeping run wakes that no process keeps."""
        ...

    def of_task(self, task_id: str) -> list[Run]:
        """The runs that worked on a task, oldest first."""
        ...

    def running(self) -> list[Run]:
        """Runs in somebody's hands."""
        ...

    def change(self, change: RunChange, expected: Run) -> bool:
        """Write a step of a run's life, if its claim and state are still the expected ones.

        A run that is to wait for people becomes ready instead when one of its asks was
        settled meanwhile. False also when a turn opens in a session that somebody holds.
        """
        ...

    def extend(self, run: Run, until: datetime) -> bool:
        """Keep the claim for longer; False when it was lost."""
        ...

    def calls(self, run_id: int) -> list[FlowCall]:
        """In the order of their paths."""
        ...

    def turns(self, run_id: int) -> list[Turn]:
        """In the order they began."""
        ...

    def turn(self, turn_id: str) -> Turn | None: ...

    def holder(self, cli: str, session: str) -> Turn | None:
        """The open turn of an agent session: whoever holds it now."""
        ...

    def list_joined_turns(self) -> list[Turn]:
        """The open turns of people who joined an agent's session."""
        ...

    def offer(self, turn_id: str, signal: Any) -> bool:
        """Keep what an agent signals while it works.

        False when it cannot count: its turn is over, its run has ended, or the ask is settled that
        a person joined its session for.
        """
        ...

    def delete(self, run: Run, events: Sequence[Event]) -> bool:
        """Forget an ended run; the audit trail keeps what it tells of it."""
        ...
