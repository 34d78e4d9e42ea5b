"""Describe the activity of an agent, from its session log and its repository."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gatebell.domain.asks.asks import Origin
    from gatebell.domain.permissions.calls import Call

# Modules are imported where they are used: a hook builds a call, and seldom asks a person.
_LOG_IS_LATE_SECONDS = 0.5
_POLL_SECONDS = 0.02


class AgentActivity:
    """The activity of agents on this machine."""

    def tool_call(self, tool: str, given: object, cwd: str) -> Call:
        from gatebell.adapters.git.git_folders import read_branch
        from gatebell.domain.permissions.calls import make_call
        from gatebell.services.permissions.same_call import find_real_path

        made = make_call(tool, given, cwd, read_branch(cwd))
        return made._replace(real_path=find_real_path(made))

    def summary(self, origin: Origin, log: str = "") -> str:
        from gatebell.adapters.agents import session_logs
        from gatebell.adapters.git import changes
        from gatebell.domain.asks.activity_summary import explain

        cli, _, session = origin.session.partition("/")
        steps = session_logs.read(cli, log or session_logs.find(cli, session, os.environ))
        until = time.monotonic() + _LOG_IS_LATE_SECONDS
        # The host may start the hook before it writes its log.
        awaited = origin.tool_use_id if cli in session_logs.READERS else ""
        while awaited and not any(s.call_id == awaited for s in steps):
            if time.monotonic() > until:
                break
            time.sleep(_POLL_SECONDS)
            steps = session_logs.read(cli, log or session_logs.find(cli, session, os.environ))
        began = next((step.at for step in steps if step.at), "")
        return explain(steps, changes.describe_changes(origin.cwd, began))
