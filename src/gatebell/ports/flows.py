"""The ports to a run's code, its roles and the settings of its project."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from gatebell.domain.runs.flow_terms import FlowTerms
    from gatebell.domain.runs.roles import Role
    from gatebell.domain.runs.runs import Run
    from gatebell.domain.tasks.backlog_settings import BacklogTerms


class StepWork(Protocol):
    """The code of one step or branch of a flow, from the flow's author."""

    def __call__(self) -> Any:
        """Do the work; the result is recorded."""
        ...


class FlowWork(Protocol):
    """The code of a whole flow, from its author."""

    def __call__(self, prompt: str, /) -> Any:
        """Work on the prompt of the run; the result is that of the run."""
        ...


class LoadedFlow(NamedTuple):
    """The code of a run."""

    work: FlowWork
    terms: FlowTerms
    digest: str
    """The digest of its source, as runs record it."""
    name: str = ""
    source: str = ""
    """The file in which a flow was found that the run only names."""


class Flows(Protocol):
    """Loads the code of runs."""

    def load(self, run: Run) -> LoadedFlow:
        """Return the flow of this run.

        Raises:
            GateError: It cannot be found or read.
        """
        ...


class Roles(Protocol):
    """Finds the roles of agents."""

    def find(self, run: Run, name: str) -> Role:
        """Return the role of this name, with its instructions for an agent of this run.

        Raises:
            NotFoundError: The role does not exist.
        """
        ...


class Backlogs(Protocol):
    """Reads the settings for the tasks of a project."""

    def terms(self, project: str) -> BacklogTerms:
        """Return the settings, with the branch from which tasks start.

        Raises:
            GateError: The project's file cannot be read.
        """
        ...

    def key(self, project: str) -> str:
        """Return the key of a project: the same in each clone, on every host."""
        ...

    def problem(self, project: str) -> str:
        """Return why the tasks of a project cannot be worked on, or an empty text."""
        ...


class RunLog(Protocol):
    """Keeps the words of a run's agents, for people who watch."""

    def write(self, run: Run, path: str, speaker: str, text: str) -> None:
        """Add a text of one call.

        Args:
            run: the run
            path: the path of the call
            speaker: its role, its phase, or `log`
            text: the words
        """
        ...
