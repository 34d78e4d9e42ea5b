"""Drive runs as they become ready, until Ctrl+C or SIGTERM; then what works is ended.

Runs that are interrupted so go on with the next worker. gate up has a worker of its own.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from humangate import settings, upkeep, wiring
from humangate.cli.values import positive
from humangate.domain.display import inert_line

if TYPE_CHECKING:
    import argparse

    from humangate.domain.runs import Run


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-j", "--slots", type=positive, default=4, metavar="N", help="how many at once (4)"
    )


def run(args: argparse.Namespace) -> int:
    # Imported here: only who stays for long listens to signals.
    import signal

    reading, writing = os.pipe()
    for name in (signal.SIGINT, signal.SIGTERM):
        signal.signal(name, lambda *_: os.write(writing, b"."))
    end = wiring.work_beside(args.slots, _tell)
    _say(f"driving runs of {settings.store_path(os.environ)}, {args.slots} at once")
    os.read(reading, 1)
    _say("ending")
    return upkeep.leave(0, end())


def _tell(run: Run, is_over: bool) -> None:
    told = f"run {run.id} ({inert_line(run.flow, 40)})"
    if not is_over:
        _say(f"{told} is driven")
    else:
        _say(f"{told} is {run.state}" + (f": {inert_line(run.reason, 200)}" if run.reason else ""))


def _say(line: str) -> None:
    print(f"gate worker: {line}", file=sys.stderr, flush=True)
