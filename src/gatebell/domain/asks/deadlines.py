"""The times at which an ask reminds, escalates and expires, and how drafts delay the end."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from gatebell.domain.asks.times import as_seconds
from gatebell.domain.lists import as_list
from gatebell.domain.records import NamedTuple
from gatebell.errors import UsageError

DRAFT_HOLDS_SECONDS = 120.0
DRAFTS_HOLD_AT_MOST_SECONDS = 900.0

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


class Escalation(NamedTuple):
    """Another person or group to notify when an ask has waited so long."""

    after_seconds: float
    who: str


def make_escalations(given: Any) -> tuple[Escalation, ...]:
    """Return escalations from pairs of a time and a name.

    Raises:
        UsageError: It is not a list of pairs, or a time is not seconds or a timedelta.
    """
    return tuple(map(_make_escalation, as_list(given, "escalations")))


def _make_escalation(given: Any) -> Escalation:
    pair = () if isinstance(given, str | int | float) else as_list(given, "an escalation")
    if len(pair) != 2:
        raise UsageError(
            f'expected pairs of a time and a name for escalations, [(60, "ada")], got {given!r}'
        )
    return Escalation(as_seconds(pair[0], "the time of an escalation"), pair[1])


class Deadlines(NamedTuple):
    """The deadlines of one ask, in store time."""

    expires_at: datetime | None = None
    hard: bool = False
    """The host enforces the end, so it never moves."""
    moved_seconds: float = 0.0
    """How many seconds drafts have moved a soft deadline."""
    remind_every_seconds: float | None = None
    remind_at: datetime | None = None
    escalations: tuple[Escalation, ...] = ()
    escalated: int = 0
    """The number of escalations that have happened."""
    escalate_at: datetime | None = None

    @property
    def due_at(self) -> datetime | None:
        """The next time at which something is due for this ask."""
        times = [t for t in (self.expires_at, self.remind_at, self.escalate_at) if t]
        return min(times) if times else None


NO_DEADLINES = Deadlines()


def start(
    opened_at: datetime,
    expires_seconds: float | None = None,
    hard: bool = False,
    remind_every_seconds: float | None = None,
    escalations: tuple[Escalation, ...] = (),
) -> Deadlines:
    """Return the deadlines of an ask that opens now."""
    steps = tuple(sorted(escalations))
    for seconds in (expires_seconds, remind_every_seconds, *(s.after_seconds for s in steps)):
        if seconds is not None and not 0 < seconds < 1e9:
            raise UsageError("expected a number of seconds above 0 (or 90s, 5m, 2h, 1d)")
    if remind_every_seconds is not None and remind_every_seconds < 1:
        raise UsageError("expected at least 1 second between reminders")
    return Deadlines(
        expires_at=_add_seconds(opened_at, expires_seconds),
        hard=hard,
        # The store returns floats, and the digests of 40 and 40.0 differ.
        remind_every_seconds=None if remind_every_seconds is None else float(remind_every_seconds),
        remind_at=_add_seconds(opened_at, remind_every_seconds),
        escalations=steps,
        escalate_at=_add_seconds(opened_at, steps[0].after_seconds) if steps else None,
    )


def _add_seconds(at: datetime, seconds: float | None) -> datetime | None:
    return None if seconds is None else at + timedelta(seconds=seconds)


def remind(deadlines: Deadlines, now: datetime) -> Deadlines:
    """Return the deadlines after a reminder; reminders that were missed are skipped."""
    if deadlines.remind_at is None or deadlines.remind_every_seconds is None:
        return deadlines
    late = (now - deadlines.remind_at).total_seconds() // deadlines.remind_every_seconds
    step = timedelta(seconds=deadlines.remind_every_seconds * (late + 1))
    return deadlines._replace(remind_at=deadlines.remind_at + step)


def escalate(deadlines: Deadlines, opened_at: datetime) -> Deadlines:
    """Return the deadlines after the next escalation."""
    done = deadlines.escalated + 1
    left = deadlines.escalations[done:]
    following = _add_seconds(opened_at, left[0].after_seconds) if left else None
    return deadlines._replace(escalated=done, escalate_at=following)


def hold(deadlines: Deadlines, now: datetime) -> Deadlines:
    """Move a soft deadline to at least two minutes from now, while a person types."""
    if deadlines.expires_at is None or deadlines.hard:
        return deadlines
    wanted = now + timedelta(seconds=DRAFT_HOLDS_SECONDS)
    missing = (wanted - deadlines.expires_at).total_seconds()
    moved = min(missing, DRAFTS_HOLD_AT_MOST_SECONDS - deadlines.moved_seconds)
    if moved <= 0:
        return deadlines
    return deadlines._replace(
        expires_at=deadlines.expires_at + timedelta(seconds=moved),
        moved_seconds=deadlines.moved_seconds + moved,
    )


def stay(deadlines: Deadlines, now: datetime, seconds: float) -> Deadlines:
    """Move a soft deadline so that a person in the session has at least so many seconds."""
    if deadlines.expires_at is None or deadlines.hard:
        return deadlines
    until = max(deadlines.expires_at, now + timedelta(seconds=seconds))
    return deadlines._replace(expires_at=until)


def go_away(deadlines: Deadlines, before: datetime | None, now: datetime) -> Deadlines:
    """Restore the deadline `before` the visit, but leave two minutes to answer."""
    if deadlines.expires_at is None or before is None or deadlines.hard:
        return deadlines
    answer_by = now + timedelta(seconds=DRAFT_HOLDS_SECONDS)
    return deadlines._replace(expires_at=min(deadlines.expires_at, max(before, answer_by)))


def parse_duration(text: str) -> float:
    """Return the seconds of `300`, `90s`, `5m`, `2h` or `1d`."""
    number, unit = (text[:-1], text[-1]) if text[-1:] in _UNITS else (text, "s")
    try:
        seconds = float(number) * _UNITS[unit]
    except ValueError:
        seconds = -1.0
    if not 0 < seconds < 1e9:
        raise UsageError(f"expected a time limit such as 300, 90s, 5m, 2h or 1d, got {text!r}")
    return seconds


def duration_text(seconds: float) -> str:
    """Return a text for `parse_duration`, in the largest unit that fits exactly."""
    for unit, size in reversed(_UNITS.items()):
        if seconds % size == 0:
            return f"{seconds / size:.0f}{unit}"
    return f"{seconds!r}s"


def parse_escalation(text: str) -> Escalation:
    """Read `30m:alice`: after 30 minutes, notify alice."""
    after, _, who = text.partition(":")
    if not who:
        raise UsageError(f"expected AFTER:WHO, for example 30m:alice, got {text!r}")
    return Escalation(parse_duration(after), who)
