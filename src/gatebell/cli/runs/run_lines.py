"""Runs as lines of the command line: the list, the state of a run, its calls."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from gatebell.cli.screen import add_colour, columns
from gatebell.domain.asks.asks import settled_word
from gatebell.domain.asks.owners import parse_run_number
from gatebell.domain.enums import RunState, TaskState
from gatebell.domain.text.display import age, cell, inert_line
from gatebell.errors import NotFoundError, UsageError
from gatebell.terminal import task_runs
from gatebell.terminal.runs import (
    COLOURS,
    JOINABLE,
    agent_of,
    choose_glyph,
    describe_reason,
    describe_report,
    driver_lines,
    find_turn,
    format_ago,
    join_prompts,
    label_lines,
    pending_asks,
    state_lines,
    tell_how_to_answer,
    waiting_for,
)

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from gatebell.domain.asks.asks import Ask
    from gatebell.domain.runs.runs import FlowCall, Run, Turn
    from gatebell.domain.runs.seen_runs import SeenRun
    from gatebell.ports.backends.backend import Backend
    from gatebell.ports.store import Store

_EXIT_CODES: dict[RunState | TaskState, int] = {
    RunState.COMPLETED: 0,
    TaskState.CLOSED: 0,
    RunState.FAILED: 12,
    RunState.STUCK: 13,
    TaskState.BLOCKED: 13,
    TaskState.DEFERRED: 13,
}
INTERRUPTED = 130
_WIDE = 80
_STATE_COLUMNS = max(map(len, COLOURS))
_AGE_COLUMNS = 4


def add_run_id(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", type=run_or_task, help="the number of the run, or its task: tm-…")


def run_or_task(text: str) -> int:
    """Parse the number of a run for argparse; a task means the last run that worked on it."""
    if not text.strip().lower().startswith("tm-"):
        return run_id(text)
    # Imported here: most commands name a run by its number.
    from gatebell.cli.identity import open_asks

    backend = open_asks()
    try:
        return find_run_of_task(backend, text)
    finally:
        if backend.store:
            backend.store.close()


def find_run_of_task(backend: Backend, named: str) -> int:
    """Return the last run that worked on a task."""
    task_id = backend.task(named).id
    if not (runs := backend.look_up_task(task_id).runs):
        raise NotFoundError(f"no run has worked on {task_id} yet; see: gate task show {task_id}")
    return runs[-1].id


def run_id(text: str) -> int:
    """Parse the number of a run for argparse."""
    number = parse_run_number(text)
    if number is None:
        raise UsageError(f"expected the number of a run, got {text!r}; gate list shows the numbers")
    return number


def find(store: Store, number: int) -> Run:
    """Return a run like `manage_runs.get`, without importing that service."""
    run = store.runs.get(number)
    if run is None:
        raise NotFoundError(f"there is no run {number}; gate list shows the runs")
    return run


def exit_code(store: Store, run: Run) -> int:
    """Return the exit code of an ended run; the state of its task counts, if it has one."""
    end = task_runs.end_of(store, run)
    return _EXIT_CODES[end.state if end else run.state]


def list_lines(runs: list[SeenRun], now: datetime) -> list[str]:
    """Return one line per run: ID, FLOW, STATUS, AGENT, AGE, WAITING FOR.

    A narrow terminal has no room for the agent.
    """
    is_wide = columns() >= _WIDE
    numbers = max([2, *(len(str(seen.run.id)) for seen in runs)])
    flows = _measure_width("FLOW", [seen.name for seen in runs], columns() // (3 if is_wide else 4))
    agents = _measure_width("AGENT", [agent_of(seen.run) for seen in runs], 14) if is_wide else 0
    used = numbers + flows + _STATE_COLUMNS + agents + _AGE_COLUMNS + (10 if is_wide else 8)
    room = max(3, columns() - used)

    def line(number: str, flow: str, state: str, agent: str, started: str, what: str) -> str:
        by = f"  {cell(agent, agents)}" if is_wide else ""
        head = f"{number:>{numbers}}  {cell(flow, flows)}  {state}{by}"
        return f"{head}  {started:>{_AGE_COLUMNS}}  {inert_line(what, room)}".rstrip()

    head = line("ID", "FLOW", f"{'STATUS':{_STATE_COLUMNS}}", "AGENT", "AGE", "WAITING FOR")
    lines = [add_colour(head, "bold")]
    for seen in runs:
        run, end = seen.run, task_runs.shown_end(seen.end)
        word, colour = (end.word, end.colour) if end else (run.state, COLOURS[run.state])
        reason = describe_reason(run) if run.has_ended else ""
        what = (end.description if end else join_prompts(seen) or reason) or "-"
        state = add_colour(f"{word:{_STATE_COLUMNS}}", colour)
        started = age((now - run.created_at).total_seconds())
        lines.append(line(str(run.id), seen.name, state, agent_of(run), started, what))
    return lines


def _measure_width(head: str, texts: list[str], most: int) -> int:
    """Return the width of a column; letters may take two columns each."""
    return min(
        most, max([len(head), *(len(text) * (1 if text.isascii() else 2) for text in texts)])
    )


def status_lines(store: Store, run: Run, now: datetime, is_worked_at: bool) -> list[str]:
    """Return the lines of a run's state and of the next command."""
    end, task = task_runs.end_of(store, run), task_runs.task_of(store, run)
    word, colour = (end.word, end.colour) if end else (run.state, COLOURS[run.state])
    lines = [add_colour(f"Run {run.id}: {word}", colour)]
    state = "" if end or not task or task.run != run.id else f" [{task.state}]"
    lines += label_lines("Task", f"{task.id}: {task.title}{state}", columns()) if task else []
    if run.state == RunState.WAITING_HUMAN:
        return lines + _format_waiting(store, run, now)
    return lines + state_lines(store, run, now, columns(), is_worked_at=is_worked_at)


