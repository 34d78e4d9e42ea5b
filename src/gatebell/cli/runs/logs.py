"""Print the output of a run's agents and the log lines of its flow, in order.

Example: gate logs 3
Example: gate logs 3 -f
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from gatebell.app import runtime, wiring
from gatebell.cli.runs import run_lines
from gatebell.cli.runs.work_line import describe_work
from gatebell.cli.screen import add_colour, columns, print_json
from gatebell.cli.status_line import StatusLine
from gatebell.domain.text.display import frame, inert, inert_line
from gatebell.errors import NotFoundError
from gatebell.services.runs import manage_runs
from gatebell.terminal.local_times import format_stamp
from gatebell.terminal.run_log import LogReader

if TYPE_CHECKING:
    import argparse

    from gatebell.ports.store import Store
    from gatebell.terminal.run_log import Said

_POLL_SECONDS = 0.2


def configure(parser: argparse.ArgumentParser) -> None:
    run_lines.add_run_id(parser)
    add = parser.add_argument
    add("--call", default="", metavar="N", help="only lines of this call and its branches")
    add("-f", "--follow", action="store_true", help="keep printing until the run has ended")
    add("--json", action="store_true", help="print one JSON object per line (docs/json.md)")


def run(args: argparse.Namespace) -> int:
    store = wiring.open_store()
    _name_other_host(store, args.id)
    log_reader = LogReader(store, run_lines.find(store, args.id))
    # Imported here: --help does not need it.
    from gatebell.domain.runs.journals import is_beneath

    bell, line = store.bell(), StatusLine(sys.stdout)
    found, has_output = not args.call, False
    try:
        while True:
            ended = run_lines.find(store, args.id).has_ended
            while some := log_reader.read():
                line.remove()
                for said in some:
                    if not args.call or is_beneath(said.path, args.call):
                        found = has_output = True
                        _print(said, args.json)
            sys.stdout.flush()
            if ended or not args.follow:
                break
            if line.can_redraw and not args.json:
                work = describe_work(store, args.id)
                line.put(work.text, is_busy=work.is_busy)
            # An agent's output does not touch the bell.
            bell.wait(_POLL_SECONDS)
    finally:
        line.remove()
        bell.close()
    if not found and not any(is_beneath(one.path, args.call) for one in store.runs.calls(args.id)):
        raise NotFoundError(
            f"run {args.id} has no call {args.call}; gate show {args.id} --calls lists the calls"
        )
    if not has_output:
        print("Its agents have written nothing yet.", file=sys.stderr)
    return 0


def _name_other_host(store: Store, number: int) -> None:
    """Say where the rest of the output is; RefusedError if this host has nothing of it."""
    found = run_lines.find(store, number)
    if found.host in ("", store.machine.host):
        return
    if not os.path.exists(runtime.run_log_path(store, found)):
        manage_runs.must_be_here(store, found, f"gate logs {number}")
    print(
        f"gate: this is what its agents said here. Run {number} is on host "
        f"{inert_line(found.host, 70)} now: run there: gate logs {number}",
        file=sys.stderr,
    )


def _print(said: Said, as_json: bool) -> None:
    if as_json:
        print_json(said._asdict())
        return
    head = f"{inert_line(format_stamp(said.at), 20)} {inert_line(said.path, 20)} {inert_line(said.who, 40)}"
    if not sys.stdout.isatty():
        print(f"{head}  {inert(said.text)}")
        return
    # Wrapped here, so that no line of the screen begins with an agent's text.
    first, *more = frame(said.text, columns() - len(head) - 2, bar="")
    print(f"{add_colour(head, 'dim')}  {first}")
    for part in more:
        print(f"{'':{len(head)}}  {part}")
