"""Show how often agents ask, how long they wait, and how much grants settle.

Without --since: the last seven days. Agent hours are hours of the clock, counted once for each
session that asked, waited, used a grant or had a turn in them.

Example: gate stats
Example: gate stats --since 30d --project .
"""

from __future__ import annotations

import os
from datetime import datetime
from typing import TYPE_CHECKING

from gatebell.app.environment import project
from gatebell.cli.identity import open_asks
from gatebell.cli.screen import print_json
from gatebell.domain.asks.document_reader import read_time
from gatebell.domain.asks.history_filters import parse_filter
from gatebell.domain.stats import describe_stats, read_stats_document
from gatebell.domain.text.display import storable

if TYPE_CHECKING:
    import argparse


def configure(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--since", default="", metavar="WHEN", help="a day, a time, or so long ago: 7d")
    add("--until", default="", metavar="WHEN", help="the same; a day counts as a whole")
    add("--project", metavar="DIR", help="only the project that contains this folder")
    add("--json", action="store_true", help="print one JSON object (docs/json.md)")


def run(args: argparse.Namespace) -> int:
    backend = open_asks()
    where = "" if args.project is None else storable(project(os.path.abspath(args.project)))
    given = {"since": args.since, "until": args.until}
    wanted = parse_filter(given, backend.now(), datetime.astimezone)
    found = backend.stats(wanted.since, wanted.until, where)
    if args.json:
        print_json(found | {"project": where})
        return 0
    stats = read_stats_document(found, read_time)
    times = (f"{at.astimezone():%Y-%m-%d %H:%M}" for at in (stats.since, stats.until))
    print(" to ".join(times))
    for name, value in describe_stats(stats):
        print(f"  {name:34} {value}")
    return 0
