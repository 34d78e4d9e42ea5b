"""Print a link that signs you in to the running web inbox, once, within 15 minutes.

Example: gate link
Example: gate link --qr
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from gatebell.app import daemon, settings, wiring
from gatebell.cli.identity import add_identity, caller
from gatebell.cli.screen import print_json
from gatebell.cli.server import qr
from gatebell.errors import NotFoundError
from gatebell.services.people import manage_logins

if TYPE_CHECKING:
    import argparse


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--qr", action="store_true", help="show it as a QR code, too, for a phone")
    add_identity(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object (docs/json.md)")


def run(args: argparse.Namespace) -> int:
    store = wiring.open_store()
    up = daemon.find(settings.local_path(os.environ))
    if up is None:
        raise NotFoundError("gate up is not running for this store; start it: gate up --detach")
    draws = args.qr and not args.json
    if draws:
        qr.check_drawing(up.url, personal=up.personal)
    link = manage_logins.link_to(store, up.url, caller(store, args), personal=up.personal)
    if args.json:
        print_json({"url": link})
        return 0
    print(link)
    if draws:
        seen = qr.look_at(link)
        qr.draw(link)
        if seen.problem:
            print(
                f"This machine could not open it: {seen.problem}. If your phone cannot either: "
                "docs/phone.md",
                file=sys.stderr,
            )
    return 0
