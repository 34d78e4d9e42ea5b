"""What people are told when no process waits for an ask."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gatebell.domain.asks.asks import Ask

WAITER_GONE = "The process that waited for the answer has ended."
MARK = "[asker is gone] "


def describe_kept_answer(ask: Ask) -> str:
    """Return what happens to an answer for which no process waits."""
    if ask.question.call:
        return f"{WAITER_GONE} The answer counts only if the agent makes the same call again."
    if ask.token_digest:
        return (
            f"{WAITER_GONE} The secret is kept for 24 hours, for the holder of the ask's token: "
            f"gate wait {ask.id} --token-file F. Without the token, ask again."
        )
    return f"{WAITER_GONE} The answer is kept: gate wait {ask.id}"


def describe_background(ask: Ask) -> str:
    """Return what the asker does until the answer comes; empty if it waits."""
    if ask.assume is None:
        return ""
    return f"It goes on with: {ask.assume}" if ask.assume else "It does not wait for the answer"
