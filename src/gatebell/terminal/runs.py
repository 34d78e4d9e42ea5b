"""Runs as lines of a terminal: the state, the open questions, and the next command."""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING

from gatebell.domain.asks.asks import settled_sentence
from gatebell.domain.asks.gone_askers import MARK
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
from gatebell.domain.runs.journals import is_own_error
from gatebell.domain.text.display import frame, inert_line
from gatebell.errors import BranchFailedError, RefusedError
from gatebell.services.asks.waiters import mark_prompt
from gatebell.terminal import task_runs
from gatebell.terminal.local_times import format_local, localise

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from gatebell.domain.asks.asks import Ask
    from gatebell.domain.runs.identities import Identity
    from gatebell.domain.runs.runs import FlowCall, Run, Turn
    from gatebell.domain.runs.seen_runs import SeenRun
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
MAX_TRACEBACK = 12
_MAX_OPTION_LENGTH = 30
_MAX_TITLE = 200


def pending_asks(store: Store, run: Run) -> list[Ask]:
    """Return the pending asks of a run; a running one has them for permissions or in branches."""
    return [] if run.has_ended else store.asks.pending_of_run(run.id)


def agent_of(run: Run) -> str:
    return (
        run.agent if run.state in (RunState.RUNNING, RunState.WAITING_HUMAN) and run.agent else "-"
    )


def waiting_for(store: Store, run: Run) -> str:
    """Return the questions that a run waits for, with a mark where the asker is gone."""
    return "; ".join(mark_prompt(store, ask) for ask in pending_asks(store, run))


def join_prompts(seen: SeenRun) -> str:
    """Return the questions that a run waits for, with a mark where the asker is gone."""
    asked = zip(seen.asks, seen.prompts, strict=True)
    return "; ".join(f"{MARK if ask in seen.gone else ''}{prompt}" for ask, prompt in asked)


def state_lines(
    store: Store, run: Run, now: datetime, width: int, *, is_worked_at: bool
) -> list[str]:
    """Return the lines of a run that does not wait for a person."""
    if run.state == RunState.RUNNING:
        return _format_running(store, run, now, width, is_worked_at=is_worked_at)
    if run.state == RunState.READY:
        # A question about its host may wait.
        return [
            *_format_ready(store, run, now, is_worked_at=is_worked_at),
            *_format_asks(store, run, width),
        ]
    end = task_runs.end_of(store, run)
    if end and (run.state == RunState.COMPLETED or end.state != TaskState.FAILED):
        return task_end_lines(run, end, width)
    if run.state == RunState.COMPLETED:
        return label_lines("Result", format_result(run), width)
    reason = describe_reason(run)
    lines = label_lines("Reason", reason, width) if reason else []
    if run.error and reason == run.reason:
        last = run.error.rstrip().splitlines()[-MAX_TRACEBACK:]
        lines += frame("\n".join(last), width)
    way_on = _suggest_next(store, run)
    return [*lines, "", way_on] if way_on else lines


def describe_reason(run: Run) -> str:
    """Return why a run ended; of an error of ours only its message, without names of classes."""
    if run.state != RunState.FAILED:
        return run.reason
    kind, _, words = run.reason.removeprefix("StepFailedError: ").partition(": ")
    return words if is_own_error(kind) and kind != BranchFailedError.__name__ else run.reason


def _suggest_next(store: Store, run: Run) -> str:
    """Return how to continue a stuck or failed run; '' if its reason says so already."""
    if f"gate resume {run.id}" in run.reason:
        return ""
    if not run.folder:
        return f"Use 'gate delete {run.id}' to remove it."
    asked = _find_last_asked(store, run) if _has_given_up(store, run) else ""
    if not asked:
        return f"Use 'gate resume {run.id}' to continue where it stopped."
    return (
        f"Use 'gate resume {run.id} --from {asked}' to go on from call {asked} in a new run; "
        f"'gate resume {run.id}' would end in the same way."
    )


def _has_given_up(store: Store, run: Run) -> bool:
    """Return whether the flow returned `stuck(…)`; else it was stopped, or halted at a call."""
    if run.state != RunState.STUCK or run.stopped_at:
        return False
    ends = [entry.event.kind for entry in store.audit.of_subject(run.name)]
    return [kind for kind in ends if kind in (EventKind.RUN_STUCK, EventKind.RUN_STOPPED)][-1:] == [
        EventKind.RUN_STUCK
    ]


def _find_last_asked(store: Store, run: Run) -> str:
    """Return the last call that asked a person, or the last call if none did."""
    calls = [call for call in store.runs.calls(run.id) if int(call.path.partition(".")[0])]
    asked = [call for call in calls if call.name in (CallName.PAUSE, CallName.ASK)] or calls
    return asked[-1].path.partition(".")[0] if asked else ""


