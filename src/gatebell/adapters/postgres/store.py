"""The store of teams: one PostgreSQL database, many hosts."""

from __future__ import annotations

import weakref
from functools import partial
from typing import TYPE_CHECKING

from gatebell.adapters.postgres import bell, migrations
from gatebell.adapters.postgres.audit import PostgresAudit
from gatebell.adapters.postgres.clock import ServerClock
from gatebell.adapters.postgres.connection import Connection, Transaction
from gatebell.adapters.tables.store import TableStore

if TYPE_CHECKING:
    from datetime import datetime

    from gatebell.adapters.postgres.attachment_parts import AttachmentParts
    from gatebell.adapters.postgres.dispatches import StoredDispatches
    from gatebell.adapters.postgres.secrets import SecretKeys
    from gatebell.ports.clock import Clock
    from gatebell.ports.machine import Machine
    from gatebell.ports.store import Bell


class PostgresStore(TableStore):
    """Everything in one database; notifications of the server wake the waiters."""

    audit: PostgresAudit

    def __init__(
        self,
        dsn: str,
        path: str,
        clock: Clock | None = None,
        key_file: str = "",
    ) -> None:
        """Connect to the store.

        Args:
            dsn: The address, `postgresql://…`.
            path: Beside it, this machine keeps its own files of the store.
            clock: The time of everything that is recorded; without it, the time of the server.
            key_file: The file with the keys of secrets; without it, no secret is kept.
        """
        self._key_file = key_file
        self.connection = Connection(dsn)
        try:
            migrations.check_version(self.connection)
        except BaseException:
            self.connection.close()
            raise
        self.local_path = path
        super().__init__(self.connection, clock or self._build_clock())
        self.audit = PostgresAudit(self.connection)
        self._ringer = bell.Ringer(
            partial(_ring, self.connection), partial(self.audit.seal, wait=False)
        )
        self._listener = bell.Listener(dsn)
        # Commands end without closing their store, and their last commit must ring, too.
        self._end = weakref.finalize(self, _close, self._ringer, self._listener, self.connection)

    def _build_clock(self) -> Clock:
        clock = ServerClock()
        clock.follow(self._ask_time)
        return clock

    def _ask_time(self) -> datetime:
        found: datetime = self._db.rows("server_time")[0][0]
        return found

    @property
    def name(self) -> str:
        return self.connection.name

    @property
    def environ(self) -> dict[str, str]:
        return {"GATE_STORE": self.connection.dsn}

    @property
    def machine(self) -> Machine:
        # Imported here: most commands do not look at processes.
        from gatebell.adapters.system.machine import LocalMachine

        return LocalMachine(self.local_path)

    def build_contents(self) -> AttachmentParts:
        # Imported here: most asks have no files.
        from gatebell.adapters.postgres.attachment_parts import AttachmentParts

        return AttachmentParts(self)

    @property
    def dispatches(self) -> StoredDispatches:
        # Imported here: only workers and `gate engine` need it.
        from gatebell.adapters.postgres.dispatches import StoredDispatches

        return StoredDispatches(self)

    def bell(self) -> Bell:
        return self._listener.listen()

    def transaction(self) -> Transaction:
        return Transaction(self.connection, self._clock, self.audit, self._ringer.ring)

    def quiet_transaction(self) -> Transaction:
        # Not sealed here: the next ring, or the next reader of the trail, does that.
        return Transaction(self.connection, self._clock, self.audit, lambda: None)

    def hide_secret(self, ask_id: str, text: str) -> str:
        return self._keys().hide(ask_id, text, self.now())

    def show_secret(self, ask_id: str, kept: str) -> str | None:
        return self._keys().show(ask_id, kept, self.now())

    def clear_traces(self) -> None:
        """Destroy the keys of old secrets: the server's logs and backups keep erased rows."""
        if self._key_file:
            self._keys().destroy_old(self.now())

    def push_key(self) -> bytes:
        return self._keys().get_lasting("push", self.now())

    def _keys(self) -> SecretKeys:
        # Imported here: only secrets need the library for encryption.
        from gatebell.adapters.postgres.secrets import SecretKeys

        return SecretKeys(self._key_file)

    def problems(self) -> list[str]:
        return migrations.list_problems(self.connection)

    def standbys(self) -> str:
        return migrations.find_standbys(self.connection)

    def close(self) -> None:
        self._end()


def _ring(connection: Connection) -> None:
    with connection.lend() as lent:
        bell.ring(lent)


def _close(ringer: bell.Ringer, listener: bell.Listener, connection: Connection) -> None:
    ringer.close()
    listener.close()
    connection.close()
