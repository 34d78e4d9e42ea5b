"""Ask a person about the runs of a lost host; nothing is taken over by time (law 5).

Servers and workers look for silent hosts. A person may also say that a host is lost, at once. The
first process that sees the answer carries it out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gatebell.domain.asks.asks import Origin
from gatebell.domain.asks.owners import owner_of
from gatebell.domain.audit.events import Event, EventKind
from gatebell.domain.enums import AskKind, AskStatus, MemberKind, Priority
from gatebell.domain.members import LOST_AFTER, lose_host
from gatebell.domain.people.principals import Caller, must_be_a_person
from gatebell.domain.runs import own_paths, travel
from gatebell.domain.runs.runs import DRIVER
from gatebell.errors import NotFoundError, RefusedError
from gatebell.services.asks import create_ask, wait_for_ask
from gatebell.services.asks.create_ask import Request
from gatebell.services.runs import manage_runs

if TYPE_CHECKING:
    from datetime import datetime

    from gatebell.domain.asks.asks import Ask
    from gatebell.domain.members import Member
    from gatebell.domain.runs.runs import FlowCall, Run
    from gatebell.ports.store import Store

_MAX_RUNS = 10_000
_STOP = "Stop the run"
_GATE = Caller(DRIVER, verified=False, via="host", agent=None, evidence={})


class HostView(NamedTuple):
    """A host that has members, or runs at home there."""

    name: str
    members: tuple[Member, ...]
    beat_at: datetime | None
    """The last report of its members; None: none is known."""
    is_lost: bool
    runs: tuple[Run, ...]
    """The runs at home there that have not ended."""


def list_hosts(store: Store) -> list[HostView]:
    """Return the hosts of a store, by name."""
    members = store.members.all()
    homes = {run.host for run in store.runs.newest(_MAX_RUNS, active=True) if run.host}
    return [_view(store, name, members) for name in sorted(homes | {one.host for one in members})]


def _view(store: Store, name: str, members: list[Member]) -> HostView:
    there = tuple(one for one in members if one.host == name)
    living = tuple(one for one in there if one.kind != MemberKind.LOST)
    beat_at = max((one.beat_at for one in living), default=None)
    is_lost = len(living) < len(there)
    return HostView(name, living, beat_at, is_lost, tuple(store.runs.list_of_host(name)))


def forget(store: Store, name: str, caller: Caller) -> list[Ask]:
    """Record that a host is lost, and ask about each of its runs at once; return the asks.

    If it was not lost, its next report withdraws them.
    """
    must_be_a_person(caller, "says that a host is lost")
    if name == store.machine.host:
        raise RefusedError(f"this is {name}, so it is not lost: run gate worker here")
    members = [one for one in store.members.all() if one.host == name]
    if not members and not store.runs.list_of_host(name):
        raise NotFoundError(f"there is no host {name}; gate host list shows the hosts")
    for run in store.runs.list_of_host(name):
        # An answer that no process has seen yet would stand for the new question.
        if (answered := _find_open(store, run)) and not answered.pending:
            _carry_out(store, run, answered)
    lost = lose_host(name, store.now())
    content = {"via": caller.via, "evidence": caller.evidence}
    told = Event(EventKind.HOST_FORGOTTEN, f"host:{name}", caller.actor, content)
    store.members.lose(lost, members, [told])
    opened = (_ask(store, run, lost) for run in store.runs.list_of_host(name))
    return [ask for ask in opened if ask.pending]


class LostHosts:
    """Finds hosts that are silent, asks about their runs, and carries out the answers."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def look(self) -> None:
        """Look once. It reads only the members, unless one of their hosts is silent."""
        store, now = self._store, self._store.now()
        members = store.members.all()
        lost = _find_lost(members)
        heard = {
            one.host
            for one in members
            if one.kind != MemberKind.LOST and one.beat_at + LOST_AFTER > now
        }
        silent = {one.host for one in members} - heard - lost.keys()
        for host in silent - {"", store.machine.host}:
            if store.runs.list_of_host(host):
                # It replaces no row: another process may notice the same host now, and the questions
                # of both are one only if they agree on since when it is lost.
                store.members.beat(lose_host(host, now))
                lost = _find_lost(store.members.all())
        for host, row in lost.items():
            if host in heard or not self._look_after(host, row):
                _find_again(store, host, row)

    def _look_after(self, host: str, row: Member) -> bool:
        """Ask about each run of a lost host, and carry out answers; return whether any is left."""
        found = self._store.runs.list_of_host(host)
        for run in found:
            ask = _ask(self._store, run, row)
            if _is_open(ask) and not ask.pending:
                _carry_out(self._store, run, ask)
        return bool(found)