def title_lines(run: Run, now: datetime, width: int) -> list[str]:
    """Return `Flow: feature: Add login` and since when it runs."""
    ago = format_ago((now - run.created_at).total_seconds())
    return [*label_lines("Flow", run.title[:_MAX_TITLE], width), f"Started: {ago}"]


def label_lines(name: str, text: str, width: int) -> list[str]:
    """Return untrusted text after a name; its other lines are indented, so they do not look ours."""
    first, *more = frame(text, width - len(name) - 2, bar="")
    return [f"{name}: {first}", *(f"{'':{len(name)}}  {line}" for line in more)]


def _format_running(
    store: Store, run: Run, now: datetime, width: int, *, is_worked_at: bool
) -> list[str]:
    if not is_worked_at and not store.machine.lives(parse_identity(run.owner)):
        way_on = f"Use 'gate resume {run.id}' to continue where it stopped."
        return ["The process that drove it has ended.", "", way_on]
    lines = [f"Agent: {inert_line(agent_of(run), 60)}", *_format_other_host(store, run, now)]
    working = [turn for turn in store.runs.turns(run.id) if not turn.ended_at]
    for turn in working:
        since = format_ago((now - turn.started_at).total_seconds())
        lines.append(f"Session: {inert_line(turn.session, 60) or '-'}")
        lines.append(f"Working since: {since} (call {turn.path})")
    return [*lines, *driver_lines(store, run), *_format_asks(store, run, width)]


def _format_asks(store: Store, run: Run, width: int) -> list[str]:
    asks = pending_asks(store, run)
    if not asks:
        return []
    told = label_lines("Waiting for", waiting_for(store, run), width)
    return [*told, "", *map(tell_how_to_answer, asks)]


def driver_lines(store: Store, run: Run) -> list[str]:
    """Return a line about the process that keeps a run, if one does."""
    keeper = _find_keeper(store, run)
    # A running one of another host has its own line.
    if not keeper or (run.state == RunState.RUNNING and store.machine.is_of_other_host(keeper)):
        return []
    return [f"Driven by: process {keeper.pid} {_describe_host(store, keeper)}"]


def _format_other_host(store: Store, run: Run, now: datetime) -> list[str]:
    """Return what is known about the driver of a running run on another host."""
    owner = parse_identity(run.owner)
    if not store.machine.is_of_other_host(owner):
        return []
    lines = [f"Driven by: process {owner.pid} on host {owner.host}"]
    if run.lease_until and run.lease_until <= now:
        silent = format_ago((now - run.lease_until).total_seconds())
        lines.append(
            f"That host did not extend its lease, which ended {silent}. A worker there takes the "
            f"run again. If the host is lost: gate host forget {owner.host}"
        )
    return lines


def _describe_host(store: Store, process: Identity) -> str:
    return f"on host {process.host}" if store.machine.is_of_other_host(process) else "here"


def describe_other_driver(store: Store, run: Run) -> str:
    """Return a sentence about another process that keeps a run, or ''."""
    keeper = _find_keeper(store, run)
    if keeper is None or keeper == store.machine.me():
        return ""
    return f"run {run.id} is driven by process {keeper.pid} {_describe_host(store, keeper)}"


def _find_keeper(store: Store, run: Run) -> Identity | None:
    # Imported here: few runs are kept by a process.
    from gatebell.services.runs.claims import is_kept

    return parse_identity(run.owner) if run.is_kept and is_kept(store, run) else None


def _format_ready(store: Store, run: Run, now: datetime, *, is_worked_at: bool) -> list[str]:
    if run.ready_at and run.ready_at > now:
        lines = [f"Sleeps until: {format_local(run.ready_at)}"]
    else:
        lines = [*_list_expired(store, run), "The run is ready to go on."]
    if driver := driver_lines(store, run):
        return [*lines, *driver]
    if run.host not in ("", store.machine.host):
        return [*lines, f"It continues on host {run.host}, which has its folder."]
    if not run.host and run.pool and not run.is_unplaced:
        return [*lines, f"It continues on a host of pool {run.pool}, which then makes its folder."]
    return lines if is_worked_at else [*lines, "", describe_idle_run(run)]


def _list_expired(store: Store, run: Run) -> list[str]:
    """Return sentences about timed-out asks that the run has not handled yet."""
    calls = store.runs.calls(run.id)
    waiting = [call.ask_id for call in calls if call.state == CallState.WAITING]
    asks = [ask for ask in map(store.asks.get, waiting) if ask]
    return [localise(settled_sentence(ask)) for ask in asks if ask.status == AskStatus.TIMED_OUT]


