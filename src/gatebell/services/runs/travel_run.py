"""Send a run to its pool when it parks, and make its folder on the host that takes it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from gatebell.domain.enums import CallState
from gatebell.domain.runs import own_paths, travel
from gatebell.errors import ChangedRemoteError, GateError
from gatebell.ports.carriers import Sent
from gatebell.services.runs.run_journal import Postponed, place_of
from gatebell.services.runs.workspace_setup import moved_in

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gatebell.domain.runs.runs import FlowCall, Run, RunChange
    from gatebell.services.runs.dependencies import RunDependencies, Travel
    from gatebell.services.runs.run_journal import Branch, Drive


def find_sent(drive: Drive) -> Sent | None:
    """Return where the run was sent to last; None if it has never left its first home."""
    call = drive.calls.get(own_paths.TRAVEL)
    return Sent(call.snapshot, call.value["ref"]) if call else None


def leave(drive: Drive, change: RunChange) -> RunChange:
    """Send a run that parks to its pool; return the change to write.

    If that fails, the run stays at home and its reason says why. The caller writes the change only
    if the run is still its own.
    """
    pool, run = drive.needs.travel, drive.run
    # A process that keeps a run also keeps its folder.
    if not pool or run.is_kept or not run.branch or not pool.carrier.find_project(run.project_key):
        return change
    try:
        _must_be_unused(drive)
        sent = pool.carrier.send(run, _collect_logs(drive, pool))
        # A person may have opened the session since then.
        _must_be_unused(drive)
    except GateError as error:
        why = f"It stays on host {run.host} and was not sent to pool {pool.carrier.pool}: {error}"
        drive.needs.log.write(run, own_paths.TRAVEL, "log", why)
        return travel.stay(change, why)
    return travel.leave(change, pool.carrier.pool, *sent, drive.store.now())


def _must_be_unused(drive: Drive) -> None:
    if _is_in_use(drive):
        raise GateError("its agent's session is open.")


def _is_in_use(drive: Drive) -> bool:
    drive.look_again()
    return any(not turn.ended_at for turn in drive.all_turns())


def come_back_if_used(drive: Drive) -> None:
    """Take a run that just left back home, if a person opened its session at that moment.

    After it has left, no session can be opened.
    """
    record = drive.calls.get(own_paths.TRAVEL)
    if record and travel.is_under_way(record) and _is_in_use(drive):
        drive.write(travel.arrive(drive.run._replace(host=record.value["host"]), record, ()))


def _collect_logs(drive: Drive, pool: Travel) -> dict[str, bytes]:
    """Return the logs of the run's sessions, by their names."""
    sessions = dict.fromkeys((turn.cli, turn.session) for turn in drive.all_turns() if turn.session)
    found = (pool.logs.read(cli, session) for cli, session in sessions)
    return dict(log for log in found if log)


def arrive(branch: Branch) -> None:
    """Make the folder of a run that waited in a pool, on this host."""
    drive, run = branch.drive, branch.drive.run
    record = drive.calls.get(own_paths.TRAVEL)
    if not record or not travel.is_under_way(record):
        return
    pool, host = drive.needs.travel, drive.store.machine.host
    project = pool.carrier.find_project(run.project_key) if pool else ""
    if not pool or not project:
        raise Postponed(f"no worker of host {host} that travels has the project {run.project_key}")
    try:
        received = pool.carrier.receive(run, Sent(record.snapshot, record.value["ref"]))
    except ChangedRemoteError as error:
        branch.halt_at(f"{error} Look at it, then: gate resume {run.id}", "")
    except GateError as error:
        raise Postponed(f"its folder cannot be made on host {host}: {error}") from None
    for name, content in received.files.items():
        pool.logs.write(name, content, record.value["folder"], received.place.folder)
    for remark in received.place.remarks:
        drive.needs.log.write(run, own_paths.TRAVEL, "log", remark)
    again = _set_up_again(drive.calls.get(own_paths.SETUP)) if received.is_new else ()
    moved = moved_in(_use_project(run, project), received.place)
    drive.write(travel.arrive(moved, record, again))


def _set_up_again(call: FlowCall | None) -> tuple[FlowCall, ...]:
    """Return the call that prepares the folder, so that it prepares this one: ignored files do not travel."""
    if not call:
        return ()
    return (
        call._replace(state=CallState.OPEN, value=None, ended_at=None, attempt=call.attempt + 1),
    )


def use_project_here(needs: RunDependencies, run: Run, calls: Iterable[FlowCall]) -> Run:
    """Return a run with this host's folder of its project, if it came from another host.

    The row keeps the folder in which the run was started.
    """
    record = next((call for call in calls if call.path == own_paths.TRAVEL), None)
    if record is None or travel.is_under_way(record):
        return run
    return _use_project(run, needs.workspace.find_project(place_of(run)))


def _use_project(run: Run, project: str) -> Run:
    if not project or project == os.path.realpath(run.project):
        return run
    within = os.path.relpath(run.source, run.project)
    # The flow of tasks is not a file of the project.
    is_inside = os.path.isabs(run.source) and not within.startswith(os.pardir)
    source = os.path.join(project, within) if is_inside else run.source
    return run._replace(project=project, source=source)


def drop_sent(drive: Drive, sent: Sent | None) -> None:
    """Remove what is no longer needed from the remote; it may also stay there."""
    pool = drive.needs.travel
    if not sent or not pool or not pool.carrier.find_project(drive.run.project_key):
        return
    try:
        pool.carrier.drop(drive.run, sent)
    except GateError as error:
        drive.needs.log.write(
            drive.run, own_paths.TRAVEL, "log", f"{sent.ref} stays at the remote: {error}"
        )
