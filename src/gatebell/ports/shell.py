"""The port to a parser of shell lines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from gatebell.domain.permissions.shell_lines import Script


class ShellParser(Protocol):
    """Parses a line as a shell would."""

    def __call__(self, line: str, /) -> Script:
        """Return the commands of a line. A line that cannot be read has a `problem`."""
        ...
