"""Wake an idle session of Claude Code when the answer of a background ask comes.

Claude Code passes the words of such a hook on as "NOT USER INPUT", which is no consent. So they
only say that there is an answer. It comes as the result of a tool, or at the end of the next turn.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from gatebell.app import background, wiring
from gatebell.domain.asks.asks import Origin
from gatebell.domain.permissions.calls import ATTENDED

if TYPE_CHECKING:
    from gatebell.hooks.events import Hook
    from gatebell.ports.backends.backend import Backend

WAKE = 2
"""The exit code by which Claude Code begins a turn."""
_POLL_SECONDS = 5.0


def wait_for_answers(hook: Hook) -> int:
    """Wait until an answer comes for this session, or nothing is awaited; return the exit code."""
    origin = Origin(cwd=hook.text("cwd"), session=f"{hook.cli}/{hook.text('session_id')}")
    if os.environ.get(ATTENDED) == "0":
        # claude -p ends with its turn.
        return 0
    with background.watching(origin.session) as is_alone:
        ended = _wait(wiring.open_backend(), origin) if is_alone else ""
    if not ended:
        return 0
    print(
        f"There is an answer to {ended}, which you asked earlier without waiting. Read it with the "
        "tool inbox_status of gatebell. Without that tool, end your turn: it comes then.",
        file=sys.stderr,
    )
    return WAKE


def _wait(backend: Backend, origin: Origin) -> str:
    """Return the ask that has ended; empty if none is left or the host is gone."""
    host, seen = os.getppid(), ""
    while os.getppid() == host:
        own = background.list_own(backend, origin)
        asks = [backend.get(ask_id) for ask_id in own]
        pending = [ask.id for ask in asks if ask.pending]
        # An answer that came before is handed over by the hook of the turn's end.
        if ended := [ask_id for ask_id in own if ask_id in seen and ask_id not in pending]:
            return ended[0]
        if not pending:
            return ""
        seen = " ".join(pending)
        for _ in backend.follow(pending[0], _POLL_SECONDS, hears=False):
            pass
    return ""
