"""Continue a run where it stopped: only failed and unanswered calls are tried again.

This process drives it until it ends, as gate run does. With --from, a new run starts at that call
and uses the results recorded before it. With a server, --detach leaves it to the worker of its host.

Example: gate resume 3
Example: gate resume 3 --from 4
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from gatebell.app import project_files, runtime, settings, wiring
from gatebell.cli.identity import add_identity, caller, open_asks, open_backend
from gatebell.cli.runs import run_foreground, run_lines
from gatebell.cli.screen import print_json
from gatebell.cli.status_line import show_progress
from gatebell.domain.enums import RunState
from gatebell.domain.runs.seen_runs import seen_run_document
from gatebell.domain.text.display import inert
from gatebell.errors import GateError, RefusedError, UsageError
from gatebell.services.runs import manage_runs
from gatebell.services.runs.claims import Keeper
from gatebell.services.runs.placement import must_be_placed
from gatebell.terminal.runs import folder_is_gone
from gatebell.terminal.server_runs import describe_host

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from gatebell.domain.people.principals import Caller
    from gatebell.domain.runs.runs import Run
    from gatebell.ports.store import Store
    from gatebell.ports.workspaces import Place


def configure(parser: argparse.ArgumentParser) -> None:
    run_lines.add_run_id(parser)
    either = parser.add_mutually_exclusive_group()
    either.add_argument(
        "--from", dest="from_call", metavar="N", help="start a new run that goes on from call N"
    )
    either.add_argument(
        "--accept", metavar="N", default="", help="keep the record of call N as it is"
    )
    parser.add_argument(
        "--detach", action="store_true", help="leave it to a worker (gate up, gate worker)"
    )
    add_identity(parser)
    parser.add_argument(
        "--json", action="store_true", help="print the run as JSON when it has ended (docs/json.md)"
    )


def run(args: argparse.Namespace) -> int:
    if settings.server(os.environ) and args.detach and args.from_call is None:
        return _leave_to_worker(args)
    if settings.server_alone(os.environ):
        raise _build_elsewhere_error(args)
    store = wiring.open_store()
    who = caller(store, args)
    found = manage_runs.get(store, args.id)
    has_own_folder = found.branch or found.is_unplaced
    seen = None if has_own_folder else project_files.read_digests(found.project, found.source)
    keeper = None if args.detach else Keeper(store)
    if args.from_call is None:
        _must_have_stopped_at(found, args.accept)
        taken_up = manage_runs.resume(store, args.id, who, args.accept, seen, keeper)
    else:
        taken_up, place = _fork(store, found, args.from_call, who, seen, keeper)
        for remark in place.remarks:
            print(f"gate: {inert(remark)}", file=sys.stderr)
        if not args.json:
            print(f"Run {taken_up.id} goes on from call {args.from_call} of run {args.id}")
            print(run_lines.where_line(taken_up))
            sys.stdout.flush()
    return run_foreground.go_on(store, taken_up, keeper, as_json=args.json, from_now=True)


def _build_elsewhere_error(args: argparse.Namespace) -> UsageError:
    found = open_asks().run(args.id).run
    must_be_placed(found)
    host = describe_host(found)
    return UsageError(
        f"run {args.id} is driven on {host}, which has its folder: run this there, or leave it to "
        f"the worker there: gate resume {args.id} --detach"
    )


def _leave_to_worker(args: argparse.Namespace) -> int:
    """Resume a run of a server, on the host that has its folder."""
    backend, who = open_backend(args)
    taken_up = backend.resume_run(args.id, who, args.accept)
    if args.json:
        print_json(seen_run_document(backend.run(taken_up.id)))
    elif taken_up.state == RunState.WAITING_HUMAN:
        print(f"Run {taken_up.id} waits for a person: gate status {taken_up.id}")
    elif taken_up.state == RunState.RUNNING or backend.has_worker():
        print(
            f"Run {taken_up.id} continues on {describe_host(taken_up)}: gate status {taken_up.id}"
        )
    else:
        print(f"Run {taken_up.id} is ready, and no worker is running. Start one: gate worker")
    return 0


def _fork(
    store: Store,
    run: Run,
    path: str,
    who: Caller,
    seen: Mapping[str, str] | None,
    keeper: Keeper | None,
) -> tuple[Run, Place]:
    try:
        with show_progress("Making the folder of the run"):
            return manage_runs.fork(
                store, runtime.workspace(store), run.id, path, who, seen, keeper
            )
    except GateError as error:
        # A snapshot can replace the folder while git has it.
        if isinstance(error, UsageError | RefusedError) or os.path.isdir(run.root):
            raise
        raise folder_is_gone(run) from None


def _must_have_stopped_at(run: Run, accept: str) -> None:
    """Refuse --accept for a call at which the run did not stop: it would change nothing."""
    if accept and run.has_ended and run.stopped_at and accept not in run.stopped_at.split():
        at = run.stopped_at.split()[0]
        raise UsageError(
            f"run {run.id} stopped at call {at}, not at call {accept}; "
            f"to keep the record of call {at}: gate resume {run.id} --accept {at}"
        )
