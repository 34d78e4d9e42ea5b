"""A trial question: it is sent like any other, and nothing depends on its answer."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from gatebell.domain.enums import AskKind
from gatebell.errors import AlreadySettledError
from gatebell.services.asks import create_ask, wait_for_ask

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gatebell.domain.asks.asks import Ask, Origin
    from gatebell.domain.people.principals import Caller
    from gatebell.ports.store import Store

_QUESTION = "Test of gate setup: does this reach you? Yes or no, nothing depends on it."
ASKER = "gate setup"
_MAX_PROBLEMS = 50


def send(store: Store, caller: Caller, origin: Origin) -> Ask:
    """Open the test question; its notifications are sent at once."""
    request = create_ask.Request(_QUESTION, AskKind.APPROVAL)
    return create_ask.ask(store, request, origin, caller).ask


def follow(store: Store, ask: Ask, seconds: float) -> Iterator[Ask]:
    """Wait for the answer, and yield the ask at each look; the last one is the result."""
    for seen in wait_for_ask.follow(store, ask.id, seconds, hears=False):
        if not seen.pending:
            wait_for_ask.take(store, seen, ASKER)
        yield seen


def withdraw(store: Store, ask: Ask, caller: Caller) -> None:
    """Withdraw the question, if it still waits."""
    with suppress(AlreadySettledError):
        create_ask.withdraw(store, ask.id, caller, "the test was stopped")


def list_problems(store: Store, ask: Ask) -> list[str]:
    """Return the notifications of this question that could not be sent."""
    found = store.outbox.problems(_MAX_PROBLEMS)
    return [f"{one.route}: {one.problem}" for one in found if one.ask_id == ask.id]
