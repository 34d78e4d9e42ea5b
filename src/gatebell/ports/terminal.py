"""The port to the terminal of a program that uses the library."""

from __future__ import annotations

from typing import Protocol


class Terminal(Protocol):
    """Talks with the person who runs the program."""

    def is_attended(self) -> bool:
        """Tell whether a person can read and type here."""
        ...

    def show(self, text: str) -> None:
        """Print a text that is inert already."""
        ...

    def ask_for_line(self, label: str) -> None:
        """Print a label, behind which the person types."""
        ...

    def is_line_ready(self) -> bool:
        """Tell whether a read would return at once. A read that blocks cannot be given up."""
        ...

    def read_line(self) -> str:
        """Read a line, without the blanks around it.

        Raises:
            EOFError: The person ended the input.
        """
        ...

    def drop_typed_ahead(self) -> None:
        """Forget lines that were typed before now."""
        ...
