"""The embedded store: one SQLite file, no service, many processes."""

from __future__ import annotations

import os
from functools import cached_property
from typing import TYPE_CHECKING

from gatebell.adapters.sqlite.audit import SqliteAudit
from gatebell.adapters.sqlite.bell import listen
from gatebell.adapters.sqlite.connection import Connection, Transaction
from gatebell.adapters.tables.store import TableStore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from gatebell.adapters.sqlite.attachment_files import AttachmentFiles, AttachmentMemory
    from gatebell.domain.asks.asks import Notice
    from gatebell.domain.audit.events import Event
    from gatebell.ports.clock import Clock
    from gatebell.ports.machine import Machine
    from gatebell.ports.store import Bell

_MIGRATIONS = os.path.join(os.path.dirname(__file__), "migrations")
_SCHEMA = os.path.join(os.path.dirname(__file__), "schema.sql")


class SqliteStore(TableStore):
    """Everything in one file; a bell beside it wakes the waiters."""

    audit: SqliteAudit

    def __init__(
        self,
        path: str,
        clock: Clock,
        on_notices: Callable[[bool], None] | None = None,
        connection: Connection | None = None,
    ) -> None:
        """Open the store, and create it if it is missing.

        Args:
            path: The file. Empty: the store is in memory, for this process alone.
            clock: The time of everything that is recorded.
            on_notices: Called after each commit that put notices into the outbox, with whether
                devices wait for them.
            connection: An open connection.
        """
        self.path = path
        self._bell_path = f"{path}-bell" if path else ""
        self.connection = connection or Connection(path)
        self.connection.prepare(_SCHEMA, _migrations())
        super().__init__(self.connection, clock)
        self._on_notices = on_notices
        self._has_news = False
        self.audit = SqliteAudit(self.connection)

    @property
    def name(self) -> str:
        return self.path or "in memory"

    @property
    def local_path(self) -> str:
        # Beside the store: all processes that share the file share the locks.
        return self.path

    @property
    def environ(self) -> dict[str, str]:
        return {"GATE_STORE": os.path.abspath(self.path)}

    @property
    def machine(self) -> Machine:
        # Imported here: most commands do not look at processes.
        from gatebell.adapters.system.machine import LocalMachine

        return LocalMachine(self.path)

    def build_contents(self) -> AttachmentFiles | AttachmentMemory:
        # Imported here: most asks have no files.
        from gatebell.adapters.sqlite.attachment_files import AttachmentFiles, AttachmentMemory

        if not self.path:
            return AttachmentMemory()
        return AttachmentFiles(f"{os.path.abspath(self.path)}-attachments")

    def bell(self) -> Bell:
        return listen(self._bell_path)

    def transaction(self) -> Transaction:
        return Transaction(self.connection, self._clock, self._bell_path, self._tell, self.audit)

    def quiet_transaction(self) -> Transaction:
        return Transaction(self.connection, self._clock, events=self.audit)

    def record(self, at: str, events: Iterable[Event], notices: Sequence[Notice] = ()) -> None:
        super().record(at, events, notices)
        self._has_news = self._has_news or bool(notices)

    def _tell(self) -> None:
        if self._has_news and self._on_notices:
            self._has_news = False
            if not self.throwaway:
                self._on_notices(bool(self._db.rows("has_devices")))

    def push_key(self) -> bytes:
        # Imported here: only servers and senders need it.
        from gatebell.adapters.system.push_key_file import read_or_make

        return read_or_make(f"{self.path}-push-key") if self.path else self._memory_key

    @cached_property
    def _memory_key(self) -> bytes:
        return os.urandom(32)

    def clear_traces(self) -> None:
        self.connection.checkpoint()

    def problems(self) -> list[str]:
        return self.connection.problems()

    def close(self) -> None:
        self.connection.close()


def _migrations() -> list[str]:
    return [os.path.join(_MIGRATIONS, name) for name in sorted(os.listdir(_MIGRATIONS))]
