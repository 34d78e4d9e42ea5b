"""Reports of an engine that drives runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

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
