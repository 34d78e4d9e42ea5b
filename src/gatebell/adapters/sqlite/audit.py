"""Store the audit chain in SQLite: each transaction appends to it."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from gatebell.adapters.sqlite.connection import Snapshot
from gatebell.adapters.tables.audit import StoredAudit
from gatebell.domain.digests import link

if TYPE_CHECKING:
    from gatebell.adapters.sqlite.connection import Connection
    from gatebell.adapters.sqlite.trail import Trail
    from gatebell.adapters.tables.audit import Prepared


class SqliteAudit(StoredAudit):
    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)
        self._sqlite = connection

    @cached_property
    def _trail(self) -> Trail:
        # Imported here: commands that only read write no events.
        from gatebell.adapters.sqlite.trail import Trail

        return Trail(self._sqlite)

    def needs_traits(self) -> bool:
        # In a store of an older version, the first event of this version seals them.
        seq = self.head().seq
        return seq == 0 or bool(self._db.rows("first_to_seal", (seq,)))

    def write(self, events: list[Prepared]) -> None:
        seq, previous = self.head()
        for at, event, content, content_digest in events:
            seq += 1
            previous = link(previous, seq, at, event, content_digest)
            row = {"seq": seq, "at": at, "content_digest": content_digest, "hash": previous}
            self._db.write("append_event", event._asdict() | row | {"content": content})

    def snapshot(self) -> Snapshot:
        return Snapshot(self._sqlite)

    def schema_faults(self) -> list[str]:
        # Imported here: only `gate audit verify` compares schemas.
        from gatebell.adapters.sqlite.schema import find_schema_faults

        return find_schema_faults(self._sqlite)
