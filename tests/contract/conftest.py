"""Each kind of store, through the same interface."""

from __future__ import annotations

from tests.support.stores import place, store

__all__ = ["place", "store"]
