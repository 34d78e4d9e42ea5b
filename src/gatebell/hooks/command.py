"""The program that an agent's host starts: reads an event on stdin, prints a decision.

`gate install` sets it up. Without a decision it prints nothing. The host then asks in its own
dialog, or denies the call where no person is present.

Example: gate install claude
Example: gate install codex
"""

from __future__ import annotations

import json
import os
import signal
import sys
from typing import TYPE_CHECKING, Any

from gatebell.domain.enums import AgentCli
from gatebell.errors import UsageError
from gatebell.hooks import replies
from gatebell.hooks.event_parser import GATING, OTHERS, check_call, read_event
from gatebell.hooks.events import HANDLERS, HOOK_CLIS, Hook, Reply, hold_call
from gatebell.hooks.host_calls import EVENTS

if TYPE_CHECKING:
    import argparse
    from typing import NoReturn

_BLOCK = 2
# A host that hears nothing in time lets the call run (PreToolUse), or waits with its dialog
# shut (Codex). So until an ask is open, whatever takes this long ends the hook.
_SHARE_OF_LIMIT = 0.8
_MAX_WORK_SECONDS = 30.0
# No JSON of ours has a bare tab in it, so a tab shows the guard that the object is whole. The
# hosts ignore it, also where there is no guard; a second line would make them drop everything.
_END_MARK = "\t"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("cli", choices=[cli.value for cli in HOOK_CLIS], help="whose hook this is")
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
        "--rewake", action="store_true", help="wait, and wake an idle session (claude, Stop)"
    )
    parser.add_argument(
        "--host",
        type=int,
        default=0,
        metavar="PID",
        help="the process of the host: the wait ends with it (for a hook inside a shell)",
    )
    parser.add_argument(
        "--guarded",
        action="store_true",
        help="always print an object, with a tab at its end for the guard of gate install",
    )


def run(args: argparse.Namespace) -> int:
    event: dict[str, Any] = {}
    try:
        _check_options(args)
        if not args.rewake:
            _start_alarm(args.limit)
        event.update(read_event(sys.stdin.buffer, args.cli))
        if args.rewake:
            # Imported here: only idle sessions with a background ask need it.
            from gatebell.hooks.rewake import wait_for_answers

            return wait_for_answers(Hook(args.cli, event, args.limit, args.defer))
        _say(args, _decide(args, event))
    except (Exception, KeyboardInterrupt) as error:
        name = event.get("hook_event_name", "")
        if name == "PermissionRequest" and not args.guarded:
            # Its host then asks in its own dialog, or denies.
            raise
        return _fail(name, error)
    return 0


def _check_options(args: argparse.Namespace) -> None:
    if not args.limit >= 1:
        raise UsageError("--limit takes seconds, at least 1: the timeout in the host's settings")
    if args.defer and args.cli != AgentCli.CLAUDE:
        raise UsageError(f"{args.cli} cannot put a call off and would run it: leave out --defer")
    if args.rewake and args.cli != AgentCli.CLAUDE:
        raise UsageError(f"{args.cli} cannot be woken: leave out --rewake")


def _start_alarm(limit: float) -> None:
    signal.signal(signal.SIGALRM, _end_late)
    seconds = min(limit * _SHARE_OF_LIMIT, _MAX_WORK_SECONDS)
    signal.setitimer(signal.ITIMER_REAL, seconds)


def _end_late(*_: object) -> NoReturn:
    os.write(2, b"gatebell could not decide in time, so this is blocked: run gate doctor\n")
    os._exit(_BLOCK)


def _decide(args: argparse.Namespace, event: dict[str, Any]) -> Reply:
    name = event["hook_event_name"]
    if name != "PreToolUse":
        # The default action ends the process even inside a regular expression or an open(). The
        # host then asks in its own dialog, or denies.
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
    if name in GATING:
        try:
            check_call(event)
        except UsageError as error:
            said = f"gate cannot read this call: {error}"
            if args.cli in EVENTS:
                return Reply(replies.refuse(args.cli, said))
            return Reply(replies.deny(name, said))
    hook = Hook(args.cli, event, args.limit, args.defer, args.host)
    if args.cli in EVENTS:
        return hold_call(hook)
    handler = HANDLERS.get(name)
    return handler(hook) if handler else Reply()


def _say(args: argparse.Namespace, reply: Reply) -> None:
    if reply.json is not None or args.guarded:
        print(json.dumps(reply.json or {}), end=f"{_END_MARK if args.guarded else ''}\n")
    sys.stdout.flush()
    reply.handed_over()


def _fail(name: str, error: BaseException) -> int:
    if isinstance(error, OSError):
        # Python would try once more to write what could not be written, and change the exit code.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    why = str(error) or type(error).__name__
    if name in OTHERS:
        # Exit code 2 would keep the agent from ending its turn, or drop the person's prompt.
        print(f"gate: {why}", file=sys.stderr)
        return 1
    # Any exit code but 2 would let the call of a PreToolUse event run.
    print(f"gatebell could not decide, so this is blocked: {why}", file=sys.stderr)
    return _BLOCK
