"""The outbox in SQLite."""

from __future__ import annotations

from typing import TYPE_CHECKING

from humangate.domain.asks import Notice
from humangate.store.sqlite.queries import load

if TYPE_CHECKING:
    from collections.abc import Iterable

    from humangate.store.sqlite.connection import Connection

_SQL = load("outbox")


class SqliteOutbox:
    def __init__(self, connection: Connection) -> None:
        self._db = connection

    def put(self, at: str, notices: Iterable[Notice]) -> None:
        """Inside the transaction that the notices tell of."""
        for notice in notices:
            self._db.write(_SQL["put_notice"], (*notice, at))

    def waiting(self, limit: int) -> list[Notice]:
        return [Notice(*row) for row in self._db.rows(_SQL["waiting_notices"], (limit,))]
