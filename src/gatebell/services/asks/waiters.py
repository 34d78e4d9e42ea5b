"""Find out whether a process waits for the answer to an ask."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gatebell.domain.enums import AskStatus

if TYPE_CHECKING:
    from gatebell.domain.asks.asks import Ask
    from gatebell.ports.store import Store

WAITER_GONE = "The process that waited for the answer has ended."


def is_waiter_gone(store: Store, ask: Ask) -> bool:
    """Return whether the process that waited for this ask was killed, and no other waits."""
    is_open = ask.pending or (ask.status == AskStatus.ANSWERED and not ask.delivered_at)
    return is_open and store.machine.is_waiter_gone(ask.id)


def describe_unheard(store: Store, ask: Ask) -> str:
    """Return what happens to an answer without a waiting process; empty if one waits."""
    if ask.pending or not is_waiter_gone(store, ask):
        return ""
    if ask.question.call:
        return f"{WAITER_GONE} The answer counts only if the agent makes the same call again."
    return f"{WAITER_GONE} The answer is kept: gate wait {ask.id}"
