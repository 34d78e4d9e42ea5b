"""Fence a store that was restored from a backup, before its workers start.

What was used after the backup looks unused again: approvals, grants and logins. And a driver that
survived on another host may still write to its runs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gatebell.domain.asks import asks
from gatebell.domain.asks.owners import run_of
from gatebell.domain.audit.events import Event, EventKind
from gatebell.domain.enums import CallState
from gatebell.domain.people.principals import must_be_a_person
from gatebell.domain.permissions.rules import build_ended_event
from gatebell.domain.permissions.shadow_rules import build_event
from gatebell.domain.records import NamedTuple
from gatebell.ports.results import Done
from gatebell.services.permissions import manage_rules

if TYPE_CHECKING:
    from gatebell.domain.asks.asks import Ask
    from gatebell.domain.audit.events import Head
    from gatebell.domain.people.principals import Caller
    from gatebell.ports.store import Store

# After the backup, drivers claimed runs and began new ones. Their claims and numbers must not be
# given again, and it is not known how many there were.
CLAIM_GAP = 1_000_000
NUMBER_GAP = 1_000


class Found(NamedTuple):
    """The parts of a store that may have been used after the backup."""

    approvals: tuple[Ask, ...]
    """Approved, and not taken."""
    calls: tuple[Ask, ...]
    """Pending asks about tool calls: their hosts may have gone on."""
    grants: tuple[str, ...]


class Fenced(NamedTuple):
    """The result of a fence."""

    approvals: tuple[str, ...] = ()
    calls: tuple[str, ...] = ()
    grants: tuple[str, ...] = ()
    runs: int = 0
    logins: int = 0


class Cut(NamedTuple):
    """How the chain of a store compares with a head that was kept."""

    is_found: bool
    """Whether the chain contains the event of that head."""
    events: int = 0
    """How many events are missing at the end; 0 if that cannot be known."""


def compare(store: Store, kept: Head) -> Cut:
    """Compare the chain with a head that was kept before the loss."""
    head = store.audit.head()
    if head.seq < kept.seq:
        return Cut(is_found=False, events=kept.seq - head.seq)
    if kept.seq == 0:
        return Cut(is_found=True)
    entry = next(iter(store.audit.entries(kept.seq - 1)), None)
    return Cut(is_found=bool(entry and (entry.seq, entry.hash) == kept))


def is_fenced(store: Store) -> bool:
    """Return whether nothing has happened since the last fence."""
    newest = store.audit.newest(1)
    return bool(newest) and newest[0].event.kind == EventKind.STORE_FENCED


def find(store: Store) -> Found:
    """Return what a fence would end."""
    usable = [ask for ask in store.asks.to_fence() if not _is_in_journal(store, ask)]
    grants = tuple(rule.id for rule in manage_rules.grants(store))
    approvals = tuple(ask for ask in usable if not ask.pending)
    return Found(approvals, tuple(ask for ask in usable if ask.pending), grants)


def fence(store: Store, caller: Caller, kept: Head | None = None) -> Fenced:
    """End everything that may have been used after the backup; a second call changes nothing.

    Args:
        store: the restored store
        caller: the person who does it; agents are refused
        kept: a head that was kept before the loss, for the record
    """
    must_be_a_person(caller, "fences a store")
    if is_fenced(store):
        return Fenced()
    cut = compare(store, kept) if kept else None
    # First of all: from here on, drivers of before write nothing.
    runs = store.runs.raise_claims(CLAIM_GAP)
    found = find(store)
    for rule in manage_rules.grants(store):
        store.rules.end(rule.id, [build_ended_event(rule, caller)])
    for shadow in store.rules.shadows():
        # People may have disagreed with it after the backup.
        store.rules.remove_shadow(
            shadow.id, [build_event(EventKind.SHADOW_REMOVED, shadow, caller)]
        )
    approvals, calls = (_cancel_all(store, some, caller) for some in (found.approvals, found.calls))
    ended = Event(EventKind.LOGIN_ENDED, "all", caller.actor, {"reason": asks.FENCED})
    done = Fenced(approvals, calls, found.grants, runs, store.logins.end_all([ended]))
    content = done._asdict() | {"evidence": caller.evidence}
    if kept and cut:
        content |= {"kept_head": str(kept), "cut": cut.events}
    event = Event(EventKind.STORE_FENCED, "store", caller.actor, content)
    store.runs.skip_numbers(NUMBER_GAP, [event])
    return done


def _cancel_all(store: Store, found: tuple[Ask, ...], caller: Caller) -> tuple[str, ...]:
    return tuple(ask.id for ask in found if _cancel(store, ask, caller))


def _cancel(store: Store, ask: Ask, caller: Caller) -> bool:
    while asks.may_be_used(ask):
        if isinstance(store.asks.change(asks.fence(ask, caller, store.now()), ask.version), Done):
            return True
        # Another process was faster: a server that runs although it should not.
        ask = store.asks.get(ask.id) or ask
    return False


def _is_in_journal(store: Store, ask: Ask) -> bool:
    """Return whether the run of an ask has recorded its result, which never changes (law 5)."""
    run_id = run_of(ask.origin.owner)
    if not run_id:
        return False
    return any(
        call.ask_id == ask.id and call.state == CallState.RECORDED
        for call in store.runs.calls(run_id)
    )
