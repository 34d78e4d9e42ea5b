"""List settled asks, newest first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gatebell.app import wiring
from gatebell.cli.asks.values import parse_count
from gatebell.cli.screen import add_colour, columns, make_document, print_json
from gatebell.domain.asks.asks import settled_word
from gatebell.domain.asks.outcomes import answer_text
from gatebell.domain.enums import AskStatus
from gatebell.domain.text.display import cell, inert_line

if TYPE_CHECKING:
    import argparse

    from gatebell.domain.asks.asks import Ask


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "search", nargs="?", default="", help="only asks with this text in question, note or id"
    )
    parser.add_argument(
        "--limit", type=parse_count, default=50, metavar="N", help="list at most N (50)"
    )
    parser.add_argument("--json", action="store_true", help="print a JSON list (docs/json.md)")


def run(args: argparse.Namespace) -> int:
    backend = wiring.open_backend()
    asks = backend.settled(args.limit + 1, args.search)
    more, asks = len(asks) > args.limit, asks[: args.limit]
    if args.json:
        print_json([make_document(backend, ask) for ask in asks])
    elif not asks:
        print(
            f"No settled ask contains {inert_line(args.search, 100)}."
            if args.search
            else "No ask is settled yet."
        )
    else:
        print("\n".join(map(_format_line, asks)))
        if more:
            print(f"… and more: gate history --limit {args.limit * 4}")
    return 0


def _format_line(ask: Ask) -> str:
    how = ask.decision or ("" if ask.status == AskStatus.ANSWERED else settled_word(ask))
    if ask.value is not None:
        how = f"{how} {answer_text(ask, ask.value)}".strip()
    when = f"{ask.settled_at:%m-%d %H:%M}" if ask.settled_at else ""
    by = ", ".join(one.partition(":")[2] for one in ask.settled_by.split(", "))
    room = max(20, (columns() - 50) // 2)
    return (
        f"{add_colour(f'{ask.id:8}', 'cyan')} {when:11}  {cell(ask.question.prompt, room)}  "
        f"{cell(how, room)}  {add_colour(inert_line(by, 20), 'dim')}".rstrip()
    )
