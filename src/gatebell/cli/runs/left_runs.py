"""Report a run that is ready after an answer but that no process drives."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gatebell.terminal.left_runs import how_it_goes_on

if TYPE_CHECKING:
    from gatebell.domain.asks.asks import Ask
    from gatebell.ports.store import Store


def tell_if_left(store: Store, ask: Ask) -> None:
    if line := how_it_goes_on(store, ask):
        print(line)
