"""Whether an answer is still about the same call, and about the same file."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from gatebell.ports.calls.waiting_calls import Held, Permission

if TYPE_CHECKING:
    from datetime import datetime

    from gatebell.domain.asks.asks import Ask
    from gatebell.domain.permissions.calls import Call


def find_real_path(call: Call) -> str:
    """Return the file of the call with all links resolved; empty if it has none."""
    return call.path and os.path.realpath(os.path.join(call.cwd, os.path.expanduser(call.path)))


def identify(held: Held) -> Held:
    """Return the call with the id that its host finds, if the host did not give one."""
    if held.origin.tool_use_id:
        return held
    return held._replace(guess=held.host.find_call_id())


def for_same_file(permission: Permission, call: Call) -> Permission:
    """Drop a yes if the path now leads to another file: a link may have changed during the wait."""
    now = find_real_path(call)
    if not permission.allow or not call.real_path or now == call.real_path:
        return permission
    moved = f"{call.path} led to {call.real_path} and now leads to {now}, so the yes is not used"
    return Permission(
        allow=False, message=f"{moved}. Make the call again: a person is asked again."
    )


def is_for(ask: Ask, held: Held, now: datetime) -> bool:
    """Return whether an untaken answer may be used for this call, made again after a crash.

    It may not if the first call ended without it, for example by a no in the host's own dialog. It
    may not after the time in which it would have counted.
    """
    first, clock = ask.origin.tool_use_id, ask.deadlines
    if first and first == held.origin.tool_use_id:
        return True
    late = clock.expires_at is not None and clock.expires_at <= now
    return not late and not (first and held.host.has_result(first))
