"""Stop gate up; asks stay pending."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from gatebell.app import daemon, settings
from gatebell.errors import NotFoundError

if TYPE_CHECKING:
    import argparse


def configure(parser: argparse.ArgumentParser) -> None:
    """No options."""


def run(args: argparse.Namespace) -> int:
    ended = daemon.end(settings.local_path(os.environ))
    if ended is None:
        raise NotFoundError(
            "gate up is not running for this store; gate config store shows its path"
        )
    print(f"Stopped process {ended.pid}. Pending asks stay pending.")
    return 0
