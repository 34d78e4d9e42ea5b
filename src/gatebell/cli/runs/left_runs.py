"""Report a run that is ready after an answer but that no process drives."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gatebell.terminal.left_runs import describe_next_step

if TYPE_CHECKING:
    from gatebell.domain.asks.asks import Ask
    from gatebell.ports.backends.backend import Backend


def tell_if_left(backend: Backend, ask: Ask) -> None:
    if line := describe_next_step(backend, ask):
        print(line)
