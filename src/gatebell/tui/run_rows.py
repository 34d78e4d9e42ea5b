"""Runs in the TUI: the rows of the list, and the lines of one run and its calls."""

from __future__ import annotations

from contextlib import suppress
from functools import cache, partial
from textwrap import wrap
from typing import TYPE_CHECKING, NamedTuple

from gatebell.app import project_files
from gatebell.domain.asks.asks import settled_word
from gatebell.domain.enums import AgentCli, AskKind, CallName, CallState, RunState, SignalStatus
from gatebell.domain.runs import own_paths
from gatebell.domain.sessions import joined_sessions
from gatebell.domain.text.display import age, inert_line
from gatebell.errors import GateError
from gatebell.services.runs import manage_runs
from gatebell.terminal import runs as terminal, task_runs
from gatebell.tui.columns import Column, draw_row, draw_titles
from gatebell.tui.glyphs import choose_common
from gatebell.tui.paint import paint
from gatebell.tui.row_list import Row

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from datetime import datetime

    from rich.text import Text

    from gatebell.domain.asks.asks import Ask
    from gatebell.domain.runs.runs import FlowCall, Run
    from gatebell.ports.store import Store
    from gatebell.terminal.task_runs import End

STATES = {
    RunState.READY: "○ ready",
    RunState.RUNNING: "● running",
    RunState.WAITING_HUMAN: "‖ waiting",
    RunState.COMPLETED: "✓ completed",
    RunState.STUCK: "■ stuck",
    RunState.FAILED: "✗ failed",
}
_AT_WORK = {CallState.OPEN: "at work", CallState.HELD: "held by a person"}
_MAX_RUNS = 10_000
_MAX_CALLS = 500
_ID = Column("ID", 4, to_right=True)
_STATUS = Column("STATUS", max(map(len, STATES.values())))
_NARROW = 70
"""With fewer columns, the age of runs is left out."""
_LEAST_WITH_QUESTION = 40
"""With fewer columns, their questions are left out, too."""


class Listed(NamedTuple):
    """A row of the list of runs."""

    run: Run
    about: str
    """The task or the flow."""
    word: str
    colour: str
    waiting_for: str
    """The open questions, or the reason of the end."""


def list_runs(store: Store) -> list[Row]:
    """Return active runs, then ended runs, newest first."""
    active = store.runs.newest(_MAX_RUNS, active=True)
    ended = [run for run in store.runs.newest(_MAX_RUNS) if run.has_ended]
    return build_rows([*active, *ended][:_MAX_RUNS], partial(_build_listed, store), store.now())


def build_rows(runs: Sequence[Run], build: Callable[[Run], Listed], now: datetime) -> list[Row]:
    """Return a row for each run; what it waits for is read while the row is visible."""
    # A run has values that cannot be hashed.
    by_number = {run.id: run for run in runs}
    listed = cache(lambda number: build(by_number[number]))
    return [
        Row(str(run.id), partial(_draw, listed, run.id, now), partial(_list_words, listed, run.id))
        for run in runs
    ]


def _list_words(listed: Callable[[int], Listed], number: int) -> str:
    one = listed(number)
    return "\n".join((str(number), one.about, one.word, one.run.project, one.waiting_for))


