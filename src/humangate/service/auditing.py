"""Checking that the record proves what it says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from humangate.domain import audit
from humangate.domain.asks import question_digest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from humangate.domain.audit import Entry, Head
    from humangate.doors.store import Store

_STATUS_AFTER = {
    "ask.answered": "answered",
    "ask.cancelled": "cancelled",
    "ask.timed_out": "timed_out",
}


def verify(
    store: Store, kept: Head | None = None, progress: Callable[[int], None] = lambda _: None
) -> Iterator[str]:
    """Yield a sentence for every fault: in the chain, and between the chain and the asks."""
    contradictions: list[str] = []

    def watched() -> Iterator[Entry]:
        for entry in store.audit.entries():
            if fault := _contradiction(store, entry):
                contradictions.append(fault)
            progress(entry.seq)
            yield entry

    yield from audit.verify(watched(), kept)
    yield from contradictions
    for ask_id in store.asks.without_events():
        yield f"{ask_id} is in a state that no event brought about"


def _contradiction(store: Store, entry: Entry) -> str | None:
    """What the ask itself says against this event of its life."""
    kind, ask_id, actor, content = entry.event
    status = _STATUS_AFTER.get(kind)
    if kind != "ask.opened" and status is None:
        return None
    ask = store.asks.get(ask_id)
    if ask is None:
        return f"{ask_id} has events, but is gone"
    if status is None:
        shown = question_digest(ask.question, ask.origin)
        changed = not entry.erased and not shown == ask.digest == content["digest"]
        return f"{ask_id} was changed after it was opened" if changed else None
    settled_by = ask.settled_by or "gate"
    if (status, actor) != (ask.status, settled_by):
        return f"{ask_id} is {ask.status} by {settled_by}, but event {entry.seq} says otherwise"
    if status == "answered" and not entry.erased:
        recorded = [content[word] for word in ("decision", "value", "note", "via")]
        if recorded != [ask.decision, ask.value, ask.note, ask.settled_via]:
            return f"{ask_id} holds another answer than event {entry.seq}"
    return None
