"""Show the calls of a run, or one call with its arguments, turns, signals, asks and answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gatebell.cli.runs.run_lines import (
    call_lines,
    find_run_of_task,
    run_id,
    status_lines,
    where_line,
)
from gatebell.cli.screen import add_colour, columns, print_json
from gatebell.domain.asks.documents import ask_document, call_document, turn_document
from gatebell.domain.asks.owners import owner_of
from gatebell.domain.runs.seen_runs import seen_run_document
from gatebell.errors import NotFoundError
from gatebell.services import members
from gatebell.terminal import call_text
from gatebell.terminal.runs import find_ended_waits, title_lines

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from gatebell.domain.asks.asks import Ask
    from gatebell.domain.runs.seen_runs import SeenRun
    from gatebell.ports.backends.backend import Backend


_MAX_CALLS = 10


def describe_run(backend: Backend, seen: SeenRun) -> tuple[list[str], Mapping[str, Ask]]:
    """Return the lines of a run's state, and by path the settled asks of calls that still wait."""
    lines, ended = _describe_state(backend, seen)
    # Above the next commands, which begin after an empty line.
    end = lines.index("") if "" in lines else len(lines)
    title = [] if seen.title else title_lines(seen.run, backend.now(), columns())
    return [*lines[:end], *title, *lines[end:]], ended


def describe_progress(backend: Backend, seen: SeenRun) -> list[str]:
    """Return the lines of `gate status`: the state of a run, and its last calls."""
    lines, ended = describe_run(backend, seen)
    if seen.calls:
        lines += ["", "Calls", *call_lines(seen.calls, ended, backend.now(), _MAX_CALLS)]
    if len(seen.calls) > _MAX_CALLS:
        lines.append(f"All {len(seen.calls)} calls: gate show {seen.run.id} --calls")
    return lines


def _describe_state(backend: Backend, seen: SeenRun) -> tuple[list[str], Mapping[str, Ask]]:
    run, now = seen.run, backend.now()
    if store := backend.store:
        is_worked_at = members.has_worker(store, run)
        return status_lines(store, run, now, is_worked_at), find_ended_waits(store, seen.calls)
    # Imported here: only a machine without a store needs it.
    from gatebell.terminal import server_runs

    asks = backend.asks_of_run(run.id)
    has_worker = backend.has_worker()
    lines = server_runs.status_lines(seen, asks, now, columns(), add_colour, has_worker)
    return lines, server_runs.find_ended_waits(seen, asks)


def find_named_run(backend: Backend, named: str) -> SeenRun:
    """Return the run with a number, or the last run that worked on a task."""
    is_task = named.strip().lower().startswith("tm-")
    return backend.run(find_run_of_task(backend, named) if is_task else run_id(named))


def show_calls(backend: Backend, args: argparse.Namespace) -> int:
    """Show a run with all its calls."""
    seen = find_named_run(backend, args.id)
    run, calls = seen.run, seen.calls
    if args.json:
        documents = [call_document(call) for call in calls]
        print_json(seen_run_document(seen) | {"calls": documents})
        return 0
    lines, ended = describe_run(backend, seen)
    listed = ["", "Calls", *call_lines(calls, ended, backend.now())] if calls else []
    print("\n".join([*lines, *([where_line(run)] if run.folder else []), *listed]))
    if calls:
        print(f"\nOne call: gate show {run.id} --call {calls[-1].path}")
    return 0


def show_call(backend: Backend, args: argparse.Namespace) -> int:
    seen = find_named_run(backend, args.id)
    run, calls = seen.run, seen.calls
    call = next((one for one in calls if one.path == args.call), None)
    if call is None:
        there = ", ".join(one.path for one in calls) or "none yet"
        raise NotFoundError(f"run {run.id} has no call {args.call}; its calls: {there}")
    turns = [turn for turn in seen.turns if turn.path == call.path]
    owner = owner_of(run.id, call.path)
    asks = [ask for ask in backend.asks_of_run(run.id) if ask.origin.owner == owner]
    if args.json:
        print_json(
            call_document(call)
            | {
                "turns": [turn_document(turn) for turn in turns],
                "asks": [ask_document(ask) for ask in asks],
            }
        )
        return 0
    shown = call_text.ShownCall(backend, call, turns, asks)
    print("\n".join(call_text.list_call_lines(shown, columns(), add_colour, whole=args.all)))
    return 0
