"""The port to the files of a run in its agents' folder."""

from __future__ import annotations

from typing import Protocol


class SignalFiles(Protocol):
    """Reads and writes them. Agents write in the same folder, so nothing there is trusted."""

    def prepare(self, folder: str, role: str, turn_id: str) -> str:
        """Make the folder of a turn's signal file; return the whole path of the file.

        Raises:
            GateError: Something else is in the folder's place.
        """
        ...

    def read(self, folder: str, role: str, turn_id: str) -> str | None:
        """Return the text in the file of this turn; None for a link, a device, or more than 1 MB."""
        ...

    def remove(self, folder: str, role: str, turn_id: str) -> None:
        """Remove the file of a turn that is over, before its session is opened once more.

        Raises:
            GateError: It is still there.
        """
        ...

    def write_context(self, folder: str, words: str) -> None:
        """Write the words of the run so far into a file for its agents."""
        ...
