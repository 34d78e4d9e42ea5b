"""The store in tables: the nouns, and the parts that do not depend on the database."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from gatebell.adapters.tables.asks import StoredAsks
from gatebell.adapters.tables.rules import StoredRules
from gatebell.adapters.tables.statements import Statements

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from contextlib import AbstractContextManager
    from datetime import datetime

    from gatebell.adapters.tables.attachments import Contents, StoredAttachments
    from gatebell.adapters.tables.audit import StoredAudit
    from gatebell.adapters.tables.databases import Connection
    from gatebell.adapters.tables.devices import StoredChats, StoredDevices
    from gatebell.adapters.tables.freezes import StoredFreezes
    from gatebell.adapters.tables.locks import Locks
    from gatebell.adapters.tables.logins import StoredLogins
    from gatebell.adapters.tables.members import StoredMembers
    from gatebell.adapters.tables.notes import StoredNotes
    from gatebell.adapters.tables.outbox import StoredOutbox
    from gatebell.adapters.tables.people import StoredPeople
    from gatebell.adapters.tables.presence import StoredPresence
    from gatebell.adapters.tables.runs import StoredRuns
    from gatebell.adapters.tables.tasks import StoredTasks
    from gatebell.domain.asks.asks import Notice
    from gatebell.domain.audit.events import Event
    from gatebell.ports.clock import Clock
    from gatebell.ports.engines import Dispatches
    from gatebell.ports.machine import Machine


class TableStore:
    """Give the nouns a connection, transactions and a time. Each database is a subclass."""

    audit: StoredAudit

    def __init__(self, connection: Connection, clock: Clock) -> None:
        self._database = connection
        self._clock = clock
        self._db = self.statements("store")
        self.asks = StoredAsks(self)
        self.rules = StoredRules(self)

    def statements(self, noun: str) -> Statements:
        """Return the named statements of a noun."""
        return Statements(self._database, noun)

    # Imported where they are used: most commands need one or two of these.

    @cached_property
    def people(self) -> StoredPeople:
        from gatebell.adapters.tables.people import StoredPeople

        return StoredPeople(self)

    @cached_property
    def logins(self) -> StoredLogins:
        from gatebell.adapters.tables.logins import StoredLogins

        return StoredLogins(self)

    @cached_property
    def devices(self) -> StoredDevices:
        from gatebell.adapters.tables.devices import StoredDevices

        return StoredDevices(self)

    @cached_property
    def chats(self) -> StoredChats:
        from gatebell.adapters.tables.devices import StoredChats

        return StoredChats(self)

    @cached_property
    def outbox(self) -> StoredOutbox:
        from gatebell.adapters.tables.outbox import StoredOutbox

        return StoredOutbox(self)

    @cached_property
    def notes(self) -> StoredNotes:
        from gatebell.adapters.tables.notes import StoredNotes

        return StoredNotes(self)

    @cached_property
    def attachments(self) -> StoredAttachments:
        from gatebell.adapters.tables.attachments import StoredAttachments

        return StoredAttachments(self, self.build_contents())

    def build_contents(self) -> Contents:
        """Return where this database keeps the bytes of attachments."""
        raise NotImplementedError

    @cached_property
    def runs(self) -> StoredRuns:
        from gatebell.adapters.tables.runs import StoredRuns

        return StoredRuns(self)

    @cached_property
    def tasks(self) -> StoredTasks:
        from gatebell.adapters.tables.tasks import StoredTasks

        return StoredTasks(self)

    @cached_property
    def freezes(self) -> StoredFreezes:
        from gatebell.adapters.tables.freezes import StoredFreezes

        return StoredFreezes(self)

    @cached_property
    def members(self) -> StoredMembers:
        from gatebell.adapters.tables.members import StoredMembers

        return StoredMembers(self)

    @cached_property
    def presence(self) -> StoredPresence:
        from gatebell.adapters.tables.presence import StoredPresence

        return StoredPresence(self)

    @property
    def dispatches(self) -> Dispatches | None:
        return None

    @cached_property
    def locks(self) -> Locks:
        from gatebell.adapters.tables.locks import Locks

        return Locks(self.statements("locks"))

    @property
    def throwaway(self) -> bool:
        return bool(self._db.rows("get_trait", ("throwaway",)))

    def mark_throwaway(self) -> None:
        """Mark a new store as one for demos and tests; a store in use cannot become one."""
        with self.transaction():
            self._db.write("mark_throwaway")

    def now(self) -> datetime:
        return self._clock.now()

    def monotonic(self) -> float:
        return self._clock.monotonic()

    @property
    def machine(self) -> Machine:
        raise NotImplementedError

    def transaction(self) -> AbstractContextManager[str]:
        """Return a transaction that rings the bell after its commit; its value is its time."""
        raise NotImplementedError

    def quiet_transaction(self) -> AbstractContextManager[str]:
        """Return a transaction that rings no bell, for changes that no process waits for."""
        raise NotImplementedError

    def record(self, at: str, events: Iterable[Event], notices: Sequence[Notice] = ()) -> None:
        """Write the events and notices of a change, in its transaction (law 9)."""
        self.audit.append(at, events)
        if notices:
            self.outbox.put(at, notices)

    def hide_secret(self, ask_id: str, text: str) -> str:
        """Return the secret of an ask as the store keeps it."""
        return text

    def show_secret(self, ask_id: str, kept: str) -> str | None:
        """Return the secret that was kept; None if it cannot be read any more."""
        return kept

    def push_key(self) -> bytes:
        """Return the secret of this store's web push, and make it if it is missing."""
        raise NotImplementedError

    def standbys(self) -> str | None:
        """Return the standbys that get each write before it is confirmed; None without a server."""
        return None

    def clear_traces(self) -> None:
        """Remove what is left of erased values outside of the tables."""
