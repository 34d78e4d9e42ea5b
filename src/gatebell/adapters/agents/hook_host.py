"""The host of a call that a hook asks about: its process, its session log, its signals."""

from __future__ import annotations

import os
import signal
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from gatebell.adapters.agents import session_logs
from gatebell.adapters.agents.activity import AgentActivity
from gatebell.domain.permissions.calls import explain_end
from gatebell.domain.runs.session_log import find_result, has_result, open_call

if TYPE_CHECKING:
    from gatebell.domain.asks.asks import Origin
    from gatebell.domain.permissions.calls import Call
    from gatebell.domain.runs.session_log import Step

_LOG_IS_LATE_SECONDS = 0.5
_POLL_SECONDS = 0.02


class HookHost:
    """Sees whether the terminal's own dialog was answered, or the agent is gone.

    After a yes in the dialog, only the session log shows it, once the tool has run. After a no,
    Claude Code ends this process with SIGTERM.
    """

    def __init__(
        self, call: Call, origin: Origin, log: str, *, of_helper: bool, pid: int = 0
    ) -> None:
        """`of_helper`: a helper of the agent makes the call, and has its own log.

        `pid`: the process of the host, if a shell is between it and this process.
        """
        self._call = call
        self._origin = origin
        self._cli = origin.session.partition("/")[0]
        self._log = log
        self._of_helper = of_helper
        self._id = origin.tool_use_id
        self._began = datetime.now(UTC)
        self._parent = os.getppid()
        self._pid = pid
        self._seen = 0
        self._ended = False
        signal.signal(signal.SIGTERM, self._end)

    def _end(self, *_: object) -> None:
        self._ended = True

    def _steps(self) -> list[Step]:
        return session_logs.read(self._cli, self._log)

    def describe_activity(self) -> str:
        return AgentActivity().summary(self._origin, self._log)

    def find_reason_to_stop(self) -> str:
        if self._ended:
            return explain_end(os.environ)
        if os.getppid() != self._parent or self._parent == 1 or self._host_has_ended():
            return f"{self._cli} is gone"
        try:
            size = os.stat(self._log).st_size
        except OSError:
            return ""
        if size != self._seen and self._has_ended():
            return explain_end(os.environ)
        self._seen = size
        return ""

    def _host_has_ended(self) -> bool:
        if not self._pid:
            return False
        try:
            os.kill(self._pid, 0)
        except ProcessLookupError:
            return True
        except PermissionError:
            pass
        return False

    def _has_ended(self) -> bool:
        steps = self._steps()
        result = find_result(steps, self._id) if self._id else None
        if result and not self._origin.tool_use_id and self._is_early(result):
            # The log was late: it showed the same call, made before this one, as open.
            self._id = open_call(steps, self._call) or self._id
            return False
        return result is not None

    def _is_early(self, result: Step) -> bool:
        try:
            return datetime.fromisoformat(result.at) < self._began
        except (ValueError, TypeError):
            return False

    def has_result(self, call_id: str) -> bool:
        return has_result(self._steps(), call_id)

    def note_ask(self, ask_id: str) -> None:
        self.note_wait()

    def note_wait(self) -> None:
        # The wait has its own time limit; the alarm was for the time before it.
        signal.setitimer(signal.ITIMER_REAL, 0)

    def find_call_id(self) -> str:
        """Return the id from the log, which the host writes about when it starts the hook."""
        if not self._log or self._of_helper:
            return ""
        until = time.monotonic() + _LOG_IS_LATE_SECONDS
        while not (found := open_call(self._steps(), self._call)):
            if time.monotonic() > until:
                return ""
            time.sleep(_POLL_SECONDS)
        self._id = found
        return found
