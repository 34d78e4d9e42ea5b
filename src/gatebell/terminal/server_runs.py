"""Runs that a server keeps, as lines of a terminal: their folders and sessions are elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gatebell.domain.asks.asks import settled_sentence
from gatebell.domain.enums import AskStatus, CallState, RunState, TaskState
from gatebell.domain.text.display import frame, inert_line
from gatebell.terminal import runs as terminal, task_runs
from gatebell.terminal.local_times import format_local, localise

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from gatebell.domain.asks.asks import Ask
    from gatebell.domain.runs.runs import Run
    from gatebell.domain.runs.seen_runs import SeenRun

    Paint = Callable[[str, str], str]


def status_lines(
    seen: SeenRun, asks: Sequence[Ask], now: datetime, width: int, paint: Paint, has_worker: bool
) -> list[str]:
    """Return the lines of a run's state and of the next command.

    Args:
        seen: the run
        asks: all its asks
        now: the current time
        width: columns of the terminal
        paint: adds colours
        has_worker: whether a worker lives
    """
    run, end = seen.run, task_runs.shown_end(seen.end)
    word, colour = (end.word, end.colour) if end else (run.state, terminal.COLOURS[run.state])
    lines = [paint(f"Run {run.id}: {word}", colour)]
    lines += terminal.label_lines("Task", seen.name, width) if seen.title else []
    if end and (run.state == RunState.COMPLETED or end.state != TaskState.FAILED):
        return lines + terminal.task_end_lines(run, end, width)
    if not run.has_ended:
        lines.append(f"Agent: {inert_line(terminal.agent_of(run), 60)}")
    lines += reason_lines(seen, width)
    if run.state == RunState.READY:
        ended = find_ended_waits(seen, asks).values()
        expired = [ask for ask in ended if ask.status == AskStatus.TIMED_OUT]
        lines += [localise(settled_sentence(ask)) for ask in expired]
    if run.state == RunState.WAITING_HUMAN and run.waiting_since:
        ago = terminal.format_ago((now - run.waiting_since).total_seconds())
        lines.append(f"Waiting since: {ago}")
    if run.ready_at and run.ready_at > now:
        lines.append(f"Sleeps until: {format_local(run.ready_at)}")
    if run.error:
        lines += frame("\n".join(run.error.rstrip().splitlines()[-terminal.MAX_TRACEBACK :]), width)
    lines.append(_describe_folder(run))
    return lines + _suggest_next(run, [ask for ask in asks if ask.pending], has_worker)


def reason_lines(seen: SeenRun, width: int) -> list[str]:
    """Return the lines of the questions that a run waits for, or of its end."""
    run = seen.run
    # A running one also waits for the answers of hosts.
    name = "Waiting for" if run.state == RunState.RUNNING else "Reason"
    result = terminal.format_result(run) if run.state == RunState.COMPLETED else ""
    facts = (name, find_reason(seen)), ("Result", result)
    return [
        part for name, text in facts if text for part in terminal.label_lines(name, text, width)
    ]


def find_reason(seen: SeenRun) -> str:
    """Return the questions that a run waits for, or the reason of its end."""
    # A run that is ready still has the reason of its last wait.
    is_over = seen.run.state in (RunState.READY, RunState.RUNNING)
    return terminal.join_prompts(seen) or ("" if is_over else terminal.describe_reason(seen.run))


def _describe_folder(run: Run) -> str:
    if not run.is_unplaced:
        return f"Its folder and sessions are on {describe_host(run)}."
    if run.has_ended:
        return "It never got a folder."
    key = inert_line(run.project_key)
    return f"It has no folder yet: 'gate worker' in a checkout of {key} makes it."


def _suggest_next(run: Run, asks: Sequence[Ask], has_worker: bool) -> list[str]:
    if asks:
        return ["", *map(terminal.tell_how_to_answer, asks)]
    if run.state in (RunState.STUCK, RunState.FAILED) and run.folder:
        if f"gate resume {run.id}" in run.reason:
            return []
        return ["", f"Use 'gate resume {run.id} --detach' to let the worker of its host go on."]
    if run.state == RunState.READY and not has_worker and not run.is_unplaced:
        return ["", "No worker is running. Start one there: gate worker"]
    return []


def find_ended_waits(seen: SeenRun, asks: Sequence[Ask]) -> dict[str, Ask]:
    """Return, by the path of the call, the settled asks of calls that no process has continued."""
    settled = {ask.id: ask for ask in asks if not ask.pending}
    waiting = (call for call in seen.calls if call.state == CallState.WAITING)
    return {call.path: settled[call.ask_id] for call in waiting if call.ask_id in settled}


def describe_host(run: Run) -> str:
    return f"host {inert_line(run.host, 60)}" if run.host else "the machine of the store"
