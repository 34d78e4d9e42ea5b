"""Start, stop, resume, fork, signal and delete runs."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from gatebell.domain.asks.answers import Given
from gatebell.domain.audit.events import EventKind
from gatebell.domain.enums import AskKind, AskStatus, CallState, RunState, TaskState
from gatebell.domain.people.principals import must_be_a_person
from gatebell.domain.runs import journals, resumption, runs, signals
from gatebell.domain.runs.identities import parse_identity
from gatebell.domain.runs.journals import Carried
from gatebell.domain.runs.runs import FlowCall, Run, RunChange
from gatebell.domain.text.display import storable
from gatebell.errors import GateError, NotFoundError, NoWorktreeError, RefusedError, UsageError
from gatebell.services.asks import answer_ask
from gatebell.services.asks.create_ask import only_ask, withdrawals
from gatebell.services.permissions import permit_call
from gatebell.services.runs.placement import locate, must_be_placed
from gatebell.services.runs.run_journal import place_of
from gatebell.services.runs.workspace_setup import moved_in

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gatebell.domain.asks.asks import Ask
    from gatebell.domain.people.principals import Caller
    from gatebell.ports.store import Store
    from gatebell.ports.workspaces import Place, Workspace
    from gatebell.services.runs.claims import Keeper

_BEING_MADE = "its folder is being made. If this stays, making it was interrupted: start a new run"
_IN_PLACE = "`gate run --in-place` works in the project itself."
NOT_STARTED = "not started yet: gate resume starts it"
_YES = ("CONTINUE", "APPROVED", "APPROVE", "YES")
_NO = ("STOP", "REJECTED", "REJECT", "NO")


class RunRequest(NamedTuple):
    """The fields of a new run."""

    flow: str
    source: str
    source_digest: str
    prompt: str
    project: str
    in_place: bool = False
    with_changes: bool = False
    begin: bool = True
    """False: create it without starting; it waits for `gate resume`."""
    seen: Mapping[str, str] | None = None
    """The digests of the flow and its roles, if agents could edit them."""
    project_key: str = ""


def start(
    store: Store,
    workspace: Workspace,
    request: RunRequest,
    caller: Caller,
    keeper: Keeper | None = None,
) -> tuple[Run, Place]:
    """Create a run that is ready to be driven; return also the folder of its agents.

    With a keeper only this process drives it, while the process lives.
    """
    for path in (request.project, request.source):
        if storable(path) != path:
            raise UsageError(
                f"{storable(path)} is not valid UTF-8, so it could not be found again: rename it"
            )
    new = Run(
        id=0,
        flow=storable(request.flow),
        source=request.source,
        source_digest=request.source_digest,
        prompt=storable(request.prompt),
        project=request.project,
        started_by=caller.principal,
        created_at=store.now(),
        state=RunState.STUCK,
        reason=_BEING_MADE,
        project_key=request.project_key,
        host=store.machine.host,
    )
    run = store.runs.add(new, [runs.build_started_event(new, caller, request.seen)], Carried())
    try:
        place = (
            in_place(request.project)
            if request.in_place
            else workspace.make(
                request.project, run.id, with_changes=request.with_changes, token=_token(run)
            )
        )
    except GateError as error:
        # Nothing has happened yet, so there is nothing to resume.
        delete(store, run.id, caller)
        if isinstance(error, NoWorktreeError):
            raise NoWorktreeError(f"{error} {_IN_PLACE}") from None
        raise
    return _open(store, run, place, begin=request.begin, keeper=keeper), place


def in_place(project: str) -> Place:
    from gatebell.ports.workspaces import Place

    real = os.path.realpath(project)
    return Place(real, real)


def _open(store: Store, run: Run, place: Place, *, begin: bool, keeper: Keeper | None) -> Run:
    after = moved_in(run, place)._replace(
        state=RunState.READY if begin else RunState.STUCK, reason="" if begin else NOT_STARTED
    )
    written = _written(store, RunChange(after), run, keeper if begin else None)
    if written is None:
        raise RefusedError(f"run {run.id} was changed by another process while it was made")
    return written


def _written(store: Store, change: RunChange, run: Run, keeper: Keeper | None) -> Run | None:
    if keeper:
        return keeper.write(change, run)
    return change.run if store.runs.change(change, run) else None


def get(store: Store, run_id: int) -> Run:
    run = store.runs.get(run_id)
    if run is None:
        raise NotFoundError(f"there is no run {run_id}; gate list shows the runs")
    return locate(store, run)


def stop(
    store: Store, run_id: int, caller: Caller, reason: str, task_state: TaskState | None = None
) -> Run:
    """End a run, its agents, its asks and its driver."""
    while True:
        run = get(store, run_id)
        if run.task:
            must_be_a_person(caller, f"ends the run that works on {run.task}")
        change = runs.stop(run, caller, storable(reason) or "stopped", store.now(), task_state)
        why = f"run {run_id} was stopped: {change.run.reason}"
        withdrawn = withdrawals(store, run_id, caller, why)
        if store.runs.change(change._replace(asks=withdrawn), run):
            break
    for turn in store.runs.turns(run_id):
        if not turn.ended_at and turn.process and not turn.by:
            store.machine.end(parse_identity(turn.process), ("GATE_TURN", turn.id))
    # Withdraw also the asks that its agents opened while it was being stopped.
    for ask in store.asks.pending_of_run(run_id):
        permit_call.retire(store, ask, caller, why)
    return change.run


def resume(
    store: Store,
    run_id: int,
    caller: Caller,
    accept: str = "",
    seen: Mapping[str, str] | None = None,
    keeper: Keeper | None = None,
    *,
    moves: bool = True,
) -> Run:
    """Resume an ended run where it stopped; leave a waiting or running one alone.

    With a keeper only this process drives it, while the process lives. With `moves` it continues on
    this host; without, on the host that has its folder.
    """
    must_be_a_person(caller, "resumes a run")
    while True:
        run = get(store, run_id)
        if not run.has_ended:
            if moves:
                must_be_placed(run)
                must_be_here(store, run, f"gate resume {run.id}")
            if not accept:
                return run
        if run.task:
            _must_be_its_tasks(store, run)
        elif not run.folder:
            raise RefusedError(
                f"run {run_id} never got a folder to work in. Start a new one with gate run;  "
                f"gate delete {run_id} removes it"
            )
        calls = store.runs.calls(run_id)
        asks = (store.asks.get(call.ask_id) for call in calls if call.state == CallState.WAITING)
        unanswered = [
            ask.id
            for ask in asks
            if ask and ask.status in (AskStatus.TIMED_OUT, AskStatus.CANCELLED)
        ]
        change = resumption.resume(run, calls, unanswered, caller, accept, seen)
        is_in_pool = not run.host and bool(run.pool)
        if not is_in_pool and (moves or not run.host):
            # A person decides that it goes on here, for example after its host was lost.
            change = change._replace(run=change.run._replace(host=store.machine.host))
        # A worker of its pool makes its folder.
        if written := _written(store, change, run, None if is_in_pool else keeper):
            return written


def must_be_here(store: Store, run: Run, command: str) -> None:
    """Refuse a command that needs the folder of a run, and say where it works.

    Raises:
        RefusedError: The run is at home on another host, or waits in a pool.
    """
    if run.host not in ("", store.machine.host):
        raise RefusedError(
            f"run {run.id} is on host {run.host}: run there: {command}. "
            f"If that host is lost: gate host forget {run.host}"
        )
    if not run.host and run.pool:
        raise RefusedError(
            f"run {run.id} waits in pool {run.pool} and has no folder now. Answer its question: "
            "a worker of the pool then goes on with it"
        )


def _must_be_its_tasks(store: Store, run: Run) -> None:
    """Refuse a run whose task is closed or has a newer run: one run works on a task at a time."""
    task = store.tasks.get(run.task)
    if task and task.run != run.id:
        raise RefusedError(
            f"run {run.id} worked on {task.id}, which was reopened since then. "
            f"See: gate task show {task.id}"
        )
    if task and task.state in (TaskState.CLOSED, TaskState.DEFERRED):
        raise RefusedError(f"{task.id} is {task.state}: gate task reopen {task.id}")


def fork(
    store: Store,
    workspace: Workspace,
    run_id: int,
    path: str,
    caller: Caller,
    seen: Mapping[str, str] | None = None,
    keeper: Keeper | None = None,
) -> tuple[Run, Place]:
    """Create a run with the records before a call, and the folder as it was then."""
    must_be_a_person(caller, "forks a run")
    run, calls = get(store, run_id), store.runs.calls(run_id)
    if run.task:
        raise RefusedError(
            f"run {run_id} works on {run.task}, and a task has one run at a time: gate task reopen "
            f"{run.task} works on it again, once it has ended"
        )
    shared = journals.list_shared(calls, path)
    carried = journals.build_carried(shared, store.runs.turns(run_id))
    new = Run(
        id=0,
        flow=run.flow,
        source=run.source,
        source_digest=run.source_digest,
        prompt=run.prompt,
        project=run.project,
        started_by=caller.principal,
        created_at=store.now(),
        state=RunState.STUCK,
        reason=_BEING_MADE,
        parent=run.id,
        parent_path=path,
        project_key=run.project_key,
        host=store.machine.host,
    )
    made = store.runs.add(new, [runs.build_started_event(new, caller, seen)], carried)
    try:
        place = _place_again(workspace, run, calls, path, made)
    except GateError:
        # Nothing has happened yet, so there is nothing to resume.
        delete(store, made.id, caller)
        raise
    return _open(store, made, place, begin=True, keeper=keeper), place


def _place_again(
    workspace: Workspace, run: Run, calls: list[FlowCall], path: str, made: Run
) -> Place:
    if not run.branch:
        return place_of(run)
    snapshot = _snapshot(workspace, run, calls, path)
    return workspace.make(run.project, made.id, snapshot=snapshot, token=_token(made))


def _token(run: Run) -> str:
    """Return a text that tells this run from one with its number in a deleted store."""
    return run.created_at.isoformat()


def _snapshot(workspace: Workspace, run: Run, calls: list[FlowCall], path: str) -> str:
    """Return the folder as it was before a call: snapshots are taken before agents work."""
    later = [call for call in calls if journals.order(call.path) >= journals.order(path)]
    taken = next((call.snapshot for call in later if call.snapshot), "")
    return taken or workspace.snapshot(place_of(run), run.id, f"{path}-fork")


def signal(store: Store, run_id: int, status: str, message: str, caller: Caller) -> Ask:
    """Give a run the signal that it waits for, without opening its session."""
    must_be_a_person(caller, "signals for a run")
    ask = only_ask(store, run_id)
    given = signals.parse_signal({"status": status, "summary": message})
    if given is None:
        raise UsageError(f"expected a status such as DONE, APPROVED or STOP, got {status!r}")
    caller = caller._replace(via="signal")
    if ask.question.gates:
        if given.status not in (*_YES, *_NO):
            yes, no = ", ".join(_YES), ", ".join(_NO)
            raise UsageError(f"{ask.id} is a gate: its status is {yes} to go on, or {no}")
        value = "yes" if given.status in _YES else "no"
        return answer_ask.answer(store, ask.id, caller, Given(value, message))[1]
    if ask.question.kind not in (AskKind.TEXT, AskKind.CHOICE):
        raise UsageError(f"{ask.id} is a {ask.question.kind}: gate answer {ask.id}")
    said = message or given.status
    answer = Given({"other": said} if ask.question.kind == AskKind.CHOICE else said, given.status)
    return answer_ask.answer(store, ask.id, caller, answer)[1]


def delete(store: Store, run_id: int, caller: Caller) -> Run:
    """Delete an ended run; the audit trail keeps its events."""
    run = get(store, run_id)
    runs.must_be_ended(run)
    told = runs.event(
        EventKind.RUN_DELETED, run, caller.actor, via=caller.via, evidence=caller.evidence
    )
    if not store.runs.delete(run, [told]):
        raise RefusedError(f"run {run_id} was just resumed by another process")
    return run
