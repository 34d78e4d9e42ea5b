"""Find ready runs that no worker takes."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from gatebell.domain.enums import MemberKind
from gatebell.domain.runs.identities import parse_identity
from gatebell.services.members import list_living

if TYPE_CHECKING:
    from gatebell.ports.engines import Dispatches
    from gatebell.ports.store import Store

LATE_AFTER = timedelta(seconds=60)


def list_unserved(store: Store, dispatches: Dispatches) -> list[str]:
    """Return a sentence for each place whose runs have been ready for a minute."""
    workers = [one for one in list_living(store) if one.kind == MemberKind.WORKER]
    hosts = {parse_identity(one.process).host for one in workers}
    found = []
    for host, pool, project, number in dispatches.list_waiting(store.now() - LATE_AFTER):
        runs = f"{number} runs" if number > 1 else "1 run"
        if host and host in hosts:
            what = f"all slots of host {host} are busy: gate worker --slots N there drives more"
        elif host:
            what = f"host {host} has no worker: start gate worker there"
        elif pool:
            what = (
                f"pool {pool} has no free worker with the project: "
                f"gate worker --pool {pool} --project DIR"
            )
        else:
            what = "they were made by an older version: gate stop and gate resume move them here"
        found.append(f"{runs} of {project} ready for over a minute: {what}")
    return found
