"""The port to the audit trail."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager

    from gatebell.domain.audit.events import Entry, Head
    from gatebell.domain.audit.trails import Columns, Row


class Audit(Protocol):
    """The chain of events. It is written in the transactions of the other calls."""

    def entries(self, after: int | None = None) -> Iterator[Entry]:
        """Yield entries, oldest first, in pages; no cursor stays open in between.

        Args:
            after: only entries after this number; None means all
        """
        ...

    def snapshot(self) -> AbstractContextManager[Any]:
        """See the store as it is now while this is entered, even if others write."""
        ...

    def list_compared_columns(self) -> dict[str, Columns]:
        """Return the tables that are compared with the events, with their compared columns."""
        ...

    def rows(self, table: str) -> Iterator[Row]:
        """Yield all rows of such a table, in pages."""
        ...

    def apart(self) -> dict[str, str]:
        """Return columns without events, as `table.column`, each with the reason."""
        ...

    def schema_faults(self) -> list[str]:
        """Return tables, indexes, triggers and views that differ from those of a new store."""
        ...

    def of_subject(self, subject: str) -> list[Entry]:
        """Return the entries about a subject, oldest first."""
        ...

    def newest(self, limit: int) -> list[Entry]:
        """Return the newest entries, oldest first."""
        ...

    def head(self) -> Head:
        """Return the number and the digest of the newest entry."""
        ...

    def seal(self) -> int:
        """Give numbers to events that have none yet; return how many there were.

        In SQLite every event has its number from the beginning.
        """
        ...

    def position(self) -> int:
        """Return the present place in the events, for `changed_since`."""
        ...

    def changed_since(self, position: int) -> tuple[int, frozenset[str]]:
        """Return the present place, and the subjects of the events after the given one.

        A subject may be reported twice, and is never left out.
        """
        ...