def call_lines(
    calls: Sequence[FlowCall], ended: Mapping[str, Ask], now: datetime, most: int = 0
) -> list[str]:
    """Return one line per call: path, name, state, duration.

    Args:
        calls: the calls of a run
        ended: by path, the settled asks of calls that no process has continued
        now: the current time
        most: only the last ones
    """
    shown = calls[-most:]
    paths = max((len(call.path) for call in shown), default=0)
    names = _measure_width(
        "", [_format_name(call) for call in shown], max(20, columns() - paths - 30)
    )
    lines = []
    for call in shown:
        ask = ended.get(call.path)
        until = (ask.settled_at if ask else call.ended_at) or now
        lasted = age((until - call.started_at).total_seconds())
        progress = settled_word(ask) if ask else describe_report(call) or call.state
        head = f"{mark(call)}{call.path:{paths}}  {cell(_format_name(call), names)}"
        lines.append(f"{head}  {cell(progress, 20)}  {lasted}")
    return lines


def mark(call: FlowCall) -> str:
    shape, colour = choose_glyph(call)
    return add_colour(f"{shape} ", colour)


def _format_name(call: FlowCall) -> str:
    return f"{call.name} {call.label}".rstrip()


def _format_waiting(store: Store, run: Run, now: datetime) -> list[str]:
    asks = pending_asks(store, run)
    turn = find_turn(store, run, asks)
    lines = [f"Agent: {inert_line(agent_of(run), 60)}"]
    if turn and agent_of(run) != "-":
        lines.append(f"Session: {inert_line(turn.session, 60) or '-'}")
    lines += label_lines("Reason", waiting_for(store, run) or run.reason or "-", columns())
    if run.waiting_since:
        lines.append(f"Waiting since: {format_ago((now - run.waiting_since).total_seconds())}")
    lines += driver_lines(store, run)
    return [*lines, "", *_suggest_commands(run, asks, turn)]


def _suggest_commands(run: Run, asks: list[Ask], turn: Turn | None) -> list[str]:
    lines = []
    if turn and agent_of(run) != "-" and turn.cli in JOINABLE:
        lines.append(f"Use 'gate continue {run.id}' to open the {JOINABLE[turn.cli]} session.")
    return [*lines, *map(tell_how_to_answer, asks)]


def can_join(ask: Ask) -> bool:
    """Return whether a person can work on it with the agent in its own session."""
    return not ask.question.call and ask.origin.session.partition("/")[0] in JOINABLE


def ended_line(run: Run) -> str:
    """Return one line about how a run ended."""
    words = describe_reason(run) if run.state in (RunState.STUCK, RunState.FAILED) else ""
    reason = f": {inert_line(words, max(20, columns() - 24))}" if words else ""
    return add_colour(f"Run {run.id}: {run.state}", COLOURS[run.state]) + reason


def where_line(run: Run) -> str:
    branch = f" (branch {inert_line(run.branch, 60)})" if run.branch else ""
    return f"Folder: {inert_line(run.folder)}{branch}"


def build_document(store: Store, run: Run) -> dict[str, Any]:
    """Return a run and the asks that it waits for, as JSON."""
    # Imported here: only --json needs them.
    from gatebell.domain.runs.seen_runs import seen_run_document
    from gatebell.services.runs.see_runs import see_run

    return seen_run_document(see_run(store, run))


def find_project(folder: str) -> str:
    """Return the project that contains a folder."""
    from gatebell.app.environment import project

    path = os.path.abspath(os.path.expanduser(folder))
    if not os.path.isdir(path):
        raise UsageError(f"{path} is not a folder; name one that exists")
    return project(path)