def list_columns(width: int) -> list[Column]:
    """Return the columns of runs that fit a width."""
    if width < _LEAST_WITH_QUESTION:
        return [_ID, Column("FLOW", 0), _STATUS]
    is_narrow = width < _NARROW
    flow = Column("FLOW", 12 if is_narrow else max(20, width // 3))
    age_column = [] if is_narrow else [Column("AGE", 4, to_right=True)]
    return [_ID, flow, _STATUS, *age_column, Column("WAITING FOR", 0)]


def draw_head(width: int) -> Text:
    return draw_titles(list_columns(width), width)


def _draw(listed: Callable[[int], Listed], number: int, now: datetime, width: int) -> Text:
    one, columns = listed(number), list_columns(width)
    shown = {
        "ID": (str(number), ""),
        "FLOW": (one.about, ""),
        "STATUS": (one.word, one.colour),
        "AGE": (age((now - one.run.created_at).total_seconds()), "dim"),
        "WAITING FOR": (one.waiting_for, ""),
    }
    return draw_row(columns, shown, width)


def _build_listed(store: Store, run: Run) -> Listed:
    end = task_runs.end_of(store, run)
    reason = terminal.describe_reason(run) if run.has_ended else ""
    what = (end.description if end else terminal.waiting_for(store, run) or reason) or "-"
    return Listed(run, task_runs.about(store, run), *_describe_state(run, end), what)


def _describe_state(run: Run, end: End | None) -> tuple[str, str]:
    """Return the state of a run as a word and its colour."""
    return (end.word, end.colour) if end else (STATES[run.state], terminal.COLOURS[run.state])


class Session(NamedTuple):
    """A session that a person could open."""

    program: str
    """`Claude`; empty for other programs."""
    agent: str


def get_session(store: Store, ask: Ask) -> Session:
    """Return the session of an ask, or raise an error with the reason why there is none."""
    if ask.question.kind == AskKind.SESSION:
        return Session("", ask.origin.agent)
    run = joined_sessions.run_of(ask)
    last = joined_sessions.find_session(ask, store.runs.calls(run), store.runs.turns(run)).last
    if last.cli == AgentCli.COMMAND:
        project = manage_runs.get(store, run).project
        project_files.find_role(project, last.role).get_join()
    return Session(terminal.JOINABLE.get(last.cli, ""), last.role)


def find_session(store: Store, asks: Iterable[Ask]) -> Session | None:
    """Return the first session that can be opened for one of these asks."""
    for ask in asks:
        with suppress(GateError):
            return get_session(store, ask)
    return None


def run_lines(store: Store, run: Run, now: datetime, width: int, *, driven: bool) -> list[str]:
    """Return the lines of a run's state and of its open questions or result."""
    if run.state != RunState.WAITING_HUMAN:
        word, colour = _describe_state(run, task_runs.end_of(store, run))
        state = paint(word.title(), colour)
        lines = terminal.state_lines(store, run, now, width, is_worked_at=driven)
        whole = [part for line in lines for part in wrap(line, width) or [""]]
        return [f"Status: {state}", *whole, *_format_folder(run, width)]
    lines = [f"Status: {paint('‖ Waiting for human', 'yellow')}"]
    lines.append(f"Agent: {inert_line(terminal.agent_of(run), 60)}")
    lines += terminal.label_lines(
        "Reason", terminal.waiting_for(store, run) or run.reason or "-", width
    )
    if run.waiting_since:
        waited = terminal.format_duration((now - run.waiting_since).total_seconds())
        lines.append(f"Waiting: {waited or 'less than a second'}")
    lines += terminal.driver_lines(store, run)
    return [*lines, *_format_folder(run, width)]


def _format_folder(run: Run, width: int) -> list[str]:
    return terminal.label_lines("Folder", run.folder, width) if run.folder else []


def list_calls(store: Store, run: Run, width: int) -> list[tuple[str, str]]:
    """Return the path and the line of each call; only the newest calls if there are many."""
    shown = pick_calls(store.runs.calls(run.id))
    now, ended = store.now(), terminal.find_ended_waits(store, shown)
    return [(call.path, call_line(run, call, ended.get(call.path), now, width)) for call in shown]


def pick_calls(calls: Sequence[FlowCall]) -> list[FlowCall]:
    """Return the calls that a screen lists: not a finished setup, and not too many."""
    return [call for call in calls if call.path != own_paths.SETUP or not call.over][-_MAX_CALLS:]


def call_line(run: Run, call: FlowCall, ended: Ask | None, now: datetime, width: int) -> str:
    """Return the line of a call; `ended`: the settled ask that no process has continued."""
    what = call.label if call.name == CallName.RUN else f"{call.name} {call.label}".rstrip()
    until = (ended.settled_at if ended else call.ended_at) or now
    seconds = (until - call.started_at).total_seconds()
    shape, colour = terminal.choose_glyph(call)
    mark = paint(choose_common(shape), colour)
    if call.over:
        status = terminal.describe_report(call) or call.state
        is_plain = status in (SignalStatus.DONE, CallState.RECORDED)
        word = "" if is_plain else f"{inert_line(status, 30)} "
        end = f"{mark} {word}{describe_duration(seconds)}"
    else:
        word = settled_word(ended) if ended else _describe_open(run, call)
        end = f"{mark} {word} ({age(seconds)})"
    return f"#{call.path} {inert_line(what, max(8, width - 50))} {end}"


def _describe_open(run: Run, call: FlowCall) -> str:
    # Other branches of a run may work while one waits.
    if call.state == CallState.OPEN and run.state not in (
        RunState.RUNNING,
        RunState.WAITING_HUMAN,
    ):
        return "not at work"
    return _AT_WORK.get(call.state, str(call.state))


def describe_duration(seconds: float) -> str:
    """Return `2m 15s`, `3h 5m` or `8s`."""
    seconds = max(0, int(seconds))
    for unit, size, part, smaller in (
        ("d", 86400, "h", 3600),
        ("h", 3600, "m", 60),
        ("m", 60, "s", 1),
    ):
        if seconds >= size:
            rest = seconds % size // smaller
            return f"{seconds // size}{unit}" + (f" {rest}{part}" if rest else "")
    return f"{seconds}s"
