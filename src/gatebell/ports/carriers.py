"""The ports by which a run travels: its folder and its sessions go to a remote and come back."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gatebell.domain.runs.runs import Run
    from gatebell.ports.workspaces import Place


class Sent(NamedTuple):
    """Where a run's folder and sessions were sent to."""

    commit: str
    ref: str


class Received(NamedTuple):
    """A run's folder on this host, and the files that came with it."""

    place: Place
    files: Mapping[str, bytes]
    """Empty if the folder is not new."""
    is_new: bool
    """False: the folder was still here, unchanged since the run left."""


class Carrier(Protocol):
    """Sends the folders of runs to a remote, and makes the same folders from there."""

    pool: str
    """The pool of hosts among which runs travel."""

    def find_project(self, key: str) -> str:
        """Return this host's folder of a project, or an empty text."""
        ...

    def send(self, run: Run, files: Mapping[str, bytes]) -> Sent:
        """Send the folder of a run as it is now, with these files.

        Raises:
            GateError: It was not sent completely, or a part of it cannot travel.
        """
        ...

    def receive(self, run: Run, sent: Sent) -> Received:
        """Make the folder of a run on this host.

        Raises:
            ChangedRemoteError: The remote has something else than what was sent.
            GateError: The remote cannot be reached, or the folder cannot be made.
        """
        ...

    def drop(self, run: Run, sent: Sent) -> None:
        """Remove what was sent from the remote.

        Raises:
            GateError: The remote cannot be reached.
        """
        ...


class SessionLogs(Protocol):
    """Reads and writes the logs by which agents' programs continue a session."""

    def read(self, cli: str, session: str) -> tuple[str, bytes] | None:
        """Return the file's name and content; None if the program keeps no log of it here.

        Raises:
            GateError: The log is too large to travel.
        """
        ...

    def write(self, name: str, content: bytes, before: str, folder: str) -> None:
        """Put a log where the program of this host finds it.

        Args:
            name: the name that `read` returned
            content: its content
            before: the folder in which the agent worked before
            folder: the folder in which it works from now on
        """
        ...
