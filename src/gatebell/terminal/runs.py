"""Runs as lines of a terminal: how far one is, what it waits for, and what to do about it."""

from __future__ import annotations

import json
import os
import shlex
from typing import TYPE_CHECKING

from gatebell import errors
from gatebell.domain.asks.asks import settled_sentence
from gatebell.domain.audit.events import EventKind
from gatebell.domain.enums import (
    AgentCli,
    AskKind,
    AskStatus,
    CallName,
    CallState,
    RunState,
    SignalStatus,
    TaskState,
)
from gatebell.domain.runs.identities import parse_identity
from gatebell.domain.text.display import frame, inert_line
from gatebell.errors import RefusedError
from gatebell.terminal import task_runs

if TYPE_CHECKING:
    from datetime import datetime

    from gatebell.domain.asks.asks import Ask
    from gatebell.domain.runs.runs import FlowCall, Run, Turn
    from gatebell.ports.store import Store
    from gatebell.terminal.task_runs import End

COLOURS = {
    RunState.WAITING_HUMAN: "yellow",
    RunState.COMPLETED: "green",
    RunState.STUCK: "yellow",
    RunState.FAILED: "red",
    RunState.RUNNING: "cyan",
    RunState.READY: "cyan",
}
# Agent programs whose sessions a person can always open.
JOINABLE: dict[str, str] = {AgentCli.CLAUDE: "Claude", AgentCli.CODEX: "Codex"}
_MAX_TRACEBACK_LINES = 12
_MAX_OPTION_LENGTH = 30


def pending_asks(store: Store, run: Run) -> list[Ask]:
    """What a run waits for. A running one may, too: for permission, or in one of its branches."""
    return [] if run.has_ended else store.asks.pending_of_run(run.id)


def agent_of(run: Run) -> str:
    return (
        run.agent if run.state in (RunState.RUNNING, RunState.WAITING_HUMAN) and run.agent else "-"
    )


def waiting_for(store: Store, run: Run) -> str:
    """What a run waits for, in the words that people are asked with."""
    return "; ".join(ask.question.prompt for ask in pending_asks(store, run))


def state_lines(
    store: Store, run: Run, now: datetime, width: int, *, is_worked_at: bool
) -> list[str]:
    """What is to be said of a run that does not wait for a person."""
    if run.state == RunState.RUNNING:
        return _running(store, run, now, width, is_worked_at=is_worked_at)
    if run.state == RunState.READY:
        return _ready(store, run, now, is_worked_at=is_worked_at)
    end = task_runs.end_of(store, run)
    if end and (run.state == RunState.COMPLETED or end.state != TaskState.FAILED):
        return _task_end(run, end, width)
    if run.state == RunState.COMPLETED:
        return _result(run, width)
    lines = []
    ours = _our_words(run.reason) if run.state == RunState.FAILED else ""
    if run.reason:
        lines += label_lines("Reason", ours or run.reason, width)
    if run.error and not ours:
        last = run.error.rstrip().splitlines()[-_MAX_TRACEBACK_LINES:]
        lines += frame("\n".join(last), width)
    way_on = _way_on(store, run)
    return [*lines, "", way_on] if way_on else lines


def _our_words(reason: str) -> str:
    """What an error of ours says: a sentence to go by, which no traceback makes clearer."""
    kind, _, words = reason.removeprefix("StepFailedError: ").partition(": ")
    made = getattr(errors, kind, None)
    is_ours = isinstance(made, type) and issubclass(made, errors.GateError)
    return words if is_ours and made is not errors.BranchFailedError else ""


def _way_on(store: Store, run: Run) -> str:
    """How a run that is stuck or failed goes on; nothing where its reason tells that itself."""
    if f"gate resume {run.id}" in run.reason:
        return ""
    if not run.folder:
        return f"Use 'gate delete {run.id}' to remove it."
    asked = _last_asked(store, run) if _gave_itself_up(store, run) else ""
    if not asked:
        return f"Use 'gate resume {run.id}' to take it up where it stopped."
    return (
        f"Use 'gate resume {run.id} --from {asked}' to go on from call {asked} in a new run; "
        f"'gate resume {run.id}' would end like this again."
    )


def _gave_itself_up(store: Store, run: Run) -> bool:
    """Whether its code returned `stuck(…)`; otherwise it was stopped, or halted at a call."""
    if run.state != RunState.STUCK or run.stopped_at:
        return False
    ends = [entry.event.kind for entry in store.audit.of_subject(run.name)]
    return [kind for kind in ends if kind in (EventKind.RUN_STUCK, EventKind.RUN_STOPPED)][-1:] == [
        EventKind.RUN_STUCK
    ]


def _last_asked(store: Store, run: Run) -> str:
    """The call at which a person could decide otherwise; where nobody was asked, the last one."""
    calls = [call for call in store.runs.calls(run.id) if int(call.path.partition(".")[0])]
    asked = [call for call in calls if call.name in (CallName.PAUSE, CallName.ASK)] or calls
    return asked[-1].path.partition(".")[0] if asked else ""


def label_lines(name: str, text: str, width: int) -> list[str]:
    """Untrusted text behind a name of ours; its further lines cannot pass for ours."""
    first, *more = frame(text, width - len(name) - 2, bar="")
    return [f"{name}: {first}", *(f"{'':{len(name)}}  {line}" for line in more)]


