"""Whether a process waits for the answer to an ask, as far as that is known."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gatebell.domain.enums import AskStatus

if TYPE_CHECKING:
    from gatebell.domain.asks.asks import Ask
    from gatebell.ports.store import Store

WAITER_GONE = "The process that waited for the answer has ended."


def is_waiter_gone(store: Store, ask: Ask) -> bool:
    """Whether the process that waited for this ask was killed, and no other waits now."""
    is_open = ask.pending or (ask.status == AskStatus.ANSWERED and not ask.delivered_at)
    return is_open and store.machine.is_waiter_gone(ask.id)


def describe_unheard(store: Store, ask: Ask) -> str:
    """What becomes of an answer that no process waits for; nothing where one does."""
    if ask.pending or not is_waiter_gone(store, ask):
        return ""
    if ask.question.call:
        return f"{WAITER_GONE} The answer counts only if the agent makes the same call again."
    return f"{WAITER_GONE} The answer is kept: gate wait {ask.id}"
