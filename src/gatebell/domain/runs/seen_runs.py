"""A run as people see it, and its JSON in both ways."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gatebell.domain.asks.document_reader import read_optional, read_time
from gatebell.domain.asks.documents import run_document
from gatebell.domain.enums import CallName, CallState, Priority, RunState, TaskState
from gatebell.domain.records import NamedTuple
from gatebell.domain.runs.runs import FlowCall, Run, Turn

if TYPE_CHECKING:
    from collections.abc import Sequence


class TaskEnd(NamedTuple):
    """The result of a task after one of its runs."""

    state: TaskState
    why: str = ""
    by: str = ""
    """The person who ended the run; empty if it ended by itself."""

    @property
    def description(self) -> str:
        """`by person:ada: not needed`; empty for a task that was done."""
        by = f"by {self.by}" if self.by else ""
        return ": ".join(filter(None, [by, self.why]))


class SeenRun(NamedTuple):
    """A run, without the data of the process that drives it if a server keeps it."""

    run: Run
    asks: Sequence[str]
    """The ids of the asks that it waits for."""
    prompts: Sequence[str] = ()
    """Their questions."""
    gone: Sequence[str] = ()
    """Of these asks, those whose asker is gone."""
    title: str = ""
    """The title of its task."""
    end: TaskEnd | None = None
    """The result of its task, if this run ended it."""
    calls: Sequence[FlowCall] = ()
    turns: Sequence[Turn] = ()

    @property
    def name(self) -> str:
        """`tm-abc: its title`, or the title of a run without a task."""
        return f"{self.run.task}: {self.title}" if self.title else self.run.title


def seen_run_document(seen: SeenRun) -> dict[str, Any]:
    """Return a run with the asks that it waits for as JSON, without its calls and turns."""
    return run_document(seen.run) | {
        "waiting_for": list(seen.asks),
        "askers_gone": list(seen.gone),
        "questions": list(seen.prompts),
        "task_title": seen.title,
        "task_end": seen.end and seen.end._asdict(),
    }


def read_seen_run(document: dict[str, Any]) -> SeenRun:
    """Return the run of `seen_run_document`, with the calls and turns that a server adds."""
    times = ("ready_at", "waiting_since", "ended_at")
    given = {name: document[name] for name in Run._fields if name in document}
    given |= {name: read_optional(document[name]) for name in times}
    given |= {
        "created_at": read_time(document["created_at"]),
        "state": RunState(document["state"]),
        "priority": Priority(document["priority"]),
    }
    end = document["task_end"]
    if len(document["waiting_for"]) != len(document["questions"]):
        raise ValueError("a question")
    return SeenRun(
        Run(**given),
        tuple(document["waiting_for"]),
        tuple(document["questions"]),
        tuple(document["askers_gone"]),
        document["task_title"],
        end and TaskEnd(TaskState(end["state"]), end["why"], end["by"]),
        tuple(map(_read_call, document.get("calls", ()))),
        tuple(map(_read_turn, document.get("turns", ()))),
    )


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


def _read_turn(document: dict[str, Any]) -> Turn:
    times = {
        "started_at": read_time(document["started_at"]),
        "ended_at": read_optional(document["ended_at"]),
    }
    return Turn(**document | times)
