"""Runs in the TUI: the rows of the list, and the lines of one run and its calls."""

from __future__ import annotations

from contextlib import suppress
from textwrap import wrap
from typing import TYPE_CHECKING, NamedTuple

from gatebell.domain.asks.asks import settled_word
from gatebell.domain.asks.owners import run_of
from gatebell.domain.enums import AskKind, CallName, CallState, RunState, SignalStatus
from gatebell.domain.sessions import joined_sessions
from gatebell.domain.text.display import age, inert_line
from gatebell.errors import GateError
from gatebell.terminal import runs as terminal, task_runs
from gatebell.tui.live_screen import paint

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from gatebell.domain.asks.asks import Ask
    from gatebell.domain.runs.runs import FlowCall, Run
    from gatebell.ports.store import Store
    from gatebell.terminal.task_runs import End

STATES = {
    RunState.READY: "○ ready",
    RunState.RUNNING: "● running",
    RunState.WAITING_HUMAN: "⏸ waiting",
    RunState.COMPLETED: "✓ completed",
    RunState.STUCK: "■ stuck",
    RunState.FAILED: "✗ failed",
}
_AT_WORK = {CallState.OPEN: "at work", CallState.HELD: "held by a person"}
_MAX_RUNS = 200
_MAX_ASKS = 100
_MAX_WAITING = 2_000
_MAX_CALLS = 500


class Listed(NamedTuple):
    """A row of the list of runs."""

    run: Run
    about: str
    """The task or the flow."""
    word: str
    colour: str
    waiting_for: str
    """The open questions, or the reason of the end."""


def list_runs(store: Store) -> list[Listed]:
    """Return active runs, then ended runs, newest first."""
    active = store.runs.newest(_MAX_RUNS, active=True)
    ended = [run for run in store.runs.newest(_MAX_RUNS) if run.has_ended]
    shown = [*active, *ended][:_MAX_RUNS]
    return [_build_listed(store, run) for run in shown]


def _build_listed(store: Store, run: Run) -> Listed:
    end = task_runs.end_of(store, run)
    what = (end.description if end else terminal.waiting_for(store, run)) or "-"
    return Listed(run, task_runs.about(store, run), *_describe_state(run, end), what)


def _describe_state(run: Run, end: End | None) -> tuple[str, str]:
    """Return the state of a run as a word and its colour."""
    return (end.word, end.colour) if end else (STATES[run.state], terminal.COLOURS[run.state])


def list_asks(store: Store) -> list[Ask]:
    """Return the pending asks without a run, even if many asks of runs are more urgent."""
    waits = store.asks.pending(_MAX_WAITING)
    return [ask for ask in waits if run_of(ask.origin.owner) is None][:_MAX_ASKS]


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
    lines = [f"Status: {paint('⏸ Waiting for human', 'yellow')}"]
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


def call_lines(store: Store, calls: list[FlowCall], width: int) -> list[str]:
    """Return one line per call, `#1 architect ✓ 2m 15s`; only the newest calls if there are many."""
    shown = [call for call in calls if call.path != "0" or not call.over][-_MAX_CALLS:]
    now, ended = store.now(), terminal.find_ended_waits(store, shown)
    return [call_line(call, ended.get(call.path), now, width) for call in shown]


def call_line(call: FlowCall, ended: Ask | None, now: datetime, width: int) -> str:
    """Return the line of a call; `ended`: the settled ask that no process has continued."""
    what = call.label if call.name == CallName.RUN else f"{call.name} {call.label}".rstrip()
    until = (ended.settled_at if ended else call.ended_at) or now
    seconds = (until - call.started_at).total_seconds()
    shape, colour = terminal.choose_glyph(call)
    mark = paint(shape, colour)
    if call.over:
        status = terminal.describe_report(call) or call.state
        is_plain = status in (SignalStatus.DONE, CallState.RECORDED)
        word = "" if is_plain else f"{inert_line(status, 30)} "
        end = f"{mark} {word}{describe_duration(seconds)}"
    else:
        word = settled_word(ended) if ended else _AT_WORK.get(call.state, str(call.state))
        end = f"{mark} {word} ({age(seconds)})"
    return f"#{call.path} {inert_line(what, max(8, width - 50))} {end}"


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
