"""The changes of a run, or those of one of its calls."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gatebell.errors import NotFoundError, RefusedError
from gatebell.services.runs.run_journal import place_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gatebell.domain.runs.runs import FlowCall, Run
    from gatebell.ports.store import Store
    from gatebell.ports.workspaces import Workspace


def read_changes(store: Store, workspace: Workspace, run: Run, path: str = "") -> str:
    """Return the diff of a run since it began, or of the time in which one call worked."""
    if not path:
        return workspace.diff(place_of(run))
    calls = store.runs.calls(run.id)
    call = next((one for one in calls if one.path == path), None)
    if call is None:
        raise NotFoundError(
            f"run {run.id} has no call {path}; gate show {run.id} --calls lists the calls"
        )
    if not call.snapshot:
        raise RefusedError(
            f"call {path} has no changes of its own, because no agent worked in a worktree of the "
            f"run; all changes: gate diff {run.id}"
        )
    return workspace.diff(place_of(run), call.snapshot, _find_end(calls, call))


def _find_end(calls: Sequence[FlowCall], call: FlowCall) -> str:
    """Return the snapshot of the first call that began after this one; empty if none did."""
    ended = call.ended_at
    later = [one for one in calls if one.snapshot and ended and one.started_at >= ended]
    return min(later, key=lambda one: one.started_at).snapshot if later else ""
