"""Read the rows that a transaction wrote, as the triggers of the tables noted them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gatebell.adapters.postgres.connection import Connection
    from gatebell.adapters.tables.databases import Write

_NOTED = "SELECT current_setting('gate.noted', true)"
# JSON has one kind of number, but the seal of 1.0 is not that of 1.
_REAL_COLUMNS = ("confidence", "moved_seconds", "remind_every_seconds", "answer_within_seconds")


class Trail:
    forgets_failed = True

    def __init__(self, connection: Connection) -> None:
        self._db = connection

    def begin(self) -> None:
        """Do nothing: the notes of a transaction end with it."""

    def list_writes(self) -> Iterator[Write]:
        noted = self._db.rows(_NOTED)[0][0] or ""
        for line in noted.splitlines():
            name, before, after = json.loads(line)
            yield name, _read_values(before), _read_values(after)


def _read_values(row: dict[str, Any] | None) -> dict[str, Any]:
    found = dict(row or {})
    for name in _REAL_COLUMNS:
        if found.get(name) is not None:
            found[name] = float(found[name])
    return found
