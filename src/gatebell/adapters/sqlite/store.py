"""The embedded store: one SQLite file, no service, many processes."""

from __future__ import annotations

import os
from functools import cached_property
from typing import TYPE_CHECKING

from gatebell.adapters.sqlite.asks import SqliteAsks
from gatebell.adapters.sqlite.audit import SqliteAudit
from gatebell.adapters.sqlite.bell import listen
from gatebell.adapters.sqlite.connection import Connection, Transaction
from gatebell.adapters.sqlite.queries import load
from gatebell.adapters.sqlite.rules import SqliteRules

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from datetime import datetime

    from gatebell.adapters.sqlite.logins import SqliteLogins
    from gatebell.adapters.sqlite.notes import SqliteNotes
    from gatebell.adapters.sqlite.outbox import SqliteOutbox
    from gatebell.adapters.sqlite.people import SqlitePeople
    from gatebell.adapters.sqlite.runs import SqliteRuns
    from gatebell.adapters.sqlite.tasks import SqliteTasks
    from gatebell.domain.asks.asks import Notice
    from gatebell.domain.audit.events import Event
    from gatebell.ports.clock import Clock
    from gatebell.ports.machine import Machine
    from gatebell.ports.store import Bell

_MIGRATIONS = os.path.join(os.path.dirname(__file__), "migrations")
_SCHEMA = os.path.join(os.path.dirname(__file__), "schema.sql")
_SQL = load("store")


class SqliteStore:
    """Everything in one file; a bell beside it wakes the waiters."""

    def __init__(
        self,
        path: str,
        clock: Clock,
        on_notices: Callable[[], None] | None = None,
        connection: Connection | None = None,
    ) -> None:
        """Open the store, and create it if it is missing.

        Args:
            path: The file. Empty: the store is in memory, for this process alone.
            clock: The time of everything that is recorded.
            on_notices: Called after each commit that put notices into the outbox.
            connection: An open connection.
        """
        self._clock = clock
        self._on_notices = on_notices
        self._has_news = False
        self.path = path
        self._bell_path = f"{path}-bell" if path else ""
        self.connection = connection or Connection(path)
        self.connection.prepare(_SCHEMA, _migrations())
        self.asks = SqliteAsks(self)
        self.audit = SqliteAudit(self.connection)
        self.rules = SqliteRules(self)

    # Imported where they are used: most commands need one or two of these.

    @cached_property
    def people(self) -> SqlitePeople:
        from gatebell.adapters.sqlite.people import SqlitePeople

        return SqlitePeople(self)

    @cached_property
    def logins(self) -> SqliteLogins:
        from gatebell.adapters.sqlite.logins import SqliteLogins

        return SqliteLogins(self)

    @cached_property
    def outbox(self) -> SqliteOutbox:
        from gatebell.adapters.sqlite.outbox import SqliteOutbox

        return SqliteOutbox(self)

    @cached_property
    def notes(self) -> SqliteNotes:
        from gatebell.adapters.sqlite.notes import SqliteNotes

        return SqliteNotes(self)

    @cached_property
    def runs(self) -> SqliteRuns:
        from gatebell.adapters.sqlite.runs import SqliteRuns

        return SqliteRuns(self)

    @cached_property
    def tasks(self) -> SqliteTasks:
        from gatebell.adapters.sqlite.tasks import SqliteTasks

        return SqliteTasks(self)

    @property
    def throwaway(self) -> bool:
        return bool(self.connection.rows(_SQL["get_trait"], ("throwaway",)))

    def mark_throwaway(self) -> None:
        """Mark a new store as one for demos and tests; a store in use cannot become one."""
        with self.transaction():
            self.connection.write(_SQL["mark_throwaway"])

    def now(self) -> datetime:
        return self._clock.now()

    @property
    def machine(self) -> Machine:
        # Imported here: most commands do not look at processes.
        from gatebell.adapters.system.machine import LocalMachine

        return LocalMachine(self.path)

    def monotonic(self) -> float:
        return self._clock.monotonic()

    def bell(self) -> Bell:
        return listen(self._bell_path)

    def transaction(self) -> Transaction:
        """Return a transaction that rings the bell after its commit; its value is its time."""
        return Transaction(self.connection, self._clock, self._bell_path, self._tell, self.audit)

    def quiet_transaction(self) -> Transaction:
        """Return a transaction that rings no bell, for changes that no process waits for."""
        return Transaction(self.connection, self._clock, events=self.audit)

    def _tell(self) -> None:
        if self._has_news and self._on_notices:
            self._has_news = False
            if not self.throwaway:
                self._on_notices()

    def record(self, at: str, events: Iterable[Event], notices: Sequence[Notice] = ()) -> None:
        """Write the events and notices of a change, in its transaction (law 9)."""
        self.audit.append(at, events)
        if notices:
            self.outbox.put(at, notices)
            self._has_news = True

    def problems(self) -> list[str]:
        return self.connection.problems()

    def close(self) -> None:
        self.connection.close()


def _migrations() -> list[str]:
    return [os.path.join(_MIGRATIONS, name) for name in sorted(os.listdir(_MIGRATIONS))]
