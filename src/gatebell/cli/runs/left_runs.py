"""Runs that were answered here and that nobody is there to drive on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gatebell.terminal.left_runs import how_it_goes_on

if TYPE_CHECKING:
    from gatebell.domain.asks.asks import Ask
    from gatebell.ports.store import Store


def tell_if_left(store: Store, ask: Ask) -> None:
    if told := how_it_goes_on(store, ask):
        print(told)
