"""Runs as people see them in the terminal: the list, one run's state, and how to answer it."""

from __future__ import annotations

import json
import os
import shlex
from typing import TYPE_CHECKING, Any

from humangate import errors, processes
from humangate.cli.screen import coloured, columns
from humangate.domain.display import age, cell, frame, inert_line
from humangate.errors import NotFoundError, RefusedError, UsageError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence
    from datetime import datetime

    from humangate.domain.asks import Ask
    from humangate.domain.runs import FlowCall, Run, Turn
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
_LONGEST_OPTION = 30
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
    ours = _our_words(run.reason) if run.state == "failed" else ""
    if run.reason:
        lines += _named("Reason", ours or run.reason)
    if run.error and not ours:
        last = run.error.rstrip().splitlines()[-_MOST_TRACEBACK_LINES:]
        lines += frame("\n".join(last), columns())
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
    if run.state != "stuck" or run.at_path:
        return False
    ends = [entry.event.kind for entry in store.audit.of_subject(run.name)]
    return [kind for kind in ends if kind in ("run.stuck", "run.stopped")][-1:] == ["run.stuck"]


def _last_asked(store: Store, run: Run) -> str:
    """The call at which a person could decide otherwise; where nobody was asked, the last one."""
    calls = [call for call in store.runs.calls(run.id) if int(call.path.partition(".")[0])]
    asked = [call for call in calls if call.name in ("pause", "ask")] or calls
    return asked[-1].path.partition(".")[0] if asked else ""


def call_lines(calls: Sequence[FlowCall], now: datetime, most: int = 0) -> list[str]:
    """One line a call: path, what it is, how far it is, how long it took; the last ones only."""
    shown = calls[-most:]
    paths = max((len(call.path) for call in shown), default=0)
    names = _wide("", [_name(call) for call in shown], max(20, columns() - paths - 30))
    lines = []
    for call in shown:
        lasted = age(((call.ended_at or now) - call.started_at).total_seconds())
        head = f"{mark(call)}{call.path:{paths}}  {cell(_name(call), names)}"
        lines.append(f"{head}  {cell(_how_far(call), 20)}  {lasted}")
    return lines


def mark(call: FlowCall) -> str:
    if call.state == "failed" or _reported(call) == "ERROR":
        return coloured("✗ ", "red")
    if call.state in ("waiting", "held"):
        return coloured("⏸ ", "yellow")
    return coloured("▸ ", "cyan") if call.state == "open" else coloured("✓ ", "green")


def _name(call: FlowCall) -> str:
    return f"{call.name} {call.label}".rstrip()


def _how_far(call: FlowCall) -> str:
    return _reported(call) or call.state


def _reported(call: FlowCall) -> str:
    """The status that an agent gave at the end of its call."""
    is_signal = call.name == "run" and call.state == "recorded" and isinstance(call.value, dict)
    return str(call.value.get("status")) if is_signal else ""


def folder_is_gone(run: Run) -> RefusedError:
    return RefusedError(
        f"the folder of run {run.id} was removed, as gate clean does once a run is completed and "
        f"nothing is lost ({run.root}): its work is where its branch was merged"
    )


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
    takes = {"approval": "yes|no", "choice": _an_option(ask), "text": "TEXT"}
    return f"gate answer {ask.id} {takes.get(ask.question.kind, '')}".rstrip()


def _an_option(ask: Ask) -> str:
    """How one of the options is written in a shell; a long or strange one by its number."""
    first = next(iter(ask.question.options), "OPTION")
    is_plain = first == inert_line(first, _LONGEST_OPTION)
    return shlex.quote(first) if is_plain else "1"


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
