"""When a notice is sent: now, not before a time, together with others, or never.

An ask that stays open is always told. Everything here only delays it, and each delay has an end.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

from gatebell.domain.enums import NoticeKind, Priority
from gatebell.domain.notifications.routes import CHATS, FOR_PROGRAMS

if TYPE_CHECKING:
    from datetime import tzinfo

    from gatebell.domain.asks.asks import Ask
    from gatebell.domain.notifications.routes import Quiet, Route

PRESENT_FOR = timedelta(seconds=60)
"""After so long without a sign, a person counts as gone."""
MAX_PRESENCE_DELAY = timedelta(minutes=5)
"""A person who is here hears of an open ask after so long at the latest."""
BUNDLE_WINDOW = timedelta(seconds=30)
"""Asks that follow a message within this time are sent together at its end."""

_RETRY_AFTER_SECONDS = (10, 60, 300, 1800, 7200)
_STALE_AFTER = timedelta(days=1)
_HOST_ASKS_FIRST = timedelta(seconds=60)
_MOOT_ONCE_SETTLED = (
    *(NoticeKind.OPENED, NoticeKind.REMINDER),
    *(NoticeKind.ESCALATED, NoticeKind.REPLIED),
)
_TOLD_TOGETHER = (NoticeKind.OPENED, NoticeKind.REMINDER)
# These disturb no person.
_SILENT = (NoticeKind.SETTLED, NoticeKind.WITHDRAWN)


class Facts(NamedTuple):
    """Everything beside the notice that decides when it is sent."""

    now: datetime
    seen_at: datetime | None = None
    """The last sign that the person of the route is at a screen; None if never, or unknown."""
    told_at: datetime | None = None
    """When the route last sent asks or reminders."""
    zone: tzinfo | None = None
    """The zone of the quiet hours; None means that of this machine."""


def choose_time(
    kind: NoticeKind, route: Route, ask: Ask | None, written_at: datetime, facts: Facts
) -> datetime | None:
    """Return when a notice is sent on a route: the present, a later time, or None for never."""
    if is_moot(kind, ask):
        return None
    if kind in _SILENT:
        return facts.now
    first_at = written_at + find_patience(kind, route, ask)
    at = max(facts.now, first_at)
    if not _is_urgent(ask) and route.via not in FOR_PROGRAMS:
        if facts.seen_at and facts.seen_at + PRESENT_FOR > facts.now:
            at = max(at, min(facts.seen_at + PRESENT_FOR, first_at + MAX_PRESENCE_DELAY))
        if facts.told_at and is_told_together(kind, route):
            # Not of a clock that was set back.
            at = max(at, min(facts.told_at, facts.now) + BUNDLE_WINDOW)
    loud_at = send_at(route, ask, at, facts.zone)
    # Reminders that were due at night are not sent in the morning.
    return None if kind == NoticeKind.REMINDER and loud_at > at else loud_at


def is_told_together(kind: NoticeKind, route: Route) -> bool:
    """Return whether several such notices become one message.

    A program gets each event. In a chat, each ask has its own buttons.
    """
    return kind in _TOLD_TOGETHER and route.via not in (*FOR_PROGRAMS, *CHATS)


def find_patience(kind: NoticeKind, route: Route, ask: Ask | None) -> timedelta:
    """Return how long an ask waits before people hear of it.

    A host may show a call in its own dialog: a person at that screen can answer first.
    """
    if kind != NoticeKind.OPENED:
        return timedelta(0)
    if route.after is not None:
        return timedelta(seconds=route.after)
    asks_first = bool(ask and ask.question.call and not ask.deferred and not ask.origin.owner)
    if not asks_first or _is_urgent(ask) or route.via in FOR_PROGRAMS:
        return timedelta(0)
    return _HOST_ASKS_FIRST


def _is_urgent(ask: Ask | None) -> bool:
    return ask is not None and ask.priority == Priority.URGENT


def is_moot(kind: NoticeKind, ask: Ask | None) -> bool:
    """Return whether the notice is not needed any more."""
    if kind == NoticeKind.NOTE:
        return False
    return ask is None or (not ask.pending and kind in _MOOT_ONCE_SETTLED)


def is_stale(kind: NoticeKind, written_at: datetime, now: datetime) -> bool:
    """Return whether a notice is too old to be sent, because no process sent notices for long.

    A notice about a new ask is never too old.
    """
    return kind != NoticeKind.OPENED and now - written_at > _STALE_AFTER


def send_at(route: Route, ask: Ask | None, at: datetime, zone: tzinfo | None = None) -> datetime:
    """Return when a due notice may be sent; quiet hours delay it, except for urgent asks.

    Without a zone the hours are those of this machine.
    """
    if route.quiet is None or _is_urgent(ask):
        return at
    return _find_quiet_end(route.quiet, at, zone) or at


def _find_quiet_end(quiet: Quiet, at: datetime, zone: tzinfo | None) -> datetime | None:
    local = at.astimezone(zone)
    spans_midnight = quiet.begin > quiet.end
    now = local.time()
    late, early = now >= quiet.begin, now < quiet.end
    if not (late or early if spans_midnight else late and early):
        return None
    day = local.date() + timedelta(days=1 if spans_midnight and late else 0)
    # Without a zone the time is naive, which astimezone takes for this machine's.
    end = datetime.combine(day, quiet.end, zone)
    until = end.astimezone(UTC)
    # When the clock is set back, an hour comes twice, and this may be the second one.
    return until if until > at else end.replace(fold=1).astimezone(UTC)


def retry_at(attempts: int, now: datetime) -> datetime | None:
    """Return when to try again after so many attempts; None after the last attempt."""
    if attempts > len(_RETRY_AFTER_SECONDS):
        return None
    return now + timedelta(seconds=_RETRY_AFTER_SECONDS[attempts - 1])


def is_exhausted(attempts: int) -> bool:
    """Return whether all attempts are used up, because earlier senders died."""
    return attempts > len(_RETRY_AFTER_SECONDS) + 1
