"""A run as a person on another machine sees it, and how it is read from its JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gatebell.domain.asks.document_reader import read_optional, read_time
from gatebell.domain.enums import CallName, CallState, Priority, RunState
from gatebell.domain.records import NamedTuple
from gatebell.domain.runs.runs import FlowCall, Run

if TYPE_CHECKING:
    from collections.abc import Sequence


class SeenRun(NamedTuple):
    """A run, without the data of the process that drives it."""

    run: Run
    asks: Sequence[str]
    """The ids of the asks that it waits for."""
    calls: Sequence[FlowCall] = ()


def read_seen_run(document: dict[str, Any]) -> SeenRun:
    """Return the run of `run_document`, with the asks and calls that a server adds."""
    times = ("ready_at", "waiting_since", "ended_at")
    given = {name: document[name] for name in Run._fields if name in document}
    given |= {name: read_optional(document[name]) for name in times}
    given |= {
        "created_at": read_time(document["created_at"]),
        "state": RunState(document["state"]),
        "priority": Priority(document["priority"]),
    }
    calls = tuple(map(_read_call, document.get("calls", ())))
    return SeenRun(Run(**given), tuple(document["waiting_for"]), calls)


def _read_call(document: dict[str, Any]) -> FlowCall:
    return FlowCall(
        **document
        | {
            "name": CallName(document["name"]),
            "state": CallState(document["state"]),
            "started_at": read_time(document["started_at"]),
            "ended_at": read_optional(document["ended_at"]),
        }
    )
