"""The real command line, in processes of its own, on a throwaway store."""

from __future__ import annotations

import pytest
from tests.support.shells import World, world

__all__ = ["world"]


@pytest.fixture
def kept_world(tmp_path):
    """One whose people may change what lies outside of the store, in an agent's shell too."""
    made = World(tmp_path, kept=True)
    yield made
    made.store.close()