def _find_lost(members: list[Member]) -> dict[str, Member]:
    return {one.host: one for one in members if one.kind == MemberKind.LOST}


def _find_again(store: Store, host: str, row: Member) -> None:
    """End the search for a host that reports again, or that has no runs any more."""
    for run in store.runs.list_of_host(host):
        if (ask := _find_open(store, run)) and ask.pending:
            create_ask.withdraw(store, ask.id, _GATE, f"host {host} reports again")
    store.members.leave(row)


def _find_open(store: Store, run: Run) -> Ask | None:
    """Return the question about a run that waits, or whose answer was not carried out yet."""
    owner = owner_of(run.id, own_paths.LOST_HOST)
    asks = [ask for ask in store.asks.of_run(run.id) if ask.origin.owner == owner]
    return next((ask for ask in asks if _is_open(ask)), None)


def _is_open(ask: Ask) -> bool:
    return ask.pending or (ask.status == AskStatus.ANSWERED and not ask.delivered_at)


def _ask(store: Store, run: Run, row: Member) -> Ask:
    """Ask a person about a run, once for each time that its host is lost."""
    key = f"{run.name}/{run.claim}/lost/{run.host}/{row.joined_at.isoformat()}"
    if known := _find_open(store, run) or store.asks.with_key(key):
        return known
    record = _find_sent(store, run)
    wait, begin = _build_options(run)
    request = Request(
        f"Host {run.host} is lost: nothing is heard from it. It has the folder of run {run.id} "
        f"({run.flow}). What now?",
        AskKind.CHOICE,
        options=(wait, begin, _STOP) if record else (wait, _STOP),
        context=_describe_sent(store, run, record),
        priority=Priority.HIGH,
    )
    origin = Origin(
        project=run.project,
        cwd=run.folder,
        agent=run.flow,
        started_by=run.started_by,
        owner=owner_of(run.id, own_paths.LOST_HOST),
        task=run.task,
        project_key=run.project_key,
    )
    return create_ask.ask(store, request, origin, _GATE, key).ask


def _find_sent(store: Store, run: Run) -> FlowCall | None:
    return next((call for call in store.runs.calls(run.id) if call.path == own_paths.TRAVEL), None)


def _build_options(run: Run) -> tuple[str, str]:
    return (
        f"Wait for {run.host}",
        f"Begin from the copy at the remote; the work on {run.host} stays there",
    )


def _describe_sent(store: Store, run: Run, record: FlowCall | None) -> str:
    if record is None or record.ended_at is None:
        return f"The remote has nothing of this run: all of its work is on {run.host}."
    sent_at = record.ended_at
    later = [
        call.path
        for call in store.runs.calls(run.id)
        if not own_paths.is_own(call.path) and call.ended_at and call.ended_at > sent_at
    ]
    text = f"The remote has its folder and sessions of {sent_at:%Y-%m-%d %H:%M} UTC."
    if not later:
        return text
    if len(later) == 1:
        ended = f"Call {later[0]} ended after that: its result is recorded and stays, but its"
    else:
        ended = (
            f"Calls {', '.join(later)} ended after that: their results are recorded and stay, but "
            "their"
        )
    return f"{text} {ended} changes to files are only on {run.host}."


def _carry_out(store: Store, run: Run, ask: Ask) -> None:
    """Do what the person chose; a free text, or no answer, means to wait."""
    _, begin = _build_options(run)
    value = ask.value if ask.status == AskStatus.ANSWERED else ""
    if value == _STOP:
        manage_runs.stop(store, run.id, _GATE, f"host {run.host} is lost")
    elif value == begin and (record := _find_sent(store, run)):
        change = travel.release(run, record, store.runs.turns(run.id), ask, store.now())
        if not store.runs.change(change, run):
            # Its host reports again, and went on with it.
            return
    wait_for_ask.take(store, ask, DRIVER)
