"""All errors that gatebell raises on purpose, with the exit code of each on the command line.

GateError                     1   something unexpected
├── UsageError                2   the request itself is wrong
│   └── UnknownOptionError    2   a keyword that the call does not take
├── NotAnsweredError         11   the ask has no answer yet
│   ├── AskExpiredError       3   the deadline passed first
│   └── AskCancelledError     4   the ask was cancelled
├── NotFoundError             5   there is not such an ask, person or group
├── AlreadySettledError       6   another answer settled the ask first
├── RefusedError              7   this caller may not do this
│   ├── InvalidAnswerError    7   the answer does not fit the question
│   ├── AgentRefusedError     7   an agent tried what only a person may do
│   └── FrozenError           7   a person has frozen everything
├── DeliveryError             1   a notification could not be sent
├── MissingAgentError         1   an agent's program is not there
├── StepFailedError           1   a call of a flow failed
│   └── BranchFailedError     1   a branch of a parallel call failed
├── MergeConflictError        1   two branches change the same thing in two ways
├── CheckedOutError           1   a branch cannot be written while it is checked out
├── UnfinishedError          13   a workflow's run is stuck or failed
└── StoreError                8   the store cannot be read or written
    └── ServerError           8   the server cannot be reached, or it failed

An error's text is for the person who reads it. It gives the fault, and then what to do:

    from gatebell import Gate
    from gatebell.errors import AskExpiredError

    try:
        name = Gate().ask("Which name?", timeout=600).value
    except AskExpiredError:
        name = "untitled"
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any


class GateError(Exception):
    """Something unexpected happened, and nothing was decided; `gate doctor` checks the setup."""

    exit_code = 1

    def __init__(self, message: str | None = None) -> None:
        super().__init__(message or self.__class__.__doc__)


class UsageError(GateError):
    """The request does not make sense; see --help."""

    exit_code = 2


class UnknownOptionError(UsageError, TypeError):
    """A call was given a keyword that it does not take."""


class NotAnsweredError(GateError):
    """The ask has no answer yet; `gate wait` waits for it."""

    exit_code = 11


class AskExpiredError(NotAnsweredError):
    """The deadline passed before a person answered; ask again, or give a default."""

    exit_code = 3


class AskCancelledError(NotAnsweredError):
    """The ask was cancelled."""

    exit_code = 4


class NotFoundError(GateError):
    """It does not exist here; `gate inbox` lists the waiting asks."""

    exit_code = 5


class AlreadySettledError(GateError):
    """This ask is already settled."""

    exit_code = 6


class RefusedError(GateError):
    """You may not do this."""

    exit_code = 7


class InvalidAnswerError(RefusedError):
    """The answer does not fit the question."""


class AgentRefusedError(RefusedError):
    """Only a person may do this, and an agent seems to be at work here."""


class FrozenError(RefusedError):
    """A person has frozen everything; `gate unfreeze` lifts it."""


class StepFailedError(GateError):
    """A call of the flow failed; the flow sees this the first time and at every replay."""

    def __init__(
        self, kind: str, message: str, path: str = "", where: str = "", phase: str = ""
    ) -> None:
        about = ", ".join(filter(None, [phase, where]))
        text = f"{kind}: {message}" if message else kind
        super().__init__(f"{text} ({about})" if about else text)
        self.kind = kind
        """The name of the exception that the call raised."""
        self.message = message
        self.path = path
        self.where = where
        """The line of your code that raised it, for example `.gate/flows/feature.py:12`."""


class BranchFailedError(StepFailedError):
    """A branch of `flow.parallel` failed; `outcomes` has the result of every branch."""

    def __init__(self, message: str, path: str, outcomes: list[Any]) -> None:
        super().__init__("BranchFailedError", message, path)
        self.outcomes = outcomes

    def __str__(self) -> str:
        return self.message


class MergeConflictError(GateError):
    """Two branches change the same thing in two ways, and a person must decide."""

    def __init__(self, names: tuple[str, str], files: Sequence[str]) -> None:
        super().__init__(
            f"{names[0]} and {names[1]} cannot be merged, both have changed {', '.join(files)}: "
            "settle it on one of the two branches, then try again."
        )
        self.names = names
        self.files = tuple(files)
        """As git names them, which may be anything."""


class CheckedOutError(GateError):
    """The branch is checked out in a folder, so it is not written."""

    def __init__(self, branch: str, where: str) -> None:
        super().__init__(
            f"{branch} is checked out in {where}, so it is not written: switch to another branch "
            "there (if that folder is gone: `git worktree prune`), or merge there yourself."
        )
        self.where = where


class NoWorktreeError(UsageError):
    """The project has no state in git from which a worktree could start."""


class ChangedRemoteError(GateError):
    """The remote has something else than what was sent to it."""


class UnfinishedError(GateError):
    """A workflow came to no result: its run is stuck or failed."""

    exit_code = 13

    def __init__(self, message: str, run_id: int) -> None:
        super().__init__(message)
        self.run_id = run_id


class StoreError(GateError):
    """The store cannot be read or written; `gate doctor` says why."""

    exit_code = 8


class ServerError(StoreError):
    """The server cannot be reached, or it failed; `gate doctor` says why."""


class DeliveryError(GateError):
    """A notification could not be sent; `gate notify` shows by which route."""

    def __init__(
        self, message: str | None = None, *, is_gone: bool = False, wait_seconds: float = 0.0
    ) -> None:
        super().__init__(message)
        self.is_gone = is_gone
        """The receiver does not exist any more."""
        self.wait_seconds = wait_seconds
        """How long the service wants to be left alone."""


class MissingAgentError(GateError):
    """An agent's program cannot be started: install it, or name another in the role."""
