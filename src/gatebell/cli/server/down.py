"""Stop gate up; asks stay pending.

Example: gate down
Example: gate down --uninstall
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from gatebell.app import daemon, settings
from gatebell.cli.status_line import show_progress
from gatebell.errors import NotFoundError

if TYPE_CHECKING:
    import argparse


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--uninstall", action="store_true", help="do not start it at login any more, either"
    )


def run(args: argparse.Namespace) -> int:
    path = settings.local_path(os.environ)
    removed = args.uninstall and _remove_service(path)
    with show_progress("Stopping gate up"):
        ended = daemon.end(path)
    if removed:
        print("gate up does not start at login any more. Pending asks stay pending.")
        return 0
    if ended is None:
        raise NotFoundError(
            "gate up is not running for this store; gate config store shows its path"
        )
    print(f"Stopped process {ended.pid}. Pending asks stay pending.")
    return 0


def _remove_service(path: str) -> bool:
    # Imported here: only this option needs it.
    from gatebell.install import login_service

    service = login_service.plan_service([], daemon.log_path(path), os.environ)
    return login_service.remove_service(service)