def describe_idle_run(run: Run) -> str:
    """Return how a run goes on that no process drives."""
    if run.is_unplaced:
        return (
            f"No living worker has a checkout of {inert_line(run.project_key)}. Run 'gate worker' in "
            "such a checkout: it makes the folder of the run, and drives it."
        )
    return (
        f"No process drives runs now. Use 'gate resume {run.id}' to drive it here, or 'gate up' or "
        "'gate worker' to drive all runs that are ready."
    )


def format_result(run: Run) -> str:
    """Return the result of a completed run as text."""
    if run.result is None:
        return "-"
    return run.result if isinstance(run.result, str) else json.dumps(run.result, ensure_ascii=False)


def task_end_lines(run: Run, end: End, width: int) -> list[str]:
    """Return the lines of a task's result, without the JSON of its run."""
    result = run.result if isinstance(run.result, dict) else {}
    facts = ("Ended by", end.by), ("Reason", end.why), ("Summary", str(result.get("summary") or ""))
    lines = [line for name, text in facts if text for line in label_lines(name, text, width)]
    again = (
        "" if end.state == TaskState.CLOSED else f", 'gate task reopen {run.task}' to try it again"
    )
    return [*lines, "", f"Use 'gate task show {run.task}' to see the whole task{again}."]


def find_turn(store: Store, run: Run, asks: list[Ask]) -> Turn | None:
    """Return the turn in which an agent asked the question that the run waits for."""
    paths = {ask.origin.owner.partition("/")[2] for ask in asks} or set(run.stopped_at.split())
    found = [turn for turn in store.runs.turns(run.id) if turn.path in paths and not turn.by]
    return found[-1] if found else None


def suggest_answer(ask: Ask) -> str:
    """Return the command that answers an ask, with a hint of the value."""
    if ask.question.session:
        return f"gate continue {ask.id}"
    takes = {AskKind.APPROVAL: "yes|no", AskKind.CHOICE: _quote_option(ask), AskKind.TEXT: "TEXT"}
    return f"gate answer {ask.id} {takes.get(ask.question.kind, '')}".rstrip()


def tell_how_to_answer(ask: Ask) -> str:
    """Return the sentence with the command that answers an ask."""
    command = suggest_answer(ask)
    # An option may be in quotes itself.
    mark = '"' if "'" in command else "'"
    return f"Use {mark}{command}{mark} to answer it."


def _quote_option(ask: Ask) -> str:
    """Return the first option as a shell word, or its number if it is long or not inert."""
    first = next(iter(ask.question.options), "OPTION")
    is_plain = first == inert_line(first, _MAX_OPTION_LENGTH)
    return shlex.quote(first) if is_plain else "1"


def folder_is_gone(run: Run) -> RefusedError:
    return RefusedError(
        f"the folder of run {run.id} was removed ({run.root}); gate clean does that after a run "
        "is completed, if no work is lost. Look at the branch into which its work was merged"
    )


def choose_glyph(call: FlowCall) -> tuple[str, str]:
    """Return the state of a call as one character and its colour."""
    if call.state == CallState.FAILED or describe_report(call) == SignalStatus.ERROR:
        return "✗", "red"
    if call.state in (CallState.WAITING, CallState.HELD):
        return "⏸", "yellow"
    return ("▸", "cyan") if call.state == CallState.OPEN else ("✓", "green")


def find_ended_waits(store: Store, calls: Iterable[FlowCall]) -> dict[str, Ask]:
    """Return, by the path of the call, the settled asks of calls that no process has continued."""
    waiting = [call for call in calls if call.state == CallState.WAITING]
    asks = {call.path: store.asks.get(call.ask_id) for call in waiting}
    return {path: ask for path, ask in asks.items() if ask and not ask.pending}


def describe_report(call: FlowCall) -> str:
    """Return the status that an agent gave at the end of its call."""
    is_signal = (
        call.name == CallName.RUN
        and call.state == CallState.RECORDED
        and isinstance(call.value, dict)
    )
    return str(call.value.get("status")) if is_signal else ""


def format_duration(seconds: float) -> str:
    """Return `10 minutes`, or '' for less than a second."""
    seconds = max(0, int(seconds))
    for unit, size in (("day", 86400), ("hour", 3600), ("minute", 60), ("second", 1)):
        if seconds >= size:
            number = seconds // size
            return f"{number} {unit}{'s' if number > 1 else ''}"
    return ""


def format_ago(seconds: float) -> str:
    """Return `10 minutes ago`."""
    words = format_duration(seconds)
    return f"{words} ago" if words else "just now"
