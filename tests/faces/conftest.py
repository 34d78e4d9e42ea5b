"""The real command line, in separate processes, on a throwaway store."""

from __future__ import annotations

import pytest
from tests.support.block_shell import AGENT, BlockShell
from tests.support.shells import World, world

from gatebell.app import environment

__all__ = ["world"]


@pytest.fixture
def kept_world(tmp_path):
    """A world whose people may change files outside the store, in an agent's shell too."""
    made = World(tmp_path, kept=True)
    yield made
    made.store.close()


@pytest.fixture
def inbox(tmp_path, monkeypatch):
    """Return the store that `Gate()` finds, in a project of its own."""
    path = str(tmp_path / "gate.db")
    (tmp_path / "project" / ".gate").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "project")
    monkeypatch.setenv("GATE_STORE", path)
    monkeypatch.setattr(environment, "ancestors", list)
    return path


@pytest.fixture
def shell(world):
    made = BlockShell(world)
    yield made
    made.kill()


@pytest.fixture
def flow_shell(shell):
    shell.write_project(dict.fromkeys(("architect", "coder", "reviewer", "deployer"), AGENT))
    return shell
