"""Which settled asks a history shows."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from gatebell.domain.asks.deadlines import parse_duration
from gatebell.domain.enums import AskStatus, Decision
from gatebell.domain.people.principals import person
from gatebell.domain.records import NamedTuple
from gatebell.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

_DAY_LENGTH = len("2026-11-15")
OUTCOMES = (
    Decision.APPROVED.value,
    Decision.REJECTED.value,
    AskStatus.ANSWERED.value,
    AskStatus.TIMED_OUT.value,
    AskStatus.CANCELLED.value,
)
"""How an ask was settled; `answered` means one that takes no yes or no."""


class HistoryFilter(NamedTuple):
    """Conditions that all must hold; an empty one always does."""

    search: str = ""
    """A text in the question, the note or the id."""
    outcome: str = ""
    agent: str = ""
    """The name of the asker."""
    project: str = ""
    """The folder of the project."""
    person: str = ""
    """Who settled it, perhaps with others: `person:ada`."""
    since: datetime | None = None
    until: datetime | None = None


EVERYTHING = HistoryFilter()


def parse_filter(
    given: dict[str, Any], now: datetime, to_utc: Callable[[datetime], datetime] | None = None
) -> HistoryFilter:
    """Return the filter of texts that people type; refuse one that cannot be read.

    Args:
        given: texts by the names of the fields; `person` is a name
        now: the current time
        to_utc: gives a time that names no zone its zone; UTC without it
    """
    read_time = to_utc or _take_as_utc
    outcome = given.get("outcome") or ""
    if outcome and outcome not in OUTCOMES:
        raise UsageError(f"expected one of {', '.join(OUTCOMES)}, got {outcome[:40]!r}")
    name = (given.get("person") or "").strip()
    return HistoryFilter(
        given.get("search") or "",
        outcome,
        (given.get("agent") or "").strip(),
        given.get("project") or "",
        name if not name or ":" in name else person(name),
        _parse_time(given.get("since") or "", now, read_time),
        _parse_time(given.get("until") or "", now, read_time, is_end=True),
    )


def _take_as_utc(at: datetime) -> datetime:
    return at.replace(tzinfo=UTC)


def _parse_time(
    text: str, now: datetime, to_utc: Callable[[datetime], datetime], *, is_end: bool = False
) -> datetime | None:
    """Return a day or a time, or the time so long ago; the end of a day is its last moment."""
    if not text:
        return None
    try:
        found = datetime.fromisoformat(text)
        day = timedelta(days=1 if is_end and len(text) <= _DAY_LENGTH else 0)
        # The day is added first: a day of a zone may have 23 hours.
        found += day
        return (found if found.tzinfo else to_utc(found)).astimezone(UTC)
    except (ValueError, OverflowError):
        pass
    try:
        return now - timedelta(seconds=parse_duration(text))
    except (UsageError, OverflowError):
        raise UsageError(
            f"expected a day such as 2026-11-15, a time or a duration such as 7d, got {text[:40]!r}"
        ) from None
