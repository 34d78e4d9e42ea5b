"""Prove that a person's visit still has its holder, in the session of an ask or of a run.

Within one container the process number of the holder proves it. Other containers on the machine
have their own process numbers. There a lock proves it: the holder keeps a file locked, and the
kernel unlocks it when the last process that has it open ends.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gatebell.domain.runs.identities import parse_identity

if TYPE_CHECKING:
    from gatebell.domain.runs.runs import Turn
    from gatebell.domain.sessions.visits import Visit
    from gatebell.ports.store import Store


def lives(store: Store, visit: Visit | Turn) -> bool:
    """Return whether the process that opened a visit is alive, in this container or another.

    A process of another host counts as alive: only its own host can prove its end.
    """
    identity, machine = parse_identity(visit.process), store.machine
    if machine.is_elsewhere(identity):
        return machine.is_visit_held(visit.id)
    return machine.lives(identity)


def find_other_host(store: Store, visit: Visit | Turn) -> str:
    """Return the host of the process that opened a visit, or "" if it is this host."""
    if not visit.process:
        return ""
    identity = parse_identity(visit.process)
    return identity.host if store.machine.is_of_other_host(identity) else ""


def holds(store: Store, visit: Visit | Turn) -> bool:
    """Return whether an open visit has its holder, or processes that the holder left behind."""
    return lives(store, visit) or bool(store.machine.find_marked(("GATE_TURN", visit.id)))


def orphans(store: Store, visit: Visit | Turn) -> list[str]:
    """Return number and command of each process that outlives the holder of an open visit."""
    if visit.ended_at or lives(store, visit):
        return []
    return [
        store.machine.describe(pid) for pid in store.machine.find_marked(("GATE_TURN", visit.id))
    ]


def find_visitor(store: Store, cli: str, session: str) -> Visit | None:
    """Return the visit that has this conversation open through a session ask."""
    found = store.asks.holder(cli, session)
    return found if found and holds(store, found) else None
