"""Set everything up in four steps: agents, notifications, the phone, and a test.

Each step can be skipped. Run it again at any time: it says what is set up already. For scripts,
--yes asks nothing. It then sets up the agents that it finds and the desktop; ntfy, an address for
the phone and the test only if an option names them. Telegram and Slack need a terminal.

Example: gate setup
Example: gate setup --yes --agent claude --notify ntfy --phone tailscale
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gatebell.app import wiring
from gatebell.cli.identity import add_identity
from gatebell.cli.screen import can_prompt, print_json
from gatebell.cli.server.listening import PORT, parse_port
from gatebell.cli.setup import setup_agents, setup_phone, setup_routes, setup_trial
from gatebell.cli.setup.install import check_person
from gatebell.cli.setup.setup_dialogue import Dialogue
from gatebell.domain.asks.deadlines import parse_duration
from gatebell.domain.enums import ChannelKind, TunnelKind
from gatebell.domain.notifications.ntfy_topics import NTFY
from gatebell.domain.notifications.routes import CHATS
from gatebell.errors import AskCancelledError, GateError, UsageError
from gatebell.install import plans

if TYPE_CHECKING:
    import argparse

    from gatebell.ports.store import Store

_TITLES = {
    "agents": "Agents",
    "notify": "Notifications",
    "phone": "Your phone",
    "test": "A test",
}
_WAIT_SECONDS = 300.0
_FAILED, _NOT_ANSWERED = 1, 3


def configure(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--yes", action="store_true", help="ask nothing; use the options and their defaults")
    add("--skip", action="append", default=[], choices=tuple(_TITLES), help="leave out this step")
    add(
        "--agent",
        action="append",
        default=[],
        choices=[cli.value for cli in plans.HOSTS],
        help="set up this program; may be repeated (every one on the PATH)",
    )
    add(
        "--notify",
        action="append",
        default=[],
        metavar="WAY",
        help=f"notify by this: {', '.join((ChannelKind.DESKTOP, NTFY, *CHATS))}, or an address of "
        "Apprise such as mailtos://USER:PASSWORD@HOST; may be repeated (the desktop, if there is "
        "one)",
    )
    add(
        "--ntfy-server",
        default="https://ntfy.sh",
        metavar="URL",
        help="the server of ntfy (https://ntfy.sh)",
    )
    add(
        "--phone",
        default="",
        metavar="WAY",
        help=f"how the phone reaches the inbox: {', '.join(TunnelKind)}, or the https:// address "
        "of your own proxy",
    )
    add("--name", default="", metavar="NAME", help="your name in the inbox (the OS user)")
    add("--port", type=parse_port, default=PORT, metavar="N", help=f"the port of gate up ({PORT})")
    add(
        "--sign-in",
        action="store_true",
        help="make a link for a phone, even if an earlier phone has one",
    )
    add("--test", action="store_true", help="send the test question without asking")
    add(
        "--wait",
        type=parse_duration,
        default=_WAIT_SECONDS,
        metavar="TIME",
        help="how long to wait for the test's answer: 300, 90s, 5m (5m)",
    )
    add_identity(parser)
    add("--json", action="store_true", help="print one JSON object (docs/json.md); needs --yes")


def run(args: argparse.Namespace) -> int:
    if not args.yes and (args.json or not can_prompt()):
        raise UsageError(
            "cannot prompt without a terminal: add --yes, and choose with --agent, --notify, "
            "--phone, --test and --skip (gate setup --help)"
        )
    check_person(args, "sets gate up")
    store = wiring.open_store()
    dialogue = Dialogue(asks=not args.yes, prints=not args.json)
    if dialogue.asks:
        print("This takes about a minute. Enter takes the answer in capitals, or in brackets.")
    done: dict[str, Any] = {}
    problems: dict[str, str] = {}
    for number, (step, title) in enumerate(_TITLES.items(), 1):
        done[step] = None
        if step in args.skip:
            continue
        dialogue.begin_step(number, len(_TITLES), title)
        try:
            done[step] = _run_step(step, args, store, dialogue)
        except AskCancelledError:
            raise
        except GateError as error:
            problems[step] = str(error)
            dialogue.say(f"Not done: {error}")
    return _report(args, dialogue, done, problems)


def _run_step(step: str, args: argparse.Namespace, store: Store, dialogue: Dialogue) -> Any:
    if step == "agents":
        return setup_agents.run(args, dialogue)
    if step == "notify":
        return setup_routes.run(args, store, dialogue)
    if step == "phone":
        return setup_phone.run(args, store, dialogue)
    return setup_trial.run(args, store, dialogue)


def _report(
    args: argparse.Namespace, dialogue: Dialogue, done: dict[str, Any], problems: dict[str, str]
) -> int:
    if args.json:
        print_json({**done, "problems": problems})
    else:
        print()
        if problems:
            print(f"Not everything is done: {', '.join(problems)}. Run gate setup again.")
        else:
            print("Done. To list the asks that wait: gate. To change something: gate setup")
    if problems:
        return _FAILED
    return _NOT_ANSWERED if done["test"] and not done["test"]["answered"] else 0
