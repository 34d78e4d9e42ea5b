"""Prepare the folder of a run before its flow begins."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gatebell.domain.enums import AskKind, CallName, CallState
from gatebell.domain.runs import own_paths
from gatebell.domain.runs.runs import FlowCall, Run
from gatebell.services.asks.create_ask import Request
from gatebell.services.runs.flow_calls import decided_by_person
from gatebell.services.runs.run_journal import place_of
from gatebell.services.tasks.task_branch import move_in

if TYPE_CHECKING:
    from gatebell.ports.workspaces import Place
    from gatebell.services.runs.run_journal import Branch

_MAX_CRASHES = 10
_AGAIN = "Try again"
_WITHOUT = "Go on without it"
_STOP = "Stop the run"


def ask_after_crashes(branch: Branch) -> None:
    """Ask a person after several crashes in a row: a run must not kill every worker."""
    drive, run = branch.drive, branch.drive.run
    call = drive.calls.get(own_paths.CRASHES) or FlowCall(
        run.id, own_paths.CRASHES, CallName.DRIVER, "", "", drive.store.now()
    )
    if run.crash_count < _MAX_CRASHES and call.state != CallState.WAITING:
        return
    request = Request(
        f"{_MAX_CRASHES} processes that drove this run died one after another at the same place. "
        "Does its code end the process? Look at it, then say what now.",
        AskKind.CHOICE,
        options=(_AGAIN, _STOP),
    )
    if decided_by_person(branch, call, request) == _STOP:
        branch.halt("its drivers died one after another", call)


def settle_in(branch: Branch) -> None:
    """Prepare the folder for the agents once; if that fails, ask a person."""
    move_in(branch)
    drive, run = branch.drive, branch.drive.run
    if not run.branch:
        return
    call = drive.calls.get(own_paths.SETUP) or FlowCall(
        run.id, own_paths.SETUP, CallName.SETUP, "", "", drive.store.now()
    )
    if call.over:
        return
    problem = ""
    while call.state == CallState.WAITING or (problem := _problem(branch)):
        request = Request(
            "The folder of this run could not be set up. What now?",
            AskKind.CHOICE,
            options=(_AGAIN, _WITHOUT, _STOP),
            # Not as context of the ask: after a crash the text of the error may differ.
            activity=problem,
        )
        what = decided_by_person(branch, call, request)
        call = drive.calls[own_paths.SETUP]
        if what == _STOP:
            branch.halt("the folder of this run could not be set up", call)
        if what == _WITHOUT:
            break
    drive.record(call, None)


def _problem(branch: Branch) -> str:
    run = branch.drive.run
    return branch.drive.needs.workspace.set_up(run.project, place_of(run))


def moved_in(run: Run, place: Place) -> Run:
    """Return the run with the folder of its agents."""
    return run._replace(folder=place.folder, root=place.root, branch=place.branch, base=place.base)
