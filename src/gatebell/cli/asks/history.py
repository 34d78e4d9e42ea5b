"""List settled asks, newest first.

Example: gate history deploy
Example: gate history --outcome rejected --person ada --since 7d
"""

from __future__ import annotations

import os
import sys
from datetime import datetime
from typing import TYPE_CHECKING

from gatebell.app.environment import project
from gatebell.cli.asks.values import parse_count
from gatebell.cli.identity import open_asks
from gatebell.cli.screen import add_colour, columns, make_document, name_question, print_json
from gatebell.domain.asks.history_filters import OUTCOMES, HistoryFilter, parse_filter
from gatebell.domain.text.display import cell, inert_line, storable
from gatebell.terminal.asks import describe_outcome

if TYPE_CHECKING:
    import argparse

    from gatebell.domain.asks.asks import Ask

# A narrower terminal has no room for the name of the person.
_WIDE = 80


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "search", nargs="?", default="", help="only asks with this text in question, note or id"
    )
    add = parser.add_argument
    add("--outcome", choices=OUTCOMES, default="", help="only asks that were settled so")
    add("--agent", default="", metavar="NAME", help="only asks of this asker")
    add("--project", metavar="DIR", help="only asks of the project that contains this folder")
    add("--person", default="", metavar="NAME", help="only asks that this person settled")
    add("--since", default="", metavar="WHEN", help="a day, a time, or so long ago: 7d")
    add("--until", default="", metavar="WHEN", help="the same; a day counts as a whole")
    parser.add_argument(
        "--limit", type=parse_count, default=50, metavar="N", help="list at most N (50)"
    )
    parser.add_argument("--json", action="store_true", help="print a JSON list (docs/json.md)")


def run(args: argparse.Namespace) -> int:
    backend = open_asks()
    where = "" if args.project is None else _find_project(args.project)
    wanted = parse_filter(vars(args) | {"project": where}, backend.now(), datetime.astimezone)
    asks = backend.settled(args.limit + 1, wanted)
    more, asks = len(asks) > args.limit, asks[: args.limit]
    if args.json:
        print_json([make_document(backend, ask) for ask in asks])
    elif not asks:
        print(_describe_nothing(wanted))
    else:
        print("\n".join([*_list_head(), *map(_format_line, asks)]))
        if more:
            print(f"… and more: gate history --limit {args.limit * 4}")
    return 0


def _find_project(given: str) -> str:
    # Asks store the path as text, even if it is not valid UTF-8. A removed folder may have asks.
    return storable(project(os.path.abspath(os.path.expanduser(given))))


def _describe_nothing(wanted: HistoryFilter) -> str:
    if wanted.search and wanted == HistoryFilter(search=wanted.search):
        return f"No settled ask has {inert_line(wanted.search, 100)} in its question, note or id."
    return "No settled ask fits this." if any(wanted) else "No ask is settled yet."


def _list_head() -> list[str]:
    """Return the line above the asks, for a person; programs get only the asks."""
    if not sys.stdout.isatty():
        return []
    head, room = f"{'ID':8} {'SETTLED':11}  ", _measure_room()
    by = "  BY" if columns() >= _WIDE else ""
    return [add_colour(f"{head}{'QUESTION':{room}}  {'ANSWER':{room}}{by}".rstrip(), "bold")]


def _measure_room() -> int:
    """Return the columns of a question, and of its answer."""
    return (columns() - (46 if columns() >= _WIDE else 24)) // 2


def _format_line(ask: Ask) -> str:
    how = describe_outcome(ask)
    when = f"{ask.settled_at.astimezone():%m-%d %H:%M}" if ask.settled_at else ""
    head = f"{add_colour(f'{ask.id:8}', 'cyan')} {when:11}  "
    room = _measure_room()
    if columns() < _WIDE:
        return f"{head}{cell(name_question(ask), room)}  {inert_line(how, room)}".rstrip()
    by = ", ".join(one.partition(":")[2] for one in ask.settled_by.split(", "))
    return (
        f"{head}{cell(name_question(ask), room)}  {cell(how, room)}  "
        f"{add_colour(inert_line(by, 20), 'dim')}".rstrip()
    )
