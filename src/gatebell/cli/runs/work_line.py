"""Describe in one line what a run does just now: who works, how long, and the last output."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from gatebell.app import runtime
from gatebell.domain.enums import RunState
from gatebell.domain.text.display import age, inert_line

if TYPE_CHECKING:
    from gatebell.domain.runs.runs import Run
    from gatebell.ports.store import Store

_TAIL_BYTES = 8_192
# Of a line of the log: the time, the call, who says it, and the text.
_LOG_PARTS = 4


class Work(NamedTuple):
    """What a run does now."""

    text: str
    is_busy: bool = False
    """Whether an agent or the flow works, so that a spinner turns."""


NOTHING = Work("")


def describe_work(store: Store, run_id: int) -> Work:
    """Describe the present activity of a run; nothing after its end."""
    run, now = store.runs.get(run_id), store.now()
    if run is None or run.has_ended:
        return NOTHING
    working = [turn for turn in store.runs.turns(run.id) if not turn.ended_at]
    if run.state == RunState.RUNNING and working:
        since = age((now - min(turn.started_at for turn in working)).total_seconds())
        who = ", ".join(dict.fromkeys(turn.role for turn in working))
        last = _read_last_text(store, run)
        return Work(
            f"{inert_line(who, 40)} works, {since}" + (f": {last}" if last else ""), is_busy=True
        )
    if run.state == RunState.WAITING_HUMAN:
        since = age((now - (run.waiting_since or now)).total_seconds())
        return Work(f"waits for a person, {since}")
    if run.ready_at and run.ready_at > now:
        return Work(f"sleeps, {age((run.ready_at - now).total_seconds())} left")
    if run.state == RunState.READY:
        return Work("ready, waits for a process that drives it")
    return Work("running", is_busy=True)


def _read_last_text(store: Store, run: Run) -> str:
    """Return the last whole line that an agent or the flow wrote; '' if there is none."""
    tail = b""
    with suppress(OSError), open(runtime.run_log_path(store, run), "rb") as file:
        file.seek(max(0, file.seek(0, os.SEEK_END) - _TAIL_BYTES))
        tail = file.read()
    for line in reversed(tail.split(b"\n")[:-1]):
        parts = line.decode("utf-8", "replace").split(" ", _LOG_PARTS - 1)
        if len(parts) == _LOG_PARTS and parts[-1].strip():
            return parts[-1].strip()
    return ""
