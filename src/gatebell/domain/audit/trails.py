"""The comparison of the store's rows with the audit events.

Each event seals the rows that its transaction wrote (`domain/audit/seals.py`).
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from gatebell.domain.audit.events import EventKind
from gatebell.domain.audit.seals import hint
from gatebell.domain.digests import canonical, text_digest
from gatebell.domain.records import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from gatebell.domain.audit.events import Entry

_DIGEST = 64
_HINT = 4
_RUN = "run:"

# Events of older versions that record a row without its seal.
_BIRTHS: dict[str, tuple[str, ...]] = {
    EventKind.ASK_OPENED: ("asks", "ask_keys", "outbox", "deliveries"),
    EventKind.ASK_ANSWERED: ("answers", "wakes", "outbox", "deliveries"),
    EventKind.ASK_VOTED: ("answers",),
    EventKind.ANSWER_REFUSED: ("answers",),
    EventKind.ASK_ASKED_BACK: ("messages", "wakes"),
    EventKind.ASK_REPLIED: ("messages", "outbox", "deliveries"),
    EventKind.ASK_CANCELLED: ("wakes", "outbox", "deliveries"),
    EventKind.ASK_TIMED_OUT: ("wakes", "outbox", "deliveries"),
    EventKind.ASK_ESCALATED: ("outbox", "deliveries"),
    EventKind.SESSION_OPENED: ("visits",),
    EventKind.PERSON_ADDED: ("people",),
    EventKind.TOKEN_MADE: ("tokens",),
    EventKind.GROUP_SET: ("group_members",),
    EventKind.ASK_MADE: ("rules",),
    EventKind.DENY_MADE: ("rules",),
    EventKind.GRANT_MADE: ("rules",),
    EventKind.LINK_MADE: ("logins",),
    EventKind.LOGIN_MADE: ("logins",),
    EventKind.NOTE_SENT: ("notes", "outbox", "deliveries"),
    EventKind.RUN_STARTED: ("runs", "calls", "turns"),
    EventKind.TASK_CREATED: ("tasks", "task_needs"),
    EventKind.TASK_CHANGED: ("task_needs",),
}
# Tables that were renamed: older events have the old name.
_RENAMED = {"sittings": "visits"}
_DEATHS: dict[str, str] = {EventKind.PERSON_REMOVED: "people", EventKind.RUN_DELETED: "runs"}
# One event may record many such rows, or none.
_MANY = (
    "ask_keys",
    "outbox",
    "deliveries",
    "wakes",
    "group_members",
    "calls",
    "turns",
    "task_needs",
)
# Older versions wrote no event for a trait.
_TRAITS = ("traits", "")
# Rows that are named by the subject of their events.
_NAMED = ("asks", "rules", "people", "runs", "tasks")


class Columns(NamedTuple):
    """The compared columns of a table, in the order in which they are sealed."""

    fixed: tuple[str, ...]
    changing: tuple[str, ...]


class Row(NamedTuple):
    """A row as the store has it now."""

    table: str
    key: str
    subject: str
    """The subject of the events of older versions about this row."""
    counts: bool
    """Whether to compare it. Some rows count only from some state on, such as ended calls."""
    fixed: Sequence[Any]
    changing: Sequence[Any]


def find_differing(sealed: str, names: Sequence[str], values: Sequence[Any]) -> list[str]:
    """Return the columns whose values differ from the sealed values."""
    # Columns that are newer than the seal come after those that it covers.
    known = (len(sealed) - _DIGEST) // _HINT
    if text_digest(canonical(list(values[:known]))) == sealed[:_DIGEST]:
        return []
    kept = [sealed[at : at + _HINT] for at in range(_DIGEST, len(sealed), _HINT)]
    columns = zip(names, values, kept, strict=False)
    changed = [name for name, value, before in columns if hint(value) != before]
    return changed or ["(unknown)"]


class RecordedRows:
    """The rows as the events so far record them."""

    def __init__(self, columns: Mapping[str, Columns]) -> None:
        self._columns = columns
        self._rows: dict[tuple[str, str], tuple[str, str]] = {}
        self._births: Counter[tuple[str, str]] = Counter()
        self._older_tables: set[str] = set()
        self.older: Counter[str] = Counter()
        """By table: the number of rows that older versions sealed only in part, or not at all."""
        self.compared: Counter[str] = Counter()

    def follow(self, entry: Entry) -> Iterator[str]:
        """Read the next event; yield a sentence for each row that was changed before it."""
        if entry.rows is None:
            if not entry.erased:
                self._follow_older(entry)
            return
        # The first event with seals also seals the traits, so later ones must have a seal.
        del self._births[_TRAITS]
        for written, rows in entry.rows.items():
            table = _RENAMED.get(written, written)
            for key, parts in rows.items():
                if problem := self._follow_row(table, key, parts):
                    change = f"this row was {problem} without an event, before event {entry.seq}"
                    yield f"{table} {key}: {change}"

    def _follow_row(self, table: str, key: str, parts: list[str]) -> str:
        before = self._rows.pop((table, key), None)
        fixed, changing, *left = parts or ("", "")
        if parts:
            self._rows[table, key] = (fixed or (before[0] if before else ""), changing)
        if before is None:
            is_new = bool(fixed) or not self._columns[table].fixed
            return "" if is_new or table in self._older_tables else "added"
        # Seals of different columns cannot be compared.
        comparable = left and len(before[1]) == len(changing)
        return "changed" if comparable and not before[1].startswith(left[0]) else ""

    def _follow_older(self, entry: Entry) -> None:
        kind, subject, *_ = entry.event
        births = _BIRTHS.get(kind, ())
        self._older_tables.update(births)
        self._births[_TRAITS] = 1
        for table in births:
            # A notice about a note has no ask.
            nothing = kind == EventKind.NOTE_SENT and table != "notes"
            self._births[table, "" if nothing else subject] += 1
        for table in _NAMED:
            place = (table, subject.removeprefix(_RUN))
            if _DEATHS.get(kind) == table:
                self._rows.pop(place, None)
            elif place in self._rows or table in births:
                self._rows[place] = (self._rows.get(place, ("", ""))[0], "")

    def compare(self, row: Row) -> Iterator[str]:
        """Yield a sentence for each difference between this row and the events."""
        where = f"{row.table} {row.key}"
        recorded = self._rows.pop((row.table, row.key), None)
        columns = self._columns[row.table]
        if recorded is None or (columns.fixed and not recorded[0]):
            if row.counts and not self._is_older(row):
                yield f"{where}: this row was added without an event"
        elif not row.counts:
            yield f"{where}: the column state was changed without an event"
        if recorded is None or not row.counts:
            return
        self.compared[row.table] += 1
        for sealed, names, values in zip(recorded, columns, (row.fixed, row.changing), strict=True):
            for column in find_differing(sealed, names, values) if sealed else ():
                yield f"{where}: the column {column} was changed without an event"

    def _is_older(self, row: Row) -> bool:
        place = (row.table, row.subject)
        if not self._births[place]:
            return False
        self._births[place] -= row.table not in _MANY
        self.older[row.table] += 1
        return True

    def list_missing(self) -> Iterator[str]:
        """Yield a sentence for each recorded row that was not compared, so is gone."""
        for table, key in sorted(self._rows):
            yield f"{table} {key}: this row was removed without an event"
