"""The runs that wait for asks, for the messages about these asks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gatebell.domain.asks.owners import run_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gatebell.domain.asks.asks import Ask
    from gatebell.domain.runs.runs import Run
    from gatebell.ports.store import Store


def find_runs(store: Store, asks: Iterable[Ask]) -> dict[str, Run]:
    """Return by ask the run that waits for it."""
    numbers = {ask.id: run_of(ask.origin.owner) for ask in asks}
    found = {one: store.runs.get(one) for one in set(numbers.values()) if one}
    return {ask_id: run for ask_id, one in numbers.items() if one and (run := found[one])}
