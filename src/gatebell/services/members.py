"""Which processes serve a store: each reports every ten seconds that it lives.

Of a process of this host, its number proves more than its last report. Of other containers and
hosts, only the report is seen.
"""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import TYPE_CHECKING

from gatebell.domain.enums import MemberKind, ProcessState
from gatebell.domain.members import BEAT_SECONDS, Member, is_fresh
from gatebell.domain.runs.identities import parse_identity
from gatebell.errors import GateError

if TYPE_CHECKING:
    from gatebell.domain.runs.runs import Run
    from gatebell.ports.store import Store
    from gatebell.services.runs.lost_hosts import LostHosts

_LOOKING = (MemberKind.SERVER, MemberKind.WORKER)
"""The members that look for lost hosts."""


def list_living(store: Store) -> list[Member]:
    """Return the members that live, as far as this host can know."""
    return [
        member
        for member in store.members.all()
        if member.kind != MemberKind.LOST and _lives(store, member)
    ]


def has_worker(store: Store, run: Run | None = None) -> bool:
    """Return whether a living worker drives runs as they become ready: this one, if one is given."""
    hosts = ("", run.host) if run and run.host else ()
    key = run.project_key if run and run.is_unplaced else ""
    return any(
        _lives(store, one)
        for one in store.members.all()
        if one.kind == MemberKind.WORKER
        and (not hosts or parse_identity(one.process).host in hosts)
        and (not key or key in one.project_keys)
    )


def _lives(store: Store, member: Member) -> bool:
    state = store.machine.find_state(parse_identity(member.process))
    if state == ProcessState.UNKNOWN:
        return is_fresh(member, store.now())
    return state == ProcessState.ALIVE


def _find_lost_hosts(store: Store) -> LostHosts:
    # Imported here: commands that only read the members need none of it.
    from gatebell.services.runs.lost_hosts import LostHosts

    return LostHosts(store)


class Membership:
    """Reports this process as a member of a store, until `end`."""

    def __init__(self, store: Store, kind: MemberKind, url: str = "") -> None:
        now = store.now()
        self._store = store
        self._member = Member(kind, str(store.machine.me()), url, now, now)
        self._ended = threading.Event()
        store.members.join(self._member)
        self._lost_hosts = _find_lost_hosts(store) if kind in _LOOKING else None
        self._thread = threading.Thread(target=self._beat, name="member", daemon=True)
        self._thread.start()

    def tell(self, url: str) -> None:
        """Report another `url` from now on."""
        if url != self._member.url:
            self._member = self._member._replace(url=url)
            self._store.members.beat(self._member)

    def _beat(self) -> None:
        while not self._ended.wait(BEAT_SECONDS):
            # After an error of the store, the next beat tries again.
            with suppress(GateError):
                self._store.members.beat(self._member)
                if self._lost_hosts:
                    self._lost_hosts.look()

    def end(self) -> None:
        """Leave the members; if the store cannot be written, the process number tells."""
        self._ended.set()
        self._thread.join()
        with suppress(GateError):
            self._store.members.leave(self._member)
