"""Runs that travel: while such a run waits, it has no home until a host of its pool takes it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gatebell.domain.audit.events import EventKind
from gatebell.domain.enums import CallName, CallState, RunState
from gatebell.domain.runs import own_paths, runs
from gatebell.domain.runs.runs import FlowCall, Run, RunChange

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from gatebell.domain.asks.asks import Ask
    from gatebell.domain.runs.runs import Turn


def is_under_way(record: FlowCall | None) -> bool:
    """Return whether a run was sent to its pool, and no host has made its folder yet."""
    return bool(record and not record.value["arrived"])


def leave(change: RunChange, pool: str, commit: str, ref: str, now: datetime) -> RunChange:
    """Let a run that parks wait in a pool: its folder and sessions were sent to the remote."""
    run = change.run
    sent = {"ref": ref, "pool": pool, "host": run.host, "folder": run.folder}
    record = FlowCall(
        *(run.id, own_paths.TRAVEL, CallName.DRIVER, f"sent to pool {pool}", "", now),
        state=CallState.RECORDED,
        value={**sent, "arrived": ""},
        snapshot=commit,
        ended_at=now,
    )
    told = runs.event(EventKind.RUN_LEFT, run, runs.DRIVER, **sent, commit=commit)
    return change._replace(
        run=run._replace(host="", pool=pool),
        calls=(*change.calls, record),
        events=(*change.events, told),
    )


def stay(change: RunChange, why: str) -> RunChange:
    """Let a run wait at its home, and say why it was not sent to its pool."""
    reason = f"{change.run.reason} ({why})" if change.run.reason else why
    return change._replace(run=change.run._replace(reason=runs.cut_reason(reason)))


def arrive(run: Run, record: FlowCall, calls: Sequence[FlowCall]) -> RunChange:
    """Record that the host of a run has made its folder."""
    arrived = record._replace(value={**record.value, "arrived": run.host})
    told = runs.event(EventKind.RUN_ARRIVED, run, runs.DRIVER, host=run.host, pool=run.pool)
    return RunChange(run, (arrived, *calls), events=(told,))


def release(
    run: Run, record: FlowCall, turns: Sequence[Turn], ask: Ask, now: datetime
) -> RunChange:
    """Take a run from its lost host, as a person decided; it goes on from what was sent last.

    The claim rises, so that the host can write nothing more. Its open turns have ended: their agents
    work in a folder and a session that no longer belong to the run.
    """
    after = run._replace(
        state=RunState.READY, host="", pool=record.value["pool"], claim=run.claim + 1, owner="",
        lease_until=None, ready_at=None, reason="", crash_count=0,
    )  # fmt: skip
    sent = record._replace(value={**record.value, "arrived": ""})
    ended = tuple(turn._replace(ended_at=now) for turn in turns if not turn.ended_at)
    told = runs.event(
        EventKind.RUN_RELEASED, run, ask.settled_by or runs.DRIVER,
        host=run.host, ask=ask.id, commit=record.snapshot,
    )  # fmt: skip
    return RunChange(after, (sent,), ended, events=(told,))


def postpone(run: Run, until: datetime, reason: str) -> RunChange:
    """Leave a run in its pool: its folder could not be made on this host now."""
    return RunChange(runs.put_off(run, reason, until).run._replace(host=""))
