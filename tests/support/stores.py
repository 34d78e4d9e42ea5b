"""Changes of stores that only tests make."""

from __future__ import annotations


def make_lasting(store) -> None:
    """As if this store were not made for tests."""
    store.connection.raw.execute("DELETE FROM traits")
