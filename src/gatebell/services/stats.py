"""The numbers of a period: how often agents ask, and how long they wait."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from gatebell.domain.stats import Period, Stats, count_stats
from gatebell.errors import UsageError

if TYPE_CHECKING:
    from datetime import datetime

    from gatebell.ports.store import Store

USUAL_DAYS = 7
_MAX_DAYS = 366
# A turn that began earlier is not counted.
_LONGEST_TURN = timedelta(days=1)


def read_stats(
    store: Store,
    since: datetime | None = None,
    until: datetime | None = None,
    project: str = "",
) -> Stats:
    """Return the numbers of a period, the last seven days without one."""
    now = store.now()
    last = min(until, now) if until else now
    first = since or last - timedelta(days=USUAL_DAYS)
    if first >= last:
        raise UsageError("the period is empty: --since must be before --until and before now")
    if last - first > timedelta(days=_MAX_DAYS):
        raise UsageError(f"the period is longer than {_MAX_DAYS} days: name a shorter one")
    return count_stats(
        Period(first, last),
        now,
        store.asks.waits(first, last, project),
        store.rules.uses(first, last, project),
        store.runs.turn_times(first - _LONGEST_TURN, last, project),
    )
