"""Serve the web inbox and the HTTP API to a team, apply deadlines and send notifications.

Several servers may work on one store, behind a proxy. A server drives no runs: start gate worker
where the projects are. Everybody signs in with a personal token (gate person add NAME). For other
machines it needs TLS (--tls-cert and --tls-key) or a proxy with TLS (--public-url and --proxy).
SIGTERM ends it: waiting agents are sent home, and come back to another server.

Example: gate serve --host 10.0.0.5 --tls-cert cert.pem --tls-key key.pem
Example: gate serve --port 4284 --public-url https://gate.example.org
"""

from __future__ import annotations

import logging
import sys
from typing import TYPE_CHECKING

from gatebell.app import chats, wiring
from gatebell.cli.server.listening import (
    add_listening,
    build_sender,
    choose_site,
)
from gatebell.domain.enums import MemberKind
from gatebell.errors import UsageError

if TYPE_CHECKING:
    import argparse

    from gatebell.ports.store import Store
    from gatebell.web.context import Site

MAX_CONNECTIONS = 12_000
_log = logging.getLogger("gatebell.serve")


def configure(parser: argparse.ArgumentParser) -> None:
    add_listening(parser)
    parser.add_argument(
        "--max-connections",
        type=_parse_connections,
        default=MAX_CONNECTIONS,
        metavar="N",
        help=f"how many connections at most, one for each waiting agent ({MAX_CONNECTIONS})",
    )


def _parse_connections(text: str) -> int:
    number = int(text) if text.isdecimal() else 0
    if not 1 <= number <= 1_000_000:
        raise UsageError(f"expected a number of connections from 1 to 1000000, got {text!r}")
    return number


def run(args: argparse.Namespace) -> int:
    # Not with a sender of its own for each notice: this process sends.
    store = wiring.open_store(starts_sender=False)
    # Claimed names count only where one OS user has the store. Here everybody shows a token.
    site = choose_site(store, args)._replace(personal=True)
    _write_log_lines()
    # Imported here: --help must not load a web server.
    from gatebell.services.members import Membership
    from gatebell.web.server import serve

    sender = build_sender(store, site)
    membership = Membership(store, MemberKind.SERVER, site.url)
    end_chats = chats.begin(store)
    try:
        return serve(
            store, site, args, sender, lambda: _report_start(store, site), args.max_connections
        )
    finally:
        end_chats()
        membership.end()
        _log.info("ended")


def _write_log_lines() -> None:
    logging.basicConfig(stream=sys.stderr, format="%(asctime)s %(name)s: %(message)s")
    logging.getLogger("gatebell").setLevel(logging.INFO)


def _report_start(store: Store, site: Site) -> None:
    _log.info("serving %s", site.url)
    if not any(one.tokens for one in store.people.all()):
        _log.info("no person has a token, so no one can sign in: gate person add NAME")
