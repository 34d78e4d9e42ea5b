"""Resume a run that has ended."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gatebell.domain.audit.events import Event, EventKind
from gatebell.domain.enums import CallState, RunState
from gatebell.domain.runs.journals import ASKING, is_beneath
from gatebell.domain.runs.runs import RunChange, release
from gatebell.errors import RefusedError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from gatebell.domain.people.principals import Caller
    from gatebell.domain.runs.runs import FlowCall, Run


def resume(
    run: Run,
    calls: Iterable[FlowCall],
    settled: Iterable[str],
    caller: Caller,
    accept: str = "",
    seen: Mapping[str, str] | None = None,
) -> RunChange:
    """Resume an ended run: only calls that failed, or had no answer, are tried again.

    `settled` names the asks of this run that ended without an answer.
    """
    if run.state == RunState.COMPLETED:
        raise RefusedError(
            f"run {run.id} is completed: gate resume {run.id} --from N opens a new run at call N"
        )
    if not run.has_ended:
        raise RefusedError(
            f"run {run.id} has not ended, it is {run.state}: to end it, gate stop {run.id}"
        )
    unanswered = set(settled)
    again = []
    for call in calls:
        stopped_here = any(is_beneath(path, call.path) for path in run.stopped_at.split())
        if call.path == accept:
            _must_be_acceptable(call)
            again.append(call._replace(accepted=True))
        elif (call.state == CallState.FAILED and stopped_here) or (
            call.state == CallState.WAITING and call.ask_id in unanswered
        ):
            again.append(_reset_call(call))
    if accept and not any(call.path == accept for call in again):
        raise UsageError(f"run {run.id} has no call {accept}: gate show {run.id} lists them")
    after = release(run).run._replace(
        reason="", error="", ended_at=None, claim=run.claim + 1, waiting_since=None
    )
    content = {
        "again": [call.path for call in again if not call.accepted],
        "accepted": accept,
        "seen": seen,
        "via": caller.via,
        "evidence": caller.evidence,
    }
    audit_event = Event(EventKind.RUN_RESUMED, run.name, caller.actor, content)
    return RunChange(after, tuple(again), events=(audit_event,))


def _must_be_acceptable(call: FlowCall) -> None:
    if call.name in ASKING:
        raise RefusedError(
            f"call {call.path} asks another question now, so its old answer cannot be kept: "
            f"gate resume {call.run} --from {call.path} asks again, in a new run"
        )


def _reset_call(call: FlowCall) -> FlowCall:
    """Return the call ready for another attempt."""
    return call._replace(
        state=CallState.OPEN, error=None, ask_id="", asked=0, attempt=call.attempt + 1, ended_at=None,
    )  # fmt: skip
