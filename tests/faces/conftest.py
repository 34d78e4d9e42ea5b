"""The real command line, in separate processes, on a throwaway store."""

from __future__ import annotations

import pytest
from tests.support.shells import World, world

__all__ = ["world"]


@pytest.fixture
def kept_world(tmp_path):
    """A world whose people may change files outside the store, in an agent's shell too."""
    made = World(tmp_path, kept=True)
    yield made
    made.store.close()
