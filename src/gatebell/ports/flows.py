"""Where a run finds its code, its roles and the settings of its project."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from gatebell.domain.runs.flow_terms import FlowTerms
    from gatebell.domain.runs.roles import Role
    from gatebell.domain.runs.runs import Run
    from gatebell.domain.tasks.backlog_settings import BacklogTerms


class StepWork(Protocol):
    """The code of one step or branch of a flow, which its author wrote."""

    def __call__(self) -> Any:
        """Do it; the result is recorded."""
        ...


class FlowWork(Protocol):
    """The code of a whole flow, which its author wrote."""

    def __call__(self, prompt: str, /) -> Any:
        """Work on the prompt of the run; the result is that of the run."""
        ...


class LoadedFlow(NamedTuple):
    """The code of a run."""

    work: FlowWork
    terms: FlowTerms
    digest: str
    """Of its source, as runs record it."""


class Flows(Protocol):
    """Loads the code of runs."""

    def load(self, run: Run) -> LoadedFlow:
        """The flow of this run.

        Raises:
            GateError: It cannot be found or read.
        """
        ...


class Roles(Protocol):
    """Finds the roles of agents."""

    def find(self, run: Run, name: str) -> Role:
        """The role of this name, with all that an agent of this run is told.

        Raises:
            NotFoundError: There is none of this name.
        """
        ...


class Backlogs(Protocol):
    """Reads how the tasks of a project are worked on."""

    def terms(self, project: str) -> BacklogTerms:
        """With the branch that its tasks start from.

        Raises:
            GateError: The project's file cannot be read.
        """
        ...

    def problem(self, project: str) -> str:
        """Why the tasks of a project cannot be worked on, or nothing."""
        ...


class RunLog(Protocol):
    """Keeps what the agents of runs say, for people who watch."""

    def write(self, run: Run, path: str, speaker: str, text: str) -> None:
        """Add a text of one call: of its role, its phase or its log."""
        ...
