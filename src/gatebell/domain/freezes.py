"""The freeze: a person stops everything, until a person lifts it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gatebell.domain.asks.asks import iso
from gatebell.domain.audit.events import Event, EventKind
from gatebell.domain.records import NamedTuple
from gatebell.domain.text.display import inert_line

if TYPE_CHECKING:
    from datetime import datetime

    from gatebell.domain.people.principals import Caller

MAX_REASON = 4_000
SUBJECT = "freeze"
"""The subject of the events of every freeze."""
LIFT = "gate unfreeze"


class Freeze(NamedTuple):
    """One freeze, from its beginning until it is lifted."""

    made_by: str
    made_at: datetime
    reason: str = ""


def build_begun_event(freeze: Freeze, caller: Caller) -> Event:
    content = {"reason": freeze.reason, "evidence": caller.evidence}
    return Event(EventKind.FREEZE_BEGUN, SUBJECT, freeze.made_by, content)


def build_lifted_event(freeze: Freeze, caller: Caller) -> Event:
    content = {"since": iso(freeze.made_at), "evidence": caller.evidence}
    return Event(EventKind.FREEZE_LIFTED, SUBJECT, caller.actor, content)


def describe_freeze(freeze: Freeze) -> str:
    """Return one sentence for people and agents: who froze everything, when, and why."""
    who = inert_line(freeze.made_by.removeprefix("person:"), 80)
    why = f": {inert_line(freeze.reason, 300)}" if freeze.reason else ""
    return f"Everything is frozen, by {who} since {freeze.made_at:%Y-%m-%d %H:%M} UTC{why}"


def freeze_document(freeze: Freeze | None) -> dict[str, Any]:
    """Return it as `--json` and HTTP give it."""
    if freeze is None:
        return {"frozen": False, "by": None, "since": None, "reason": ""}
    since = iso(freeze.made_at)
    return {"frozen": True, "by": freeze.made_by, "since": since, "reason": freeze.reason}


def read_freeze(document: dict[str, Any]) -> Freeze | None:
    """Return the freeze of such a document."""
    # Imported here: only clients of a server read documents.
    from gatebell.domain.asks.document_reader import read_time

    if not document["frozen"]:
        return None
    return Freeze(document["by"], read_time(document["since"]), document["reason"])
