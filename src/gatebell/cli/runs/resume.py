"""Continue a run where it stopped: only failed and unanswered calls are tried again.

This process drives it until it ends, as gate run does. With --from, a new run starts at that call
and uses the results recorded before it. Example: gate resume 3 --from 4
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from gatebell.app import project_files, runtime, wiring
from gatebell.cli.identity import add_identity, caller
from gatebell.cli.runs import run_foreground, run_lines
from gatebell.domain.text.display import inert
from gatebell.errors import GateError, RefusedError, UsageError
from gatebell.services.runs import manage_runs
from gatebell.services.runs.claims import Keeper
from gatebell.terminal.runs import folder_is_gone

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
    store = wiring.open_store()
    who = caller(store, args)
    found = manage_runs.get(store, args.id)
    seen = None if found.branch else project_files.read_digests(found.project, found.source)
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


def _fork(
    store: Store,
    run: Run,
    path: str,
    who: Caller,
    seen: Mapping[str, str] | None,
    keeper: Keeper | None,
) -> tuple[Run, Place]:
    try:
        return manage_runs.fork(store, runtime.workspace(store), run.id, path, who, seen, keeper)
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
