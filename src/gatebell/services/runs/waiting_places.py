"""Find ready runs that no worker takes."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from gatebell.domain.enums import MemberKind
from gatebell.domain.runs.identities import parse_identity
from gatebell.services.members import list_living

if TYPE_CHECKING:
    from gatebell.ports.engines import Dispatches, WaitingPlace
    from gatebell.ports.store import Store

LATE_AFTER = timedelta(seconds=60)


def list_unserved(store: Store, dispatches: Dispatches) -> list[str]:
    """Return a sentence for each place whose runs have been ready for a minute."""
    workers = [one for one in list_living(store) if one.kind == MemberKind.WORKER]
    hosts = {parse_identity(one.process).host for one in workers}
    found = dispatches.list_waiting(store.now() - LATE_AFTER)
    return [_describe(place, hosts) for place in found]


def _describe(place: WaitingPlace, hosts: set[str]) -> str:
    runs = f"{place.runs} runs" if place.runs > 1 else "1 run"
    return f"{runs} of {place.project} ready for over a minute: {_explain(place, hosts)}"


def _explain(place: WaitingPlace, hosts: set[str]) -> str:
    """Return why no worker takes them, and what to do; `hosts` have workers."""
    if place.host and place.host in hosts:
        return f"all slots of host {place.host} are busy: gate worker --slots N there drives more"
    if place.host:
        return f"host {place.host} has no worker: start gate worker there"
    if place.pool:
        return (
            f"pool {place.pool} has no free worker with the project: "
            f"gate worker --pool {place.pool} --project DIR"
        )
    return "they were made by an older version: gate stop and gate resume move them here"
