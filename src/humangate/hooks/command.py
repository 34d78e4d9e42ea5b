"""The program that an agent's host starts: reads an event on stdin, prints a decision.

`gate install` sets it up. Without a decision it prints nothing, and the host asks in its own
dialog or, where nobody sits at it, denies.
"""

from __future__ import annotations

import json
import signal
import sys
from typing import TYPE_CHECKING, Any

from humangate.errors import GateError, UsageError
from humangate.hooks.events import CLIS, HANDLERS, Hook, Reply

if TYPE_CHECKING:
    import argparse

_MOST_BYTES = 8_000_000
_BLOCK = 2
# What the host does not hear in time it lets pass (PreToolUse), or waits for with its dialog
# shut (Codex). So until an ask is open, whatever takes this long ends the hook.
_SHARE_OF_LIMIT = 0.8
_LONGEST_WORK_SECONDS = 30.0


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("cli", choices=CLIS, help="whose hook this is")
    parser.add_argument(
        "--limit",
        type=float,
        default=600.0,
        metavar="SECONDS",
        help="how long the host waits: the same number as the timeout in its settings (600)",
    )
    parser.add_argument(
        "--defer", action="store_true", help="put gated calls off (claude -p, PreToolUse)"
    )
    parser.add_argument(
        "--guarded",
        action="store_true",
        help="a line `ok LENGTH` shows the guard that all was printed",
    )


def run(args: argparse.Namespace) -> int:
    # The default action ends the process even inside a regular expression or an open().
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    patience = min(args.limit * _SHARE_OF_LIMIT, _LONGEST_WORK_SECONDS)
    signal.setitimer(signal.ITIMER_REAL, max(patience, 0.01))
    try:
        event = _event()
        handler = HANDLERS.get(event["hook_event_name"])
        reply = handler(Hook(args.cli, event, args.limit, args.defer)) if handler else Reply()
    except GateError as error:
        if not args.guarded:
            raise
        print(f"humangate could not decide, so this is blocked: {error}", file=sys.stderr)
        return _BLOCK
    line = json.dumps(reply.json or {})
    if reply.json is not None or args.guarded:
        print(line)
    if args.guarded:
        print(f"ok {len(line)}")
    sys.stdout.flush()
    reply.handed_over()
    return 0


def _event() -> dict[str, Any]:
    try:
        event = json.loads(sys.stdin.buffer.read(_MOST_BYTES))
    except (ValueError, RecursionError) as error:
        raise UsageError(f"a hook reads one JSON object on its standard input: {error}") from None
    if not isinstance(event, dict) or not isinstance(event.get("hook_event_name"), str):
        raise UsageError("a hook's JSON has a hook_event_name")
    return event
