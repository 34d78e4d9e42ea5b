"""The real command line, in separate processes, on a throwaway store."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.block_shell import AGENT, BlockShell
from tests.support.shells import THROUGH_SERVER, World, world

from gatebell.app import environment

__all__ = ["world"]

NOT_THROUGH_SERVER = Path(__file__).parent / "not_through_server.txt"


def list_not_through_server() -> dict[str, str]:
    """Return the beginnings of test ids that need a store on their own machine, with reasons."""
    lines = NOT_THROUGH_SERVER.read_text(encoding="utf-8").splitlines()
    return dict(line.split("  ", 1) for line in lines if line and not line.startswith("#"))


def pytest_collection_modifyitems(config, items):
    """Choose the tests of `make server`: those whose commands can have a server in between."""
    if not THROUGH_SERVER:
        return
    listed = tuple(f"tests/faces/{one}" for one in list_not_through_server())
    left_out = [
        item
        for item in items
        if not {"world", "kept_world"} & set(item.fixturenames) or item.nodeid.startswith(listed)
    ]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in left_out]


@pytest.fixture
def kept_world(tmp_path):
    """A world whose people may change files outside the store, in an agent's shell too."""
    made = World(tmp_path, kept=True)
    yield made
    made.close()


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
