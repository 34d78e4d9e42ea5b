"""Store the outbox: notices, and their deliveries."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from gatebell.adapters.tables.values import as_member, as_time, names_unreadable, read_time
from gatebell.domain.asks.asks import Notice, iso
from gatebell.domain.enums import NoticeKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from gatebell.adapters.tables.store import TableStore
    from gatebell.domain.notifications.messages import Delivery, Posted

_CLAIM = timedelta(seconds=60)
_KEPT = timedelta(days=7)


class StoredOutbox:
    def __init__(self, store: TableStore) -> None:
        self._store = store
        self._db = store.statements("outbox")

    def put(self, at: str, notices: Iterable[Notice]) -> None:
        """Add notices, in the transaction of the change that they report."""
        for notice in notices:
            self._db.write("put_notice", _notice_row(notice, at))

    def waiting(self, limit: int) -> list[Notice]:
        return [_notice(row) for row in self._db.rows("waiting_notices", (limit,))]

    def list_posted(self, limit: int) -> list[Posted]:
        return [_to_posted(row) for row in self._db.rows("posted_notices", (limit,))]

    def spread(self, deliveries: Mapping[Posted, Sequence[Delivery]]) -> None:
        with self._store.quiet_transaction() as at:
            for posted, ways in deliveries.items():
                row = _notice_row(posted.notice, iso(posted.written_at))
                if self._db.write("take_notice", row | {"seq": posted.seq}):
                    for delivery in ways:
                        self._db.write("insert_delivery", _row(delivery))
            old = datetime.fromisoformat(at) - _KEPT
            self._db.write("delete_old_deliveries", {"before": iso(old)})

    def claim(self, route: str) -> Delivery | None:
        with self._store.quiet_transaction() as at:
            until = iso(datetime.fromisoformat(at) + _CLAIM)
            claim = {"route": route, "now": at, "until": until}
            rows = self._db.rows("claim_delivery", claim)
            return _delivery(rows[0]) if rows else None

    def gather(self, claimed: Delivery, most: int) -> list[Delivery]:
        message = claimed.message or claimed.id
        with self._store.quiet_transaction() as at:
            until = iso(datetime.fromisoformat(at) + _CLAIM)
            claim = {"id": claimed.id, "message": message, "until": until}
            rows = self._db.rows("lead_message", claim | {"attempts": claimed.attempts})
            if rows:
                rows += self._db.rows("gather_again", claim | {"now": at})
            if rows and not claimed.may_have_arrived:
                due = {"message": message, "until": until, "now": at}
                rows += self._db.rows("gather_due", due | {"route": claimed.route, "most": most})
        return [_delivery(row) for row in rows]

    def sent(self, *deliveries: Delivery, receipt: str = "") -> None:
        with self._store.quiet_transaction() as at:
            for delivery in deliveries:
                row = {"sent_at": at, "id": delivery.id, "receipt": receipt}
                self._db.write("delivery_sent", row)

    def record_failure(
        self,
        delivery: Delivery,
        problem: str,
        again_at: datetime | None,
        others: Iterable[Delivery] = (),
    ) -> None:
        with self._store.quiet_transaction() as at:
            for one in (delivery, *others):
                row = {
                    "problem": problem,
                    "again_at": iso(again_at),
                    "given_up_at": None if again_at else at,
                    "id": one.id,
                    "attempts": one.attempts,
                }
                self._db.write("delivery_failed", row)

    def last_told(self, route: str) -> datetime | None:
        return as_time(self._db.rows("last_told", (route,))[0][0])

    def list_about(self, ask_id: str) -> list[Delivery]:
        return [_delivery(row) for row in self._db.rows("deliveries_about", (ask_id,))]

    def list_in_message(self, message: str) -> list[Delivery]:
        return [_delivery(row) for row in self._db.rows("deliveries_in_message", (message,))]

    def put_off(self, delivery: Delivery, until: datetime) -> None:
        with self._store.quiet_transaction():
            row = {"due_at": iso(until), "id": delivery.id, "attempts": delivery.attempts}
            self._db.write("put_off_delivery", row)

    def drop(self, delivery: Delivery) -> None:
        with self._store.quiet_transaction():
            self._db.write("drop_delivery", {"id": delivery.id})

    def problems(self, limit: int) -> list[Delivery]:
        return [_delivery(row) for row in self._db.rows("deliveries_with_problems", (limit,))]

    def next_due(self, route: str) -> datetime | None:
        return as_time(self._db.rows("next_due", (route,))[0][0])

    def try_again(self) -> int:
        with self._store.quiet_transaction() as at:
            return self._db.write("try_again", {"due_at": at})


def _notice_row(notice: Notice, at: str | None) -> dict[str, Any]:
    return {
        "kind": notice.kind, "ask_id": notice.ask_id, "recipient": notice.to, "written_at": at
    }  # fmt: skip


def _row(delivery: Delivery) -> dict[str, Any]:
    values = delivery._asdict()
    plain = {name: iso(one) for name, one in values.items() if isinstance(one, datetime)}
    return values | plain | {"recipient": delivery.to}


@names_unreadable("a notice of ask", 1)
def _notice(row: Any) -> Notice:
    return _to_notice(*row)


def _to_notice(kind: str, ask_id: str, to: str) -> Notice:
    return Notice(as_member(NoticeKind, kind), ask_id, to)


@names_unreadable("the notice")
def _to_posted(row: Any) -> Posted:
    # Imported here and below: only senders need it.
    from gatebell.domain.notifications.messages import Posted

    seq, *notice, at = row
    return Posted(seq, _to_notice(*notice), read_time(at))


@names_unreadable("the delivery")
def _delivery(row: Any) -> Delivery:
    from gatebell.domain.notifications.messages import Delivery

    delivery_id, kind, ask_id, to, route, written_at, due_at, attempts, *times = row[:11]
    claimed_until, sent_at, given_up_at = map(as_time, times)
    return Delivery(
        delivery_id,
        as_member(NoticeKind, kind),
        ask_id,
        to,
        route,
        read_time(written_at),
        read_time(due_at),
        attempts,
        claimed_until,
        sent_at,
        given_up_at,
        *row[11:],
    )
