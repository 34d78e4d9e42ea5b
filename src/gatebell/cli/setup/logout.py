"""Sign out of a server: its token is removed from this machine, and your own store is used again.

Example: gate logout
Example: gate logout https://gate.example.org
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gatebell.app import server_access

if TYPE_CHECKING:
    import argparse


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("server", nargs="?", default="", help="the server (the one in use)")


def run(args: argparse.Namespace) -> int:
    server = server_access.sign_out(args.server)
    print(f"Signed out of {server}. To end its token: gate person revoke, on the server.")
    return 0
