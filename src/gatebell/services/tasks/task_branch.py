"""Create the folder of a task's run: a branch with the work of the tasks that it depends on."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from gatebell.domain.enums import AskKind, CallName, CallState
from gatebell.domain.runs import own_paths
from gatebell.domain.runs.runs import FlowCall, RunChange
from gatebell.errors import GateError, MergeConflictError, StoreError
from gatebell.services.asks.create_ask import Request
from gatebell.services.runs.flow_calls import decided_by_person
from gatebell.services.runs.run_journal import place_of

if TYPE_CHECKING:
    from gatebell.domain.runs.runs import Run
    from gatebell.domain.tasks.tasks import Task
    from gatebell.ports.workspaces import Place
    from gatebell.services.runs.run_journal import Branch, Drive

_AGAIN = "Try again: the branches fit now"
_MARKERS = "Leave it to the agent: the files hold both, with conflict markers"
_STOP = "Stop: the task fails"


def move_in(branch: Branch) -> None:
    """Create the folder once; if the dependencies conflict, ask a person."""
    drive, run = branch.drive, branch.drive.run
    if run.folder or not (task := drive.store.tasks.get(run.task)):
        return
    call = drive.calls.get(own_paths.BRANCH) or FlowCall(
        run.id, own_paths.BRANCH, CallName.BRANCH, "", "", drive.store.now()
    )
    markers, conflict = False, ""
    while call.state == CallState.WAITING or (conflict := _conflict(branch, call, task, markers)):
        request = Request(
            f"What {task.id} needs cannot be merged into one branch. What now?",
            AskKind.CHOICE,
            options=(_AGAIN, _MARKERS, _STOP),
            # Not as context of the ask: after a crash the text of the error may differ.
            activity=conflict,
        )
        what = decided_by_person(branch, call, request)
        call = drive.calls[own_paths.BRANCH]
        if what == _STOP:
            branch.halt("what it needs could not be merged", call)
        markers = what == _MARKERS


def _conflict(branch: Branch, call: FlowCall, task: Task, markers: bool) -> str:
    """Create the folder; return the merge conflict, or an empty text if there is none."""
    drive = branch.drive
    try:
        place = _make_workspace(drive, task, markers)
    except MergeConflictError as conflict:
        return str(conflict)
    except StoreError:
        # The next drive tries it again.
        raise
    except GateError as error:
        why = str(error).rstrip(".")
        again = f"Then: gate task reopen {task.id}"
        branch.halt(f"no folder could be made for {task.id}: {why}. {again}", call)
    after = drive.run._replace(
        folder=place.folder, root=place.root, branch=place.branch, base=place.base
    )
    recorded = call._replace(
        state=CallState.RECORDED, value=place.remarks, ended_at=drive.store.now()
    )
    drive.write(RunChange(after, (recorded,)))
    return ""


def _make_workspace(drive: Drive, task: Task, markers: bool) -> Place:
    run, workspace = drive.run, drive.needs.workspace
    named: dict[str, Any] = {"token": run.created_at.isoformat(), "branch": f"task/{task.id}"}
    before = drive.store.runs.get(task.goes_on_from) if task.goes_on_from else None
    if before and (kept := _find_earlier_work(drive, before)):
        return workspace.make(run.project, run.id, snapshot=kept, **named)
    needed = (drive.store.tasks.get(one) for one in task.needs)
    commits = ((one.branch, _commit(drive, one)) for one in needed if one)
    # Branches are deleted after a merge, so the commit is used.
    onto = {branch or commit: commit for branch, commit in commits if branch or commit}
    base = drive.needs.backlogs.terms(run.project).base
    return workspace.make(
        run.project, run.id, base=base, onto=[*onto], instead=onto, markers=markers, **named
    )


def _commit(drive: Drive, task: Task) -> str:
    """Return the commit of the last run of a task, if it is known."""
    run = drive.store.runs.get(task.run)
    result = run.result if run and isinstance(run.result, dict) else {}
    return str(result.get("commit") or "")


def _find_earlier_work(drive: Drive, before: Run) -> str:
    """Return the commit with the work of an earlier run; empty if there is none."""
    workspace, place = drive.needs.workspace, place_of(before)
    if not before.branch:
        return ""
    if os.path.isdir(before.folder):
        return workspace.snapshot(place, before.id, "reopened")
    # Partial work survives its folder (law 7): use the last snapshot that exists.
    paths = [call.path for call in reversed(drive.store.runs.calls(before.id))]
    names = (name for path in paths for name in (f"{path}-ask", path))
    with suppress(GateError):
        return next(
            filter(None, (workspace.find_snapshot(place, before.id, one) for one in names)), ""
        )
    return ""
