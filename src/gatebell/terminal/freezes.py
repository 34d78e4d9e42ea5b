"""The sentence with which screens and lists say that everything is frozen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gatebell.domain.freezes import LIFT, describe_freeze
from gatebell.terminal.local_times import localise

if TYPE_CHECKING:
    from gatebell.domain.freezes import Freeze


def describe_frozen(freeze: Freeze) -> str:
    """Return who froze everything, when and why, and the command that lifts it."""
    return f"{localise(describe_freeze(freeze))}. Lift it: {LIFT}"
