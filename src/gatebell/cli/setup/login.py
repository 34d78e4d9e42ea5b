"""Sign in to a server: your commands then ask and answer there, not in a store of this machine.

It checks the token with the server and keeps it in a file that only you can read.

Example: gate login https://gate.example.org
Example: gate login https://gate.example.org --token-file token
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from gatebell.app import environment, server_access
from gatebell.cli.identity import read_text
from gatebell.cli.screen import print_json
from gatebell.cli.status_line import show_progress
from gatebell.domain.people.logins import describe_scopes
from gatebell.domain.people.principals import find_agent
from gatebell.domain.text.display import inert_line
from gatebell.errors import AgentRefusedError, UsageError

if TYPE_CHECKING:
    import argparse


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("server", help="the server's address: https://gate.example.org")
    parser.add_argument(
        "--token-file",
        metavar="F",
        help="a file (or -) with the token; without it you type the token",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object (docs/json.md)")


def run(args: argparse.Namespace) -> int:
    token = _read_token(args)
    with show_progress("Signing in"):
        signed_in = server_access.sign_in(args.server, token)
    agent = find_agent(os.environ, environment.ancestors())
    if agent and signed_in.may_approve:
        server_access.sign_out(signed_in.server)
        raise AgentRefusedError(
            f"this token may approve, and an agent seems to be at work here ({agent.because}): "
            "give an agent's machine a token that may only ask: gate person token NAME --ask-only"
        )
    if args.json:
        print_json(signed_in._asdict() | {"scopes": list(signed_in.scopes)})
        return 0
    scopes = describe_scopes(signed_in.scopes)
    who = f"Signed in to {signed_in.server} as {signed_in.person}: this token may {scopes}."
    # The server may be any program, so its words are shown as inert text.
    print(inert_line(who))
    if signed_in.may_approve:
        print(
            "Agents of your user could read it here. On an agent's machine, use a token that may "
            "only ask."
        )
    return 0


def _read_token(args: argparse.Namespace) -> str:
    if args.token_file:
        token = read_text(args.token_file).strip()
    elif sys.stdin.isatty():
        from getpass import getpass

        token = getpass("Token: ").strip()
    else:
        raise UsageError("cannot prompt for the token without a terminal: add --token-file -")
    if not token:
        raise UsageError("the token is empty: make one on the server with gate person token NAME")
    return token
