"""List the programs that can show a question in a window here, or test one (docs/dialogs.md).

Example: gate dialog
Example: gate dialog test
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from gatebell.app import settings, wiring
from gatebell.cli.screen import add_colour, print_json, short
from gatebell.cli.verbs import add_verbs
from gatebell.domain.enums import AskKind
from gatebell.errors import NotFoundError, UsageError
from gatebell.ports.dialogs import VALUE, Showing

if TYPE_CHECKING:
    import argparse

    from gatebell.ports.dialogs import Found, Reply

_SAMPLES = {
    "yesno": Showing(AskKind.CHOICE, "Is this sample question readable?", ("yes", "no")),
    "select": Showing(
        AskKind.CHOICE,
        "Which database does the sample use?",
        ("PostgreSQL, with a server of its own", "SQLite", "MariaDB", "None: files are enough"),
    ),
    "text": Showing(AskKind.TEXT, "Which name should the sample have?"),
    "approval": Showing(
        AskKind.APPROVAL, "Publish the sample? This is a test: nothing is published."
    ),
}

_VERBS = {
    "list": "list the programs that can show a question here",
    "test": "show a sample question",
}


def configure(parser: argparse.ArgumentParser) -> None:
    add_verbs(parser, _VERBS, default="list")
    parser.add_argument("--list", action="store_true", help="with test: only list the programs")
    parser.add_argument("--tool", metavar="T", default="", help="with test: use this program")
    parser.add_argument(
        "--kind",
        choices=tuple(_SAMPLES),
        default="yesno",
        help="with test: the kind of sample question (yesno)",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object (docs/json.md)")


def run(args: argparse.Namespace) -> int:
    if args.tool and args.tool not in settings.DIALOGS[1:-1]:
        expected = ", ".join(settings.DIALOGS[1:-1])
        raise UsageError(f"--tool: expected one of {expected}, got {args.tool!r}")
    if args.verb == "list" and args.tool:
        raise UsageError("--tool is for a test: gate dialog test --tool T")
    if args.verb == "list" or args.list:
        return _list(args.json)
    return _run_test(args.tool, args.kind, args.json)


def _list(as_json: bool) -> int:
    named, tools = settings.dialog(os.environ), wiring.dialog_tools()
    chosen = _choose_tool(named, tools)
    if as_json:
        listed = [{"tool": tool, "works": not why, "problem": why} for tool, why in tools]
        print_json({"setting": named, "chosen": chosen, "tools": listed})
        return 0
    _print_tools(tools, chosen)
    if named == "off":
        print("\nThe setting dialog is off, so no windows are shown.")
    elif not chosen:
        print("\nNo program works here. Answer questions in the terminal or in gate inbox.")
    return 0


def _choose_tool(named: str, tools: list[Found]) -> str:
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


def _run_test(tool: str, kind: str, as_json: bool) -> int:
    tools = wiring.dialog_tools()
    chosen = tool or _choose_tool(settings.dialog(os.environ), tools)
    if not as_json:
        _print_tools(tools, chosen)
    if not chosen:
        raise NotFoundError("no program can show a window here; gate dialog lists the reasons")
    dialog = wiring.dialog(chosen)
    assert dialog is not None
    print(f"\n{chosen} shows a sample question on your screen …", file=sys.stderr, flush=True)
    reply = dialog.ask(_build_sample(kind))
    if as_json:
        print_json({"tool": chosen, **reply._asdict()})
    else:
        print(_describe_reply(reply))
    return 0 if reply.outcome == VALUE else 1


def _build_sample(kind: str) -> Showing:
    return _SAMPLES[kind]._replace(
        agent="gate dialog test",
        project=os.getcwd(),
        context="This is a test: your answer changes nothing.",
        position="1/1",
    )


def _describe_reply(reply: Reply) -> str:
    if reply.outcome == VALUE:
        return f"Answered: {short(reply.value)}"
    kept = f"; your draft: {short(reply.typed)}" if reply.typed else ""
    why = f" ({short(reply.why)})" if reply.why else ""
    return f"No answer: {reply.outcome.replace('_', ' ')}{why}{kept}"
