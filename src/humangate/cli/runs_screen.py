"""Runs as people see them in the terminal: the list, one run's state, and how to answer it."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from humangate import processes
from humangate.cli.screen import coloured, columns
from humangate.domain.display import cell, frame, inert_line
from humangate.errors import NotFoundError, UsageError

if TYPE_CHECKING:
    import argparse
    from datetime import datetime

    from humangate.domain.asks import Ask
    from humangate.domain.runs import Run, Turn
    from humangate.doors.store import Store

COLOURS = {
    "waiting_human": "yellow",
    "completed": "green",
    "stuck": "yellow",
    "failed": "red",
    "running": "cyan",
    "ready": "cyan",
}
EXIT_CODES = {"completed": 0, "failed": 12, "stuck": 13}
INTERRUPTED = 130
_STATE_COLUMNS = max(map(len, COLOURS))
_MOST_TRACEBACK_LINES = 12
_MOST_DIGITS = 18
# Agent programs whose sessions a person can always open.
_JOINABLE = {"claude": "Claude", "codex": "Codex"}


def add_run_id(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", type=run_id, help="the number of the run")


def run_id(text: str) -> int:
    """For argparse: the number of a run."""
    if text.isascii() and text.isdecimal() and len(text) <= _MOST_DIGITS:
        return int(text)
    raise UsageError(f"{text!r} is no run: runs have numbers, and gate list shows them")


def find(store: Store, number: int) -> Run:
    """As service.running.get does, without loading all that can be done to runs."""
    run = store.runs.get(number)
    if run is None:
        raise NotFoundError(f"there is no run {number}: gate list shows them")
    return run


def pending_asks(store: Store, run: Run) -> list[Ask]:
    """What a run waits for. A running one may, too: for permission, or in one of its branches."""
    return [] if run.ended else store.asks.pending_of_run(run.id)


def agent_of(run: Run) -> str:
    return run.agent if run.state in ("running", "waiting_human") and run.agent else "-"


def waiting_for(store: Store, run: Run) -> str:
    """What a run waits for, in the words that people are asked with."""
    return "; ".join(ask.question.prompt for ask in pending_asks(store, run))


def list_lines(store: Store, runs: list[Run]) -> list[str]:
    """One line a run: ID, FLOW, STATUS, AGENT, WAITING FOR."""
    numbers = max([2, *(len(str(run.id)) for run in runs)])
    flows = _wide("FLOW", [run.flow for run in runs], 20)
    agents = _wide("AGENT", [agent_of(run) for run in runs], 14)
    room = max(8, columns() - numbers - flows - _STATE_COLUMNS - agents - 8)

    def line(number: str, flow: str, state: str, agent: str, what: str) -> str:
        head = f"{number:>{numbers}}  {cell(flow, flows)}  {state}  {cell(agent, agents)}"
        return f"{head}  {inert_line(what, room)}".rstrip()

    head = line("ID", "FLOW", f"{'STATUS':{_STATE_COLUMNS}}", "AGENT", "WAITING FOR")
    lines = [coloured(head, "bold")]
    for run in runs:
        state = coloured(f"{run.state:{_STATE_COLUMNS}}", COLOURS[run.state])
        what = waiting_for(store, run) or "-"
        lines.append(line(str(run.id), run.flow, state, agent_of(run), what))
    return lines


def _wide(head: str, texts: list[str], most: int) -> int:
    """As wide as the widest, within bounds; letters may take two columns each."""
    return min(
        most, max([len(head), *(len(text) * (1 if text.isascii() else 2) for text in texts)])
    )


def status_lines(store: Store, run: Run, now: datetime, is_worked_at: bool) -> list[str]:
    """One run as it is now, and what to do about it."""
    lines = [coloured(f"Run {run.id}: {run.state}", COLOURS[run.state])]
    if run.state == "waiting_human":
        return lines + _waiting(store, run, now)
    if run.state == "running":
        return lines + _running(store, run, now, is_worked_at)
    if run.state == "ready":
        return lines + _ready(run, now, is_worked_at)
    if run.state == "completed":
        return lines + _result(run)
    if run.reason:
        lines += _named("Reason", run.reason)
    if run.error:
        last = run.error.rstrip().splitlines()[-_MOST_TRACEBACK_LINES:]
        lines += frame("\n".join(last), columns())
    return [*lines, "", f"Use 'gate resume {run.id}' to take it up where it stopped."]


def _named(name: str, text: str) -> list[str]:
    """Untrusted text behind a name of ours; its further lines cannot pass for ours."""
    first, *more = frame(text, columns() - len(name) - 2, bar="")
    return [f"{name}: {first}", *(f"{'':{len(name)}}  {line}" for line in more)]


def _waiting(store: Store, run: Run, now: datetime) -> list[str]:
    asks = pending_asks(store, run)
    turn = turn_of(store, run, asks)
    lines = [f"Agent: {inert_line(agent_of(run), 60)}"]
    if turn and agent_of(run) != "-":
        lines.append(f"Session: {inert_line(turn.session, 60) or '-'}")
    lines += _named("Reason", waiting_for(store, run) or run.reason or "-")
    if run.waiting_since:
        lines.append(f"Waiting since: {ago((now - run.waiting_since).total_seconds())}")
    return [*lines, "", *_how_to_go_on(run, asks, turn)]


def _how_to_go_on(run: Run, asks: list[Ask], turn: Turn | None) -> list[str]:
    lines = []
    if turn and agent_of(run) != "-" and turn.cli in _JOINABLE:
        lines.append(f"Use 'gate continue {run.id}' to open the {_JOINABLE[turn.cli]} session.")
    return lines + [f"Use '{how_to_answer(ask)}' to answer it." for ask in asks]


def _running(store: Store, run: Run, now: datetime, is_worked_at: bool) -> list[str]:
    if not is_worked_at and not processes.lives(processes.parse(run.owner)):
        gone = f"Use 'gate resume {run.id}' to take it up where it stopped."
        return ["Whoever drove it is gone.", "", gone]
    lines = [f"Agent: {inert_line(agent_of(run), 60)}"]
    working = [turn for turn in store.runs.turns(run.id) if not turn.ended_at]
    for turn in working:
        since = ago((now - turn.started_at).total_seconds())
        lines.append(f"Session: {inert_line(turn.session, 60) or '-'}")
        lines.append(f"Working since: {since} (call {turn.path})")
    asks = pending_asks(store, run)
    if asks:
        lines += _named("Waiting for", waiting_for(store, run))
        lines += ["", *(f"Use '{how_to_answer(ask)}' to answer it." for ask in asks)]
    return lines


def _ready(run: Run, now: datetime, is_worked_at: bool) -> list[str]:
    if run.ready_at and run.ready_at > now:
        lines = [f"Sleeps until: {run.ready_at:%Y-%m-%d %H:%M:%S} UTC"]
    else:
        lines = ["It can go on at once."]
    return lines if is_worked_at else [*lines, "", nobody_works(run.id)]


def nobody_works(number: int) -> str:
    return (
        f"Nobody drives runs now. Use 'gate resume {number}' to drive it here, or 'gate up' or "
        "'gate worker' to drive all that are ready."
    )


def _result(run: Run) -> list[str]:
    if run.result is None:
        return ["Result: -"]
    text = run.result if isinstance(run.result, str) else json.dumps(run.result, ensure_ascii=False)
    return _named("Result", text)


def turn_of(store: Store, run: Run, asks: list[Ask]) -> Turn | None:
    """The turn in which an agent said what the run waits for."""
    paths = {ask.origin.owner.partition("/")[2] for ask in asks} or set(run.at_path.split())
    found = [turn for turn in store.runs.turns(run.id) if turn.path in paths and not turn.by]
    return found[-1] if found else None


def how_to_answer(ask: Ask) -> str:
    """The command that answers an ask, with a hint of what it takes."""
    takes = {"approval": "yes|no", "choice": "OPTION", "text": "TEXT"}.get(ask.question.kind, "")
    return f"gate answer {ask.id} {takes}".rstrip()


def can_join(ask: Ask) -> bool:
    """Whether it can be worked out with the agent in its own session."""
    return not ask.question.call and ask.origin.session.partition("/")[0] in _JOINABLE


def ago(seconds: float) -> str:
    """`10 minutes ago`."""
    seconds = max(0, int(seconds))
    for unit, size in (("day", 86400), ("hour", 3600), ("minute", 60), ("second", 1)):
        if seconds >= size:
            number = seconds // size
            return f"{number} {unit}{'s' if number > 1 else ''} ago"
    return "just now"


def ended_line(run: Run) -> str:
    """How a run ended, on one line."""
    words = {"completed": "", "stuck": run.reason, "failed": run.reason}.get(run.state, "")
    told = f": {inert_line(words, max(20, columns() - 24))}" if words else ""
    return coloured(f"Run {run.id}: {run.state}", COLOURS[run.state]) + told


def where_line(run: Run) -> str:
    branch = f" (branch {inert_line(run.branch, 60)})" if run.branch else ""
    return f"Folder: {inert_line(run.folder)}{branch}"


def document(store: Store, run: Run) -> dict[str, Any]:
    """A run with what it waits for, as JSON."""
    # Imported here: people read lines.
    from humangate.domain.documents import run_document

    return run_document(run) | {"waiting_for": [ask.id for ask in pending_asks(store, run)]}


def project_of(folder: str) -> str:
    """The project that a folder lies in."""
    from humangate.surroundings import project

    path = os.path.abspath(os.path.expanduser(folder))
    if not os.path.isdir(path):
        raise UsageError(f"there is no folder {path}")
    return project(path)
