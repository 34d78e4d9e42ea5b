"""Wait for an answer, and take it. A wait is a row; no waiting process is needed (law 1)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gatebell.domain.asks import asks
from gatebell.domain.asks.outcomes import outcome as outcome_of, sum_up
from gatebell.domain.digests import token_digest
from gatebell.domain.enums import AskKind, AskStatus
from gatebell.errors import RefusedError
from gatebell.ports.results import Done
from gatebell.services import freezes
from gatebell.services.asks.apply_deadlines import fall_due
from gatebell.services.asks.create_ask import get
from gatebell.services.sessions import visits
from gatebell.services.sessions.lost_visits import is_visited

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gatebell.domain.asks.asks import Ask
    from gatebell.domain.asks.outcomes import Outcome
    from gatebell.ports.agents import Hosts
    from gatebell.ports.store import Store

_A_DAY_SECONDS = 86400.0
LOOK_AROUND_SECONDS = 1.0


def wait(store: Store, ask_id: str, seconds: float | None = None, hears: bool = True) -> Ask:
    """Return the ask when it is settled, or when a person asks back and `hears` is true.

    A settled session is waited for until its visit has ended. After `seconds`, return the ask as it
    is; `is_ready` tells whether it can be handed over.
    """
    for ask in follow(store, ask_id, seconds, hears):  # noqa: B007  the last one is the result
        pass
    return ask


def follow(
    store: Store, ask_id: str, seconds: float | None = None, hears: bool = True
) -> Iterator[Ask]:
    """Wait like `wait`, and yield the ask at each look; the last one is the result.

    While a visit in its session is open, there is a look about every second.
    """
    until = None if seconds is None else store.monotonic() + seconds
    # One look before the bell is opened: most answers exist already.
    ask = fall_due(store, get(store, ask_id))
    if is_over(store, ask, hears) or (seconds is not None and seconds <= 0):
        yield ask
        return
    with store.machine.waiting(ask_id):
        yield from _look_at_each_bell(store, ask_id, until, hears)


def _look_at_each_bell(
    store: Store, ask_id: str, until: float | None, hears: bool
) -> Iterator[Ask]:
    bell = store.bell()
    try:
        while True:
            ask = fall_due(store, get(store, ask_id))
            yield ask
            left = _A_DAY_SECONDS if until is None else until - store.monotonic()
            if is_over(store, ask, hears) or left <= 0:
                return
            if not ask.pending or is_visited(store, ask):
                # A killed harness of a visit does not ring the bell.
                left = min(left, LOOK_AROUND_SECONDS)
            if due_at := ask.deadlines.due_at:
                left = min(left, max(0.0, (due_at - store.now()).total_seconds()))
            bell.wait(left)
    finally:
        bell.close()


def is_over(store: Store, ask: Ask, hears: bool = True) -> bool:
    """Return whether a wait for this ask ends now."""
    if ask.pending:
        return hears and ask.asked_back > ask.heard
    return not visits.is_open(store, ask)


def is_ready(store: Store, ask: Ask) -> bool:
    """Return whether the asker may have it: it is settled, and its session has no visitor."""
    return is_over(store, ask, hears=False)


def reveal(store: Store, ask: Ask, token: str) -> Any:
    """Return the value of an answer; a secret one only to the holder of the ask's token."""
    if not ask.token_digest or ask.status != AskStatus.ANSWERED:
        return ask.value
    if ask.delivered_at:
        raise RefusedError(f"{ask.id}: the secret answer was already taken")
    if not token or token_digest(token) != ask.token_digest:
        raise RefusedError(
            f"{ask.id} has a secret answer, given only to the holder of its token: "
            f"gate wait {ask.id} --token-file F"
        )
    value = store.asks.secret(ask.id)
    if value is None:
        raise RefusedError(
            f"{ask.id}: the secret was erased because it was not taken within 24 hours"
        )
    return value


def take(store: Store, ask: Ask, to: str, *, unless_frozen: bool = False) -> bool:
    """Record that the answer was handed over. Call it after that, never before.

    Raises:
        FrozenError: Everything is frozen, and `unless_frozen` is true.
    """
    if not is_ready(store, ask):
        return False
    while change := asks.take(ask, to, store.now(), unless_frozen=unless_frozen):
        if isinstance(store.asks.change(change, ask.version), Done):
            store.machine.forget_waiter(ask.id)
            return True
        if unless_frozen:
            freezes.must_be_lifted(store)
        ask = get(store, ask.id)
    return False


def new_messages(store: Store, ask: Ask) -> str:
    """Return the messages from people that the asker did not get yet."""
    said = [message.text for message in store.asks.messages(ask.id) if not message.by_asker]
    return "\n".join(said[ask.heard - ask.asked_back :])


def hear(store: Store, ask: Ask) -> None:
    """Record that the asker got the messages counted in this version of the ask."""
    messages = ask.asked_back
    while change := asks.hear(ask, messages):
        if isinstance(store.asks.change(change, ask.version), Done):
            return
        ask = get(store, ask.id)


def outcome(store: Store, ask: Ask, value: Any, hosts: Hosts | None = None) -> Outcome:
    """Return the outcome of an ask for its asker.

    A session is pending for its asker until its visit has ended. `hosts` have the logs of visits
    whose harness was killed.
    """
    if ask.question.kind != AskKind.SESSION:
        return outcome_of(ask, value)
    if not is_ready(store, ask):
        return outcome_of(asks.hide_settlement(ask), None, sum_up(ask, store.asks.visits(ask.id)))
    if hosts is None:
        return outcome_of(ask, value, sum_up(ask, store.asks.visits(ask.id)))
    return outcome_of(ask, value, visits.summary(store, ask, hosts))
