"""Freeze everything, and lift that again; hold a tool call while everything is frozen.

While a freeze lasts, no turn and no new call of a flow begins, no task is taken up, and no tool
call gets a yes. The transactions that begin a turn or use a yes check it themselves
(`unless_frozen`), so a freeze that is confirmed is in force.
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from gatebell.domain.freezes import (
    LIFT,
    MAX_REASON,
    Freeze,
    build_begun_event,
    build_lifted_event,
    describe_freeze,
)
from gatebell.domain.people.principals import must_be_a_person
from gatebell.domain.text.display import storable
from gatebell.errors import FrozenError, UsageError

if TYPE_CHECKING:
    from gatebell.domain.people.principals import Caller
    from gatebell.ports.calls.waiting_calls import CallHost
    from gatebell.ports.store import Store

LOOK_SECONDS = 1.0


def find(store: Store) -> Freeze | None:
    """Return the freeze that lasts now."""
    return store.freezes.find()


def begin(store: Store, caller: Caller, reason: str = "") -> tuple[Freeze, bool]:
    """Freeze everything.

    Returns:
        The freeze that lasts now, and whether it is new: a second freeze changes nothing.
    """
    must_be_a_person(caller, "freezes everything")
    reason = storable(reason.strip())
    if len(reason) > MAX_REASON:
        raise UsageError(f"expected a reason of at most {MAX_REASON} characters, got {len(reason)}")
    while True:
        freeze = Freeze(caller.actor, store.now(), reason)
        if store.freezes.begin(freeze, [build_begun_event(freeze, caller)]):
            return freeze, True
        if lasting := store.freezes.find():
            return lasting, False


def lift(store: Store, caller: Caller) -> Freeze | None:
    """Lift the freeze; return it, or None if nothing was frozen."""
    must_be_a_person(caller, "lifts a freeze")
    freeze = store.freezes.find()
    if freeze is None or not store.freezes.lift(caller.actor, [build_lifted_event(freeze, caller)]):
        return None
    if store.dispatches:
        # Jobs that came during the freeze found everything frozen, and are gone.
        store.dispatches.dispatch_missing(store.now())
    return freeze


def must_be_lifted(store: Store) -> None:
    """Raise FrozenError while everything is frozen."""
    if freeze := store.freezes.find():
        raise FrozenError(explain(freeze))


def explain(freeze: Freeze) -> str:
    """Return the words for an agent whose call is refused."""
    return (
        f"{describe_freeze(freeze)}. Not decided: make this call again after a person has lifted "
        f"it ({LIFT})"
    )


def hold(store: Store, host: CallHost, until: float) -> str:
    """Hold a tool call while everything is frozen.

    Returns:
        Why the call needs no decision any more; empty: the freeze was lifted, or there is none.

    Raises:
        FrozenError: The host waits no longer.
    """
    if not store.freezes.find():
        return ""
    host.note_wait()
    with closing(store.bell()) as bell:
        while freeze := store.freezes.find():
            if reason := host.find_reason_to_stop():
                return reason
            if (left := until - store.monotonic()) <= 0:
                raise FrozenError(explain(freeze))
            bell.wait(min(left, LOOK_SECONDS))
    return ""
