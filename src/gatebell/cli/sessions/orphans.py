"""Report processes that keep a session open after its visitor is gone."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from gatebell.domain.sessions.visits import describe_left_behind
from gatebell.services.sessions import lost_visits, presence

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gatebell.domain.asks.asks import Ask
    from gatebell.domain.runs.runs import Turn
    from gatebell.domain.sessions.visits import Visit
    from gatebell.ports.store import Store


class Orphans:
    """Prints such processes on stderr, each set of them once."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._reported: dict[str, list[str]] = {}

    def tell_of_ask(self, ask: Ask) -> None:
        self._tell(lost_visits.open_visits(self._store, ask))

    def tell_of_run(self, run_id: int) -> None:
        self._tell(lost_visits.open_visits_of_run(self._store, run_id))

    def _tell(self, visits: Sequence[Visit | Turn]) -> None:
        for visit in visits:
            found = presence.orphans(self._store, visit)
            if found and found != self._reported.get(visit.id):
                self._reported[visit.id] = found
                print(f"gate: {describe_left_behind(visit.ask_id, found)}", file=sys.stderr)
