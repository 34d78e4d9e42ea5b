"""Making the folder of a run ready before its flow begins."""

from __future__ import annotations

from typing import TYPE_CHECKING

from humangate.domain.runs import FlowCall, Run
from humangate.service.asking import Request
from humangate.service.calling import answer_to, ask_anew
from humangate.service.journalling import place_of

if TYPE_CHECKING:
    from humangate.doors.workspace import Place
    from humangate.service.journalling import Branch

_PATH = "0"
_AGAIN = "Try again"
_WITHOUT = "Go on without it"
_STOP = "Stop the run"


def settle_in(branch: Branch) -> None:
    """Copy and prepare what the agents need, once; where that fails, a person is asked."""
    drive, run = branch.drive, branch.drive.run
    if not run.branch:
        return
    call = drive.calls.get(_PATH) or FlowCall(run.id, _PATH, "setup", "", "", drive.store.now())
    if call.over:
        return
    while True:
        if call.state != "waiting":
            trouble = drive.crew.workspace.set_up(run.project, place_of(run))
            if not trouble:
                break
            request = Request(
                "The folder of this run could not be set up. What now?",
                "choice",
                options=(_AGAIN, _WITHOUT, _STOP),
                # Not as its context: asked again after a crash, the trouble may read otherwise.
                going_on=trouble,
            )
        else:
            request = Request("")
        ask = answer_to(branch, call, request)
        call = ask_anew(branch, drive.calls[_PATH])
        if ask.value == _STOP:
            branch.halt("the folder of this run could not be set up", call)
        if ask.value == _WITHOUT:
            break
    drive.record(call, None)


def moved_in(run: Run, place: Place) -> Run:
    """The run with the folder that its agents work in."""
    return run._replace(folder=place.folder, root=place.root, branch=place.branch, base=place.base)