def _running(store: Store, run: Run, now: datetime, width: int, *, is_worked_at: bool) -> list[str]:
    if not is_worked_at and not store.machine.lives(parse_identity(run.owner)):
        gone = f"Use 'gate resume {run.id}' to take it up where it stopped."
        return ["Whoever drove it is gone.", "", gone]
    lines = [f"Agent: {inert_line(agent_of(run), 60)}"]
    working = [turn for turn in store.runs.turns(run.id) if not turn.ended_at]
    for turn in working:
        since = ago((now - turn.started_at).total_seconds())
        lines.append(f"Session: {inert_line(turn.session, 60) or '-'}")
        lines.append(f"Working since: {since} (call {turn.path})")
    lines += driver_lines(store, run)
    asks = pending_asks(store, run)
    if asks:
        lines += label_lines("Waiting for", waiting_for(store, run), width)
        lines += ["", *(f"Use '{how_to_answer(ask)}' to answer it." for ask in asks)]
    return lines


def driver_lines(store: Store, run: Run) -> list[str]:
    """Which process keeps a run for itself, if one does."""
    pid = _keeper(store, run)
    return [f"Driven by: process {pid} here"] if pid else []


def driven_elsewhere(store: Store, run: Run) -> str:
    """That another process keeps a run for itself; nothing where none does."""
    pid = _keeper(store, run)
    return f"run {run.id} is driven by process {pid} here" if pid not in (0, os.getpid()) else ""


def _keeper(store: Store, run: Run) -> int:
    # Imported here: most runs are kept by no process.
    from gatebell.services.runs.claims import is_kept

    return parse_identity(run.owner).pid if run.is_kept and is_kept(store, run) else 0


def _ready(store: Store, run: Run, now: datetime, *, is_worked_at: bool) -> list[str]:
    if run.ready_at and run.ready_at > now:
        lines = [f"Sleeps until: {run.ready_at:%Y-%m-%d %H:%M:%S} UTC"]
    else:
        lines = [*_list_expired(store, run), "It can go on at once."]
    if driver := driver_lines(store, run):
        return [*lines, *driver]
    return lines if is_worked_at else [*lines, "", describe_idle_run(run.id)]


def _list_expired(store: Store, run: Run) -> list[str]:
    """The asks that nobody answered in time and that the run has not gone on from yet."""
    calls = store.runs.calls(run.id)
    waiting = [call.ask_id for call in calls if call.state == CallState.WAITING]
    asks = [ask for ask in map(store.asks.get, waiting) if ask]
    return [settled_sentence(ask) for ask in asks if ask.status == AskStatus.TIMED_OUT]


def describe_idle_run(number: int) -> str:
    return (
        f"Nobody drives runs now. Use 'gate resume {number}' to drive it here, or 'gate up' or "
        "'gate worker' to drive all that are ready."
    )


def _result(run: Run, width: int) -> list[str]:
    if run.result is None:
        return ["Result: -"]
    text = run.result if isinstance(run.result, str) else json.dumps(run.result, ensure_ascii=False)
    return label_lines("Result", text, width)


def _task_end(run: Run, end: End, width: int) -> list[str]:
    """What a task came to; nobody who looks at one needs the JSON that its run handed on."""
    result = run.result if isinstance(run.result, dict) else {}
    told = ("Ended by", end.by), ("Reason", end.why), ("Summary", str(result.get("summary") or ""))
    lines = [line for name, text in told if text for line in label_lines(name, text, width)]
    again = (
        "" if end.state == TaskState.CLOSED else f", 'gate task reopen {run.task}' to try it again"
    )
    return [*lines, "", f"Use 'gate task show {run.task}' to see all of it{again}."]


def turn_of(store: Store, run: Run, asks: list[Ask]) -> Turn | None:
    """The turn in which an agent said what the run waits for."""
    paths = {ask.origin.owner.partition("/")[2] for ask in asks} or set(run.stopped_at.split())
    found = [turn for turn in store.runs.turns(run.id) if turn.path in paths and not turn.by]
    return found[-1] if found else None


def how_to_answer(ask: Ask) -> str:
    """The command that answers an ask, with a hint of what it takes."""
    if ask.question.session:
        return f"gate continue {ask.id}"
    takes = {AskKind.APPROVAL: "yes|no", AskKind.CHOICE: _an_option(ask), AskKind.TEXT: "TEXT"}
    return f"gate answer {ask.id} {takes.get(ask.question.kind, '')}".rstrip()


def _an_option(ask: Ask) -> str:
    """How one of the options is written in a shell; a long or strange one by its number."""
    first = next(iter(ask.question.options), "OPTION")
    is_plain = first == inert_line(first, _MAX_OPTION_LENGTH)
    return shlex.quote(first) if is_plain else "1"


def folder_is_gone(run: Run) -> RefusedError:
    return RefusedError(
        f"the folder of run {run.id} was removed, as gate clean does once a run is completed and "
        f"nothing is lost ({run.root}): its work is where its branch was merged"
    )


def glyph(call: FlowCall) -> tuple[str, str]:
    """How far a call is, as one character and its colour."""
    if call.state == CallState.FAILED or describe_report(call) == SignalStatus.ERROR:
        return "✗", "red"
    if call.state in (CallState.WAITING, CallState.HELD):
        return "⏸", "yellow"
    return ("▸", "cyan") if call.state == CallState.OPEN else ("✓", "green")


def describe_report(call: FlowCall) -> str:
    """The status that an agent gave at the end of its call."""
    is_signal = (
        call.name == CallName.RUN
        and call.state == CallState.RECORDED
        and isinstance(call.value, dict)
    )
    return str(call.value.get("status")) if is_signal else ""


def lasting(seconds: float) -> str:
    """`10 minutes`; nothing for less than a second."""
    seconds = max(0, int(seconds))
    for unit, size in (("day", 86400), ("hour", 3600), ("minute", 60), ("second", 1)):
        if seconds >= size:
            number = seconds // size
            return f"{number} {unit}{'s' if number > 1 else ''}"
    return ""


def ago(seconds: float) -> str:
    """`10 minutes ago`."""
    words = lasting(seconds)
    return f"{words} ago" if words else "just now"
