"""Every store there is, behind the same door."""

from __future__ import annotations

from tests.support.stores import store

__all__ = ["store"]
