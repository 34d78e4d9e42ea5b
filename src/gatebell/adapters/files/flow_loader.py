"""Load the code of runs: a flow file, or the flow that works on a task."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gatebell.adapters.files import backlog_settings, flow_files
from gatebell.adapters.files.flow_files import split_flow_name
from gatebell.domain.tasks.backlog_settings import BacklogTerms
from gatebell.errors import GateError
from gatebell.ports.flows import LoadedFlow
from gatebell.services.tasks import backlog, task_flow

if TYPE_CHECKING:
    from gatebell.domain.runs.runs import Run
    from gatebell.ports.store import Store


class FlowLoader:
    """Loads the code of a store's runs from files."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def load(self, run: Run) -> LoadedFlow:
        if run.task:
            return self._load_task_flow(run)
        path, name = run.source, run.flow
        if not path:
            # It was started from another machine, which knows only the flow's name.
            path, name = flow_files.find(run.project, run.flow), split_flow_name(run.flow)[1]
        source, digest = flow_files.read(path)
        name, found = flow_files.choose(flow_files.load(path, source, digest), name)
        return LoadedFlow(found.work, found.terms, digest, name, path)

    def _load_task_flow(self, run: Run) -> LoadedFlow:
        try:
            given = backlog_settings.read(run.project)
        except GateError:
            # A run that has begun has its own plan, and goes on while the file is repaired.
            given = BacklogTerms()
        terms = task_flow.terms(given, backlog.get(self._store, run.task))
        return LoadedFlow(task_flow.work_task, terms, task_flow_digest())


def task_flow_digest() -> str:
    """Return the digest of the flow that works on tasks, as runs record it."""
    return flow_files.read(task_flow.__file__)[1]
