"""The needs of the nouns from a database. Only for types: hot commands do not load it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from gatebell.errors import StoreError

    Write = tuple[str, Mapping[str, Any], Mapping[str, Any]]
    """A noticed write: the table, and the row before and after it; a missing row is empty."""


class Connection(Protocol):
    """An open database. Its errors are StoreError and ConstraintError."""

    folder: str
    """Has the `.sql` files with the statements that only this database understands."""

    def rows(self, sql: str, parameters: Sequence[Any] | Mapping[str, Any] = ()) -> list[Any]:
        """Run one statement, and return its rows."""
        ...

    def write(self, sql: str, parameters: Mapping[str, Any] | None = None) -> int:
        """Run one statement of an open transaction; return the number of changed rows."""
        ...

    def problem(self, error: Exception) -> StoreError:
        """Return an error with the problem, the state of the store, and the next step."""
        ...


class WriteTrail(Protocol):
    """Notices the rows that a transaction writes."""

    forgets_failed: bool
    """Whether a statement that failed leaves no note, so that the last note is the row as it stays."""

    def begin(self) -> None:
        """Forget the writes of the last transaction."""
        ...

    def list_writes(self) -> Iterable[Write]:
        """Return the writes of this transaction."""
        ...
