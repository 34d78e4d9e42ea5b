"""Show, choose or check the engine that drives the runs of a store (docs/engines.md).

`check` reports what keeps runs from being driven, and what to do; then its exit code is 1. `use`
hands the runs of a PostgreSQL store to another engine: procrastinate, temporal or local. Start the
workers again after that.

Example: gate engine check
Example: gate engine use temporal
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gatebell.app import engines, wiring
from gatebell.cli.screen import print_json
from gatebell.cli.status_line import show_progress
from gatebell.cli.verbs import add_verbs
from gatebell.domain.text.display import inert_line
from gatebell.errors import UsageError

if TYPE_CHECKING:
    import argparse

_VERBS = {
    "check": "look for problems (exit code 1)",
    "use ENGINE": "hand the runs to another engine",
}


def configure(parser: argparse.ArgumentParser) -> None:
    add_verbs(parser, _VERBS)
    parser.add_argument(
        "engine", nargs="?", choices=engines.ENGINES, metavar="ENGINE",
        help="with use: procrastinate, temporal or local",
    )  # fmt: skip
    parser.add_argument("--json", action="store_true", help="print one JSON object (docs/json.md)")


def run(args: argparse.Namespace) -> int:
    if (args.verb == "use") != bool(args.engine):
        raise UsageError("usage: gate engine check, or gate engine use ENGINE")
    store = wiring.open_store()
    if args.verb == "use":
        engines.use_engine(store, args.engine)
    with show_progress("Checking"):
        used, problems = engines.find_engine(store), engines.list_problems(store)
    if args.json:
        print_json({"engine": used, "problems": problems})
    else:
        for problem in problems:
            print(inert_line(problem))
        count = len(problems)
        print(f"the engine is {used}; {count} problem{'s' * (count != 1)}")
    return 1 if problems and args.verb == "check" else 0
