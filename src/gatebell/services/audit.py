"""Check the audit trail against itself and against the rows of the store."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from gatebell.domain.asks.asks import FENCED, iso, question_digest, record_digest
from gatebell.domain.audit.events import Chain, EventKind
from gatebell.domain.audit.trails import RecordedRows
from gatebell.domain.enums import AskStatus
from gatebell.errors import GateError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gatebell.domain.asks.asks import Ask
    from gatebell.domain.audit.events import Entry, Head
    from gatebell.ports.store import Store

# The events that an ask is compared with, and the status after each of them.
_COMPARED: dict[str, AskStatus] = {
    EventKind.ASK_OPENED: AskStatus.PENDING,
    EventKind.ASK_ANSWERED: AskStatus.ANSWERED,
    EventKind.ASK_CANCELLED: AskStatus.CANCELLED,
    EventKind.ASK_TIMED_OUT: AskStatus.TIMED_OUT,
    EventKind.ASK_TAKEN: AskStatus.ANSWERED,
}


class Checked:
    """The result of a check: how much was checked, and the faults found."""

    def __init__(self) -> None:
        self.faults: list[str] = []
        """One sentence per fault, in the chain or between the chain and the rows of the store."""
        self.events = 0
        self.rows = 0
        self.sealed = 0
        """How many events had no number yet and got one before the check."""
        self.older: dict[str, int] = {}
        """By table: rows without a seal, from older versions; they were compared only in part."""


def verify(store: Store) -> list[str]:
    """Check the whole store; return one sentence per fault."""
    checked = Checked()
    for _ in check(store, checked):
        pass
    return checked.faults


def check(store: Store, checked: Checked, kept: Head | None = None) -> Iterator[int]:
    """Check the whole store into `checked`; yield the number of each event after its check."""
    recorded, chain = RecordedRows(store.audit.list_compared_columns()), Chain(kept)
    faults, contradictions = checked.faults, list[str]()
    checked.sealed = store.audit.seal()
    # Without the snapshot, a write during the check would look like a change without an event.
    with store.audit.snapshot():
        for entry in store.audit.entries():
            for look in (partial(_contradictions, store), recorded.follow):
                try:
                    contradictions.extend(look(entry))
                except Exception as error:
                    # Forged content must not hide the faults that come after it.
                    contradictions.append(
                        f"event {entry.seq}: cannot be compared: {_reason(error)}"
                    )
            faults += chain.follow(entry)
            checked.events = entry.seq
            yield entry.seq
        faults += [*chain.end(), *contradictions]
        faults += map("{} is in a state that no event explains".format, store.asks.without_events())
        faults += _compare_tables(store, recorded)
        faults += store.audit.schema_faults()
    checked.rows = recorded.compared.total()
    checked.older = dict(+recorded.older)


def _compare_tables(store: Store, recorded: RecordedRows) -> Iterator[str]:
    """Yield the differences between the rows and the events, table by table."""
    for table in store.audit.list_compared_columns():
        try:
            for row in store.audit.rows(table):
                yield from recorded.compare(row)
        except Exception as error:
            yield f"{table}: cannot be compared: {_reason(error)}"
    yield from recorded.list_missing()


def _contradictions(store: Store, entry: Entry) -> Iterator[str]:
    """Yield the differences between an event and its ask."""
    kind, ask_id, actor, content = entry.event
    if kind not in _COMPARED:
        if entry.erased:
            yield f"event {entry.seq} ({kind}): its content is gone, so its rows cannot be compared"
        return
    ask = store.asks.get(ask_id)
    if ask is None:
        yield f"{ask_id} has events, but its row is missing"
    elif entry.erased:
        yield f"event {entry.seq} ({kind}): its content is gone, so {ask_id} cannot be compared"
    elif kind == EventKind.ASK_OPENED:
        shown = question_digest(ask.question, ask.origin)
        if not shown == ask.digest == content["digest"] or not _is_record(ask, content["record"]):
            yield f"{ask_id} was changed after it was opened"
    elif kind == EventKind.ASK_TAKEN:
        if (iso(ask.delivered_at), ask.delivered_to) != (content["at"], actor):
            yield f"{ask_id} was taken differently than event {entry.seq} says"
    elif kind != EventKind.ASK_ANSWERED or ask.settled_via != FENCED:
        # The answer of a fenced ask stays in its event; the row has the cancelling after it.
        yield from _settled_otherwise(ask, entry)


def _is_record(ask: Ask, recorded: str) -> bool:
    if record_digest(ask) == recorded:
        return True
    # Older versions digested 40 if the asker wrote 40, but the store returns 40.0.
    confidence, every = (
        int(number) if number is not None and float(number).is_integer() else number
        for number in (ask.confidence, ask.deadlines.remind_every_seconds)
    )
    clock = ask.deadlines._replace(remind_every_seconds=every)
    return record_digest(ask._replace(confidence=confidence, deadlines=clock)) == recorded


def _settled_otherwise(ask: Ask, entry: Entry) -> Iterator[str]:
    event, found = entry.event, ask.settled_by or "gate"
    names = ", ".join(event.content.get("together", [event.actor]))
    if (_COMPARED[event.kind], names) != (ask.status, found):
        yield f"{ask.id} is {ask.status} by {found}, but event {entry.seq} says something different"
        return
    recorded = [event.content.get(word) for word in ("decision", "value", "note", "via", "at")]
    here = [ask.decision, ask.value, ask.note or None, ask.settled_via, iso(ask.settled_at)]
    recorded.append(event.content.get("attachments"))
    here.append([one.digest for one in ask.answer_attachments])
    if [part or None for part in recorded] != [part or None for part in here]:
        yield f"{ask.id} has a different answer than event {entry.seq}"


def _reason(error: Exception) -> str:
    """Return the message of our own errors; for others also the type."""
    return str(error) if isinstance(error, GateError) else repr(error)
