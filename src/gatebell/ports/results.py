"""Results of a conditional write."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gatebell.domain.records import NamedTuple

if TYPE_CHECKING:
    from gatebell.domain.asks.asks import Ask


class Done(NamedTuple):
    """The write happened and is synced."""


class Conflict(NamedTuple):
    """Another process was faster; nothing was written."""

    current: Ask | None


Result = Done | Conflict
