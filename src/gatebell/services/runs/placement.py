"""Runs that were started from another machine: a worker makes their folder in its own checkout."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gatebell.domain.audit.events import EventKind
from gatebell.domain.people.principals import must_be_a_person
from gatebell.domain.runs import runs
from gatebell.domain.runs.journals import Carried
from gatebell.domain.runs.runs import Run
from gatebell.domain.runs.wanted_runs import must_be_flow_name
from gatebell.domain.text.display import inert_line, storable
from gatebell.errors import RefusedError, UsageError

if TYPE_CHECKING:
    from gatebell.domain.people.principals import Caller
    from gatebell.domain.runs.wanted_runs import WantedRun
    from gatebell.ports.flows import LoadedFlow
    from gatebell.ports.store import Store
    from gatebell.services.runs.run_journal import Branch


def create(store: Store, wanted: WantedRun, caller: Caller) -> Run:
    """Create a ready run without a folder, for a worker that has a checkout of its project."""
    must_be_a_person(caller, "starts a run from another machine")
    must_be_flow_name(wanted.flow)
    if not wanted.project_key:
        raise UsageError("name the project: its key is what its clones have in common")
    new = Run(
        id=0,
        flow=storable(wanted.flow),
        source="",
        source_digest=wanted.source_digest,
        prompt=storable(wanted.prompt),
        project="",
        started_by=caller.principal,
        created_at=store.now(),
        project_key=storable(wanted.project_key),
        pool=wanted.pool,
    )
    return store.runs.add(new, [runs.build_started_event(new, caller)], Carried())


def locate(store: Store, run: Run) -> Run:
    """Return the run with the checkout that a worker found for it.

    Its row names neither project nor file, because what a row is made with never changes.
    """
    if run.project or not run.folder or run.task:
        return run
    for entry in store.audit.of_subject(run.name):
        if entry.event.kind == EventKind.RUN_PLACED:
            told = entry.event.content
            run = run._replace(project=told["project"], source=told["source"], flow=told["flow"])
    return run


def place(branch: Branch, loaded: LoadedFlow) -> None:
    """Make the folder of a run in the checkout of the worker that claimed it."""
    drive, run = branch.drive, branch.drive.run
    if run.source or run.folder or run.task:
        return
    made = drive.needs.workspace.make(run.project, run.id, token=run.created_at.isoformat())
    moved = run._replace(
        flow=loaded.name, source=loaded.source, source_digest=run.source_digest or loaded.digest,
        folder=made.folder, root=made.root, branch=made.branch, base=made.base,
    )  # fmt: skip
    drive.write(runs.place(run, moved, made.remarks))


def must_be_placed(run: Run) -> None:
    """Refuse to drive a run here that has no folder yet."""
    if run.is_unplaced:
        raise RefusedError(
            f"run {run.id} has no folder yet: a worker with a checkout of "
            f"{inert_line(run.project_key)} makes it. Run gate worker in such a checkout"
        )
