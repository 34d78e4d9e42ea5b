"""Store which processes serve a store, and when each of them last reported."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from gatebell.adapters.tables.values import as_member, names_unreadable, read_time
from gatebell.domain.asks.asks import iso
from gatebell.domain.enums import MemberKind
from gatebell.domain.members import Member

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gatebell.adapters.tables.store import TableStore
    from gatebell.domain.audit.events import Event

_FORGOTTEN_AFTER = timedelta(days=7)


class StoredMembers:
    def __init__(self, store: TableStore) -> None:
        self._store = store
        self._db = store.statements("members")

    def beat(self, member: Member) -> None:
        now = self._store.now()
        times = {"joined_at": iso(member.joined_at), "beat_at": iso(now)}
        with self._store.quiet_transaction():
            self._db.write("beat_member", member._asdict() | times | {"id": member.id})

    def join(self, member: Member) -> None:
        with self._store.quiet_transaction():
            before = iso(self._store.now() - _FORGOTTEN_AFTER)
            self._db.write("forget_silent_members", {"before": before})
        self.beat(member)

    def leave(self, member: Member) -> None:
        with self._store.quiet_transaction():
            self._db.write("forget_member", {"id": member.id})

    def lose(self, lost: Member, others: Sequence[Member], events: Sequence[Event]) -> None:
        times = {"joined_at": iso(lost.joined_at), "beat_at": iso(lost.beat_at)}
        with self._store.transaction() as at:
            for other in (lost, *others):
                self._db.write("forget_member", {"id": other.id})
            self._db.write("beat_member", lost._asdict() | times | {"id": lost.id})
            self._store.record(at, events)

    def all(self) -> list[Member]:
        return [_to_member(row) for row in self._db.rows("all_members")]


@names_unreadable("member")
def _to_member(row: Any) -> Member:
    kind, process, url, joined_at, beat_at = row
    return Member(
        as_member(MemberKind, kind), process, url, read_time(joined_at), read_time(beat_at)
    )
