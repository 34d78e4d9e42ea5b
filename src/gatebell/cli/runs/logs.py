"""Print the output of a run's agents and the log lines of its flow, in order."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from gatebell.app import wiring
from gatebell.cli.runs import run_lines
from gatebell.cli.runs.run_view import LogReader
from gatebell.cli.screen import add_colour, columns, print_json
from gatebell.domain.text.display import frame, inert, inert_line
from gatebell.errors import NotFoundError

if TYPE_CHECKING:
    import argparse

    from gatebell.cli.runs.run_view import Said

_POLL_SECONDS = 0.2


def configure(parser: argparse.ArgumentParser) -> None:
    run_lines.add_run_id(parser)
    add = parser.add_argument
    add("--call", default="", metavar="N", help="only lines of this call and its branches")
    add("--follow", action="store_true", help="keep printing until the run has ended")
    add("--json", action="store_true", help="print one JSON object per line (docs/json.md)")


def run(args: argparse.Namespace) -> int:
    store = wiring.open_store()
    run_lines.find(store, args.id)
    log_reader = LogReader(store, args.id)
    # Imported here: --help does not need it.
    from gatebell.domain.runs.journals import is_beneath

    bell = store.bell()
    found = not args.call
    try:
        while True:
            ended = run_lines.find(store, args.id).has_ended
            while some := log_reader.read():
                for said in some:
                    if not args.call or is_beneath(said.path, args.call):
                        found = True
                        _print(said, args.json)
            sys.stdout.flush()
            if ended or not args.follow:
                break
            # An agent's output does not touch the bell.
            bell.wait(_POLL_SECONDS)
    finally:
        bell.close()
    if not found and not any(is_beneath(one.path, args.call) for one in store.runs.calls(args.id)):
        raise NotFoundError(
            f"run {args.id} has no call {args.call}; gate show {args.id} --calls lists the calls"
        )
    return 0


def _print(said: Said, as_json: bool) -> None:
    if as_json:
        print_json(said._asdict())
        return
    head = f"{inert_line(said.at, 20)} {inert_line(said.path, 20)} {inert_line(said.who, 40)}"
    if not sys.stdout.isatty():
        print(f"{head}  {inert(said.text)}")
        return
    # Wrapped here, so that no line of the screen begins with an agent's text.
    first, *more = frame(said.text, columns() - len(head) - 2, bar="")
    print(f"{add_colour(head, 'dim')}  {first}")
    for part in more:
        print(f"{'':{len(head)}}  {part}")
