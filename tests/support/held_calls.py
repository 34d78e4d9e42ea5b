"""Tool calls that a hook holds until a person decides."""

from __future__ import annotations

from gatebell.domain.asks.asks import Origin
from gatebell.domain.permissions.calls import make_call
from gatebell.services.permissions.permit_call import Held
from tests.support.call_hosts import PlannedHost


def hold(command="git push", call_id="t1", session="claude/s1", limit=600.0, **host):
    call = make_call("Bash", {"command": command}, "/p", "main")
    origin = Origin("/p", "/p", "claude", session, call_id, "person:ada")
    return Held(call, origin, limit, PlannedHost(activity="going on", **host))
