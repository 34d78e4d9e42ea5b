"""Windows that ask you on the desktop: which programs can show them here, and a test (docs/dialogs.md).

`gate dialog` lists them, `gate dialog test` shows a sample question and prints what came back.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from gatebell.app import settings, wiring
from gatebell.cli.screen import add_colour, print_json, short
from gatebell.domain.enums import AskKind
from gatebell.errors import NotFoundError, UsageError
from gatebell.ports.dialogs import VALUE, Showing

if TYPE_CHECKING:
    import argparse

    from gatebell.ports.dialogs import Found, Reply

_SAMPLES = {
    "yesno": Showing(AskKind.CHOICE, "Shall the sample be answered with yes or no?", ("yes", "no")),
    "select": Showing(
        AskKind.CHOICE,
        "Which database does the sample use?",
        ("PostgreSQL, with a server of its own", "SQLite", "MariaDB", "None: files are enough"),
    ),
    "text": Showing(AskKind.TEXT, "What shall the sample be called?"),
    "approval": Showing(
        AskKind.APPROVAL, "May the sample go out? This is a test: nothing goes out."
    ),
}


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "verb", nargs="?", default="list", choices=("list", "test"), help="list | test"
    )
    parser.add_argument("--list", action="store_true", help="with test: only list the programs")
    parser.add_argument("--tool", metavar="T", default="", help="with test: show it by this one")
    parser.add_argument(
        "--kind",
        choices=tuple(_SAMPLES),
        default="yesno",
        help="with test: what the sample asks for (yesno)",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object (docs/json.md)")


def run(args: argparse.Namespace) -> int:
    if args.tool and args.tool not in settings.DIALOGS[1:-1]:
        raise UsageError(f"--tool is one of {', '.join(settings.DIALOGS[1:-1])}")
    if args.verb == "list" and args.tool:
        raise UsageError("only a test takes a tool: gate dialog test --tool T")
    if args.verb == "list" or args.list:
        return _list(args.json)
    return _test(args.tool, args.kind, args.json)


def _list(as_json: bool) -> int:
    named, tools = settings.dialog(os.environ), wiring.dialog_tools()
    chosen = _chosen(named, tools)
    if as_json:
        listed = [{"tool": tool, "works": not why, "problem": why} for tool, why in tools]
        print_json({"setting": named, "chosen": chosen, "tools": listed})
        return 0
    _print_tools(tools, chosen)
    if named == "off":
        print("\nThe setting dialog is off: no windows are shown.")
    elif not chosen:
        print("\nNone works here: questions are asked in the terminal, and wait in gate inbox.")
    return 0


def _chosen(named: str, tools: list[Found]) -> str:
    if named == "off":
        return ""
    if named != "auto":
        return named
    return next((found.tool for found in tools if not found.problem), "")


def _print_tools(tools: list[Found], chosen: str) -> None:
    for tool, problem in tools:
        mark = add_colour("works", "green") if not problem else add_colour("no   ", "yellow")
        used = "  (used)" if tool == chosen else ""
        print(f"{tool:10} {mark}{used}{'  ' + short(problem) if problem else ''}")


def _test(tool: str, kind: str, as_json: bool) -> int:
    tools = wiring.dialog_tools()
    chosen = tool or _chosen(settings.dialog(os.environ), tools)
    if not as_json:
        _print_tools(tools, chosen)
    if not chosen:
        raise NotFoundError("no dialog can be shown here: gate dialog says why")
    dialog = wiring.dialog(chosen)
    assert dialog is not None
    print(f"\nA sample question is on your screen, by {chosen} …", file=sys.stderr, flush=True)
    reply = dialog.ask(_sample(kind))
    if as_json:
        print_json({"tool": chosen, **reply._asdict()})
    else:
        print(_describe_reply(reply))
    return 0 if reply.outcome == VALUE else 1


def _sample(kind: str) -> Showing:
    return _SAMPLES[kind]._replace(
        agent="gate dialog test",
        project=os.getcwd(),
        context="This is a test: whatever you do here changes nothing.",
        position="1/1",
    )


def _describe_reply(reply: Reply) -> str:
    if reply.outcome == VALUE:
        return f"Answered: {short(reply.value)}"
    kept = f"; typed and kept as a draft: {short(reply.typed)}" if reply.typed else ""
    why = f" ({short(reply.why)})" if reply.why else ""
    return f"No answer: {reply.outcome.replace('_', ' ')}{why}{kept}"
