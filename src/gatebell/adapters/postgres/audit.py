"""Store the audit chain in PostgreSQL: transactions add events, and the sealer links them.

An event is the last write of its transaction. If each transaction linked its own events, all of
them would wait for one another. The sealer is the process that holds an advisory lock; it gives the
events numbers and hashes, in the order of their ids.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from gatebell.adapters.postgres.connection import Snapshot
from gatebell.adapters.postgres.trail import Trail
from gatebell.adapters.tables.audit import StoredAudit, read_entry
from gatebell.domain.audit.events import Entry, Event, Head
from gatebell.domain.digests import link

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gatebell.adapters.postgres.connection import Connection
    from gatebell.adapters.tables.audit import Prepared

_BATCH = 500


class _Thread(threading.local):
    """The events of the transaction that this thread has open."""

    def __init__(self) -> None:
        self.waiting: list[tuple[str, Event]] = []


class PostgresAudit(StoredAudit):
    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)
        self._postgres = connection
        self._mine = _Thread()
        self._notes = Trail(connection)
        self._has_events = False
        """Whether the store was seen with an event: then it has some for ever."""

    @property
    def _waiting(self) -> list[tuple[str, Event]]:
        return self._mine.waiting

    @property
    def _trail(self) -> Trail:
        return self._notes

    def needs_traits(self) -> bool:
        # Asked for each transaction, so it is remembered: every query is a round trip.
        self._has_events = self._has_events or bool(self._db.rows("any_event"))
        return not self._has_events

    def write(self, events: list[Prepared]) -> None:
        for at, event, content, content_digest in events:
            row = {"at": at, "content": content, "content_digest": content_digest}
            self._db.write("append_event", event._asdict() | row)

    def seal(self, *, wait: bool = True) -> int:
        """Link every event that has been committed; return how many there were.

        Args:
            wait: wait for another sealer; without it, that one does the work
        """
        # Not inside of a transaction of this thread: that would keep the lock until its end.
        if self._postgres.in_transaction or not self._db.rows("any_unsealed"):
            return 0
        done, sealed = 0, _BATCH
        # A smaller batch was the last one; later events are left to the next sealer.
        while sealed == _BATCH:
            sealed = self._seal_batch(wait=wait)
            done += sealed
        return done

    def _seal_batch(self, *, wait: bool) -> int:
        with self._postgres.hold("BEGIN") as wire:
            lock = self._db.rows("lock_sealer" if wait else "try_to_lock_sealer")
            if lock[0][0] is False:
                return 0
            rows = self._db.rows("unsealed_entries", (_BATCH,))
            linked = list(_link_rows(rows, self._read_head()))
            columns = zip(*linked, strict=True) if linked else ((), (), ())
            ids, seqs, hashes = map(list, columns)
            self._db.write("seal_events", {"ids": ids, "seqs": seqs, "hashes": hashes})
            self._db.write("add_up_waiting")
            wire.execute("COMMIT")
        return len(linked)

    def _read_head(self) -> Head:
        return super().head()

    def head(self) -> Head:
        self.seal()
        return self._read_head()

    def of_subject(self, subject: str) -> list[Entry]:
        self.seal()
        return super().of_subject(subject)

    def newest(self, limit: int) -> list[Entry]:
        self.seal()
        return super().newest(limit)

    def entries(self, after: int | None = None) -> Iterator[Entry]:
        self.seal()
        yield from super().entries(after)
        # A snapshot may see events that are not sealed in it: they follow as the sealer links them.
        rows = self._db.rows("unsealed_entries", (None,)) if self._postgres.in_transaction else []
        for row, (_, seq, hashed) in zip(rows, _link_rows(rows, self._read_head()), strict=True):
            yield read_entry((seq, *row[1:], hashed))

    def position(self) -> int:
        return int(self._db.rows("position")[0][0])

    def snapshot(self) -> Snapshot:
        self.seal()
        return Snapshot(self._postgres)

    def schema_faults(self) -> list[str]:
        # Imported here: only `gate audit verify` compares schemas.
        from gatebell.adapters.postgres.schema import find_schema_faults

        return find_schema_faults(self._postgres)


def _link_rows(rows: list[tuple[object, ...]], head: Head) -> Iterator[tuple[int, int, str]]:
    """Yield the id, the number and the hash of each event that follows the head."""
    seq, previous = head
    for event_id, at, kind, subject, actor, _, content_digest in rows:
        seq += 1
        event = Event(str(kind), str(subject), str(actor), {})
        previous = link(previous, seq, str(at), event, str(content_digest))
        yield int(str(event_id)), seq, previous
