"""The outbox in memory."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from gatebell.domain.notifications.messages import Delivery, Posted

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from gatebell.domain.asks.asks import Notice
    from gatebell.testing.store import MemoryStore

_CLAIM = timedelta(seconds=60)
_DELIVERIES_KEPT = timedelta(days=7)


class MemoryOutbox:
    def __init__(self, store: MemoryStore) -> None:
        self._store = store
        self._posted: dict[int, Posted] = {}
        self._last = 0
        self._deliveries: dict[str, Delivery] = {}

    def put(self, notices: Iterable[Notice]) -> None:
        for notice in notices:
            if notice.kind == "reminder" and notice in self.waiting(len(self._posted)):
                continue
            self._last += 1
            self._posted[self._last] = Posted(self._last, notice, self._store.now())

    def waiting(self, limit: int) -> list[Notice]:
        return [posted.notice for posted in self.posted(limit)]

    def posted(self, limit: int) -> list[Posted]:
        return list(self._posted.values())[:limit]

    def spread(self, deliveries: Mapping[Posted, Sequence[Delivery]]) -> None:
        with self._store.lock:
            for posted, ways in deliveries.items():
                if self._posted.pop(posted.seq, None):
                    new = [delivery for delivery in ways if not self._reminds(delivery)]
                    self._deliveries |= {delivery.id: delivery for delivery in new}
            old = self._store.now() - _DELIVERIES_KEPT
            kept = {i: one for i, one in self._deliveries.items() if one.written_at >= old}
            self._deliveries = kept

    def _open(self, road: str) -> list[Delivery]:
        found = [one for one in self._deliveries.values() if one.road == road]
        return [one for one in found if not (one.sent_at or one.given_up_at)]

    def _reminds(self, new: Delivery) -> bool:
        """Whether it is a reminder, and one of the same ask is still to be sent."""
        waiting = [(one.kind, one.ask_id) for one in self._open(new.road)]
        return new.kind == "reminder" and (new.kind, new.ask_id) in waiting

    def claim(self, road: str) -> Delivery | None:
        with self._store.lock:
            now = self._store.now()
            due = [one for one in self._open(road) if _claimable_at(one) <= now]
            if not due:
                return None
            first = min(due, key=lambda one: one.due_at)
            claimed = first._replace(claimed_until=now + _CLAIM, attempts=first.attempts + 1)
            self._deliveries[first.id] = claimed
            return claimed

    def sent(self, delivery: Delivery) -> None:
        with self._store.lock:
            self._replace(delivery.id, sent_at=self._store.now(), claimed_until=None, trouble="")

    def failed(self, delivery: Delivery, trouble: str, again_at: datetime | None) -> None:
        with self._store.lock:
            given_up = None if again_at else self._store.now()
            due_at = again_at or delivery.due_at
            if self._is_newest_claim(delivery):
                self._replace(delivery.id, claimed_until=None, trouble=trouble)
                self._replace(delivery.id, due_at=due_at, given_up_at=given_up)

    def put_off(self, delivery: Delivery, until: datetime) -> None:
        with self._store.lock:
            if self._is_newest_claim(delivery):
                attempts = delivery.attempts - 1
                self._replace(delivery.id, claimed_until=None, due_at=until, attempts=attempts)

    def drop(self, delivery: Delivery) -> None:
        with self._store.lock:
            if not self._deliveries[delivery.id].sent_at:
                del self._deliveries[delivery.id]

    def troubles(self, limit: int) -> list[Delivery]:
        found = [one for one in self._deliveries.values() if one.trouble]
        return sorted(found, key=lambda one: one.written_at, reverse=True)[:limit]

    def next_due(self, road: str) -> datetime | None:
        return min(map(_claimable_at, self._open(road)), default=None)

    def try_again(self) -> int:
        with self._store.lock:
            given_up = [one.id for one in self._deliveries.values() if one.given_up_at]
            for one in given_up:
                self._replace(one, given_up_at=None, attempts=0, due_at=self._store.now())
            return len(given_up)

    def _is_newest_claim(self, delivery: Delivery) -> bool:
        current = self._deliveries[delivery.id]
        return current.attempts == delivery.attempts and not current.sent_at

    def _replace(self, delivery_id: str, **changes: Any) -> None:
        self._deliveries[delivery_id] = self._deliveries[delivery_id]._replace(**changes)


def _claimable_at(delivery: Delivery) -> datetime:
    return max(delivery.due_at, delivery.claimed_until or delivery.due_at)
