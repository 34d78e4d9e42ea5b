"""How often agents ask, how long they wait, and how much grants settle, over a period."""

from __future__ import annotations

from datetime import timedelta
from statistics import median
from typing import TYPE_CHECKING, Any

from gatebell.domain.asks.asks import iso
from gatebell.domain.records import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from datetime import datetime

_HOUR = timedelta(hours=1)
_MINUTE = 60
_NONE = "none yet"


class Wait(NamedTuple):
    """An ask and how long it waited."""

    asker: str
    """The session, or the call of a run; empty for a program of a person."""
    opened_at: datetime
    settled_at: datetime | None
    is_answered: bool
    is_decided_call: bool
    """Whether a person decided a tool call by it."""
    is_background: bool = False
    """Whether its agent went on without waiting."""


class GrantUse(NamedTuple):
    """A tool call that a grant let pass."""

    at: datetime
    actor: str
    """`agent:` and the session."""


class TurnTime(NamedTuple):
    """A turn of an agent in a run."""

    asker: str
    began_at: datetime
    ended_at: datetime | None


class Period(NamedTuple):
    """A time with its end left out."""

    since: datetime
    until: datetime

    def holds(self, at: datetime | None) -> bool:
        return at is not None and self.since <= at < self.until

    def clip(self, start: datetime, end: datetime) -> tuple[datetime, datetime] | None:
        first, last = max(start, self.since), min(end, self.until)
        return (first, last) if first <= last else None


class Stats(NamedTuple):
    """The numbers of a period."""

    since: datetime
    until: datetime
    asks: int
    """How many asks of agents were opened."""
    agent_hours: int
    """Hours of the clock, counted once for each session that was at work in them."""
    answered: int
    median_answer_seconds: float | None
    blocked_minutes: float
    grants_used: int
    calls_decided: int
    """Tool calls that a person decided."""

    @property
    def asks_per_agent_hour(self) -> float | None:
        return round(self.asks / self.agent_hours, 2) if self.agent_hours else None

    @property
    def share_by_grants(self) -> float | None:
        """The part of the decided tool calls that a grant settled, from 0 to 1."""
        decided = self.grants_used + self.calls_decided
        return round(self.grants_used / decided, 3) if decided else None


def count_stats(
    period: Period,
    now: datetime,
    waits: Iterable[Wait],
    uses: Iterable[GrantUse],
    turns: Iterable[TurnTime],
) -> Stats:
    """Count the numbers of a period.

    A session is at work in an hour of the clock if it asked, waited, used a grant or had a turn of a
    run in it. Waits of one session at the same time are counted once.
    """
    waits = [one for one in waits if one.asker]
    uses = [one for one in uses if period.holds(one.at)]
    blocked: dict[str, list[tuple[datetime, datetime]]] = {}
    for wait in waits:
        end = wait.opened_at if wait.is_background else wait.settled_at or now
        if clipped := period.clip(wait.opened_at, end):
            blocked.setdefault(wait.asker, []).append(clipped)
    spans = [(asker, *one) for asker, each in blocked.items() for one in each]
    spans += [(use.actor.removeprefix("agent:"), use.at, use.at) for use in uses]
    for turn in turns:
        if clipped := period.clip(turn.began_at, turn.ended_at or now):
            spans.append((turn.asker, *clipped))
    hours = {(asker, hour) for asker, start, end in spans for hour in _list_hours(start, end)}
    times = [
        (one.settled_at - one.opened_at).total_seconds()
        for one in waits
        if one.is_answered and one.settled_at and period.holds(one.settled_at)
    ]
    return Stats(
        period.since,
        period.until,
        asks=sum(period.holds(one.opened_at) for one in waits),
        agent_hours=len(hours),
        answered=len(times),
        median_answer_seconds=round(median(times), 1) if times else None,
        blocked_minutes=round(sum(map(_add_up, blocked.values())) / 60, 1),
        grants_used=len(uses),
        calls_decided=sum(one.is_decided_call and period.holds(one.settled_at) for one in waits),
    )


def describe_stats(stats: Stats) -> list[tuple[str, str]]:
    """Return the numbers for people, each with its name."""
    rate, share = stats.asks_per_agent_hour, stats.share_by_grants
    wait = stats.median_answer_seconds
    decided = stats.grants_used + stats.calls_decided
    return [
        (
            "Asks per agent hour",
            _NONE
            if rate is None
            else f"{rate:g} (asks: {stats.asks}, agent hours: {stats.agent_hours})",
        ),
        (
            "Median time to an answer",
            _NONE if wait is None else f"{_name_time(wait)} (answers: {stats.answered})",
        ),
        ("Time that agents waited", _name_time(stats.blocked_minutes * 60)),
        (
            "Tool calls settled by grants",
            _NONE if share is None else f"{share:.0%} ({stats.grants_used} of {decided})",
        ),
    ]


def _name_time(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < _MINUTE else f"{seconds / _MINUTE:,.1f} min"


def stats_document(stats: Stats) -> dict[str, Any]:
    """Return the numbers for `--json` and the API."""
    times = {"since": iso(stats.since), "until": iso(stats.until)}
    shares = {
        "asks_per_agent_hour": stats.asks_per_agent_hour,
        "share_by_grants": stats.share_by_grants,
    }
    return stats._asdict() | times | shares


def read_stats_document(document: dict[str, Any], read_time: Callable[[str], datetime]) -> Stats:
    """Return the numbers of a document."""
    times = {name: read_time(document[name]) for name in ("since", "until")}
    return Stats(**{name: document[name] for name in Stats._fields} | times)


def _list_hours(start: datetime, end: datetime) -> list[datetime]:
    hour = start.replace(minute=0, second=0, microsecond=0)
    found = [hour]
    while (hour := hour + _HOUR) < end:
        found.append(hour)
    return found


def _add_up(spans: list[tuple[datetime, datetime]]) -> float:
    """Return the seconds that are in at least one of the spans."""
    total, last = timedelta(), None
    for start, end in sorted(spans):
        first = start if last is None else max(start, last)
        total += max(timedelta(), end - first)
        last = end if last is None else max(last, end)
    return total.total_seconds()
