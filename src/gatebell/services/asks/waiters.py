"""Find out whether a process waits for the answer to an ask."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gatebell.domain.asks.gone_askers import (
    MARK,
    WAITER_GONE as WAITER_GONE,  # noqa: PLC0414  exported
    describe_kept_answer,
)
from gatebell.domain.asks.owners import run_of
from gatebell.domain.enums import AskStatus, CallState

if TYPE_CHECKING:
    from gatebell.domain.asks.asks import Ask
    from gatebell.ports.store import Store


def is_waiter_gone(store: Store, ask: Ask) -> bool:
    """Return whether the process that waited for this ask was killed, and no other waits."""
    is_open = ask.pending or (ask.status == AskStatus.ANSWERED and not ask.delivered_at)
    return is_open and store.machine.is_waiter_gone(ask.id) and not _has_waiting_run(store, ask)


def _has_waiting_run(store: Store, ask: Ask) -> bool:
    """Whether a run waits for it by its row, and needs no process for that."""
    run = run_of(ask.origin.owner)
    calls = [] if run is None else store.runs.calls(run)
    waits = (CallState.WAITING, CallState.HELD)
    return any(call.ask_id == ask.id and call.state in waits for call in calls)


def mark_prompt(store: Store, ask: Ask) -> str:
    """The question as a list shows it, with a mark where its asker is gone."""
    return f"{MARK if is_waiter_gone(store, ask) else ''}{ask.question.prompt}"


def make_ask_document(store: Store, ask: Ask) -> dict[str, Any]:
    """An ask as JSON, with whether its asker is gone, and how far its approval can be trusted."""
    # Imported here: most commands print lines, and must be fast.
    from gatebell.domain.asks.documents import ask_document
    from gatebell.services.people.trust import describe_trust

    trust = describe_trust(store, ask) if ask.question.gates else None
    return ask_document(ask) | {"asker_gone": is_waiter_gone(store, ask), "trust": trust}


def describe_unheard(store: Store, ask: Ask) -> str:
    """Return what happens to an answer without a waiting process; empty if one waits."""
    if ask.pending or not is_waiter_gone(store, ask):
        return ""
    return describe_kept_answer(ask)
