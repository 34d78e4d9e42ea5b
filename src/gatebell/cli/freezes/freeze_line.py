"""The line with which lists begin while everything is frozen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gatebell.cli.screen import add_colour

if TYPE_CHECKING:
    from gatebell.ports.backends.backend import Backend


def print_freeze(backend: Backend) -> None:
    """Print who froze everything and how to lift it; nothing without a freeze."""
    if freeze := backend.find_freeze():
        # Imported here: most of the time nothing is frozen.
        from gatebell.terminal.freezes import describe_frozen

        print(add_colour(describe_frozen(freeze), "red"))
