"""One project in two clones, and runs of other hosts, on the real command line."""

from __future__ import annotations

import os
import subprocess

import pytest
from tests.support.shells import Shell, world

from gatebell.domain.runs.journals import Carried
from gatebell.domain.runs.runs import Run

__all__ = ["world"]

ADDRESS = "https://ada@git.example.org/acme/shop.git"


@pytest.fixture
def clones(world):
    """Return a shell of ada in each of two clones."""
    shells = []
    for name in ("one", "two"):
        folder = str(world.folder / name)
        subprocess.run(["git", "init", "-q", folder], check=True)
        subprocess.run(["git", "-C", folder, "remote", "add", "origin", ADDRESS], check=True)
        shells.append(Shell(folder, world.ada.environ, "ada"))
    return shells


@pytest.mark.proves("HOST-23")
def test_clones_share_inbox_and_backlog(world, clones):
    one, two = clones
    asked = world.ask("Which region?", shell=one)
    assert two.gate("inbox", "--project", ".", "--ids").out.split() == [asked]
    assert world.plain.gate("inbox", "--project", ".", "--ids").out == ""
    assert one.gate("task", "create", "Add login").code == 0
    (task,) = world.store.tasks.page(os.path.realpath(one.folder), "all", 9)
    assert two.gate("task", "list", "--ids").out.split() == [task.id]
    assert (
        task.id in two.gate("task", "next").out and task.id in two.gate("task", "export", "-").out
    )
    assert world.plain.gate("task", "list", "--ids").out == ""
    document = two.gate("inbox", "--json").out
    assert '"project_key": "git.example.org/acme/shop"' in document


@pytest.mark.proves("HOST-24")
def test_gate_of_one_clone_is_stored_with_the_key(world, clones):
    one, _ = clones
    assert one.gate("gates", "add", "Bash(git push *)", "--project", ".").code == 0
    (rule,) = world.store.rules.in_force()
    assert rule.project_key == "git.example.org/acme/shop"


@pytest.mark.proves("HOST-17")
def test_folder_of_other_host_is_not_removed(world, clones):
    one, _ = clones
    root = str(world.folder / "same-path")
    os.mkdir(root)
    made = world.store.runs.add(
        Run(0, "f", "", "", "", root, "person:ada", world.store.now(), root, root, "gate/run-1",
            "c0", "completed", ended_at=world.store.now(), host="ci-7"),
        [], Carried(),
    )  # fmt: skip
    assert "Nothing to clean" in one.gate("clean").out
    refused = one.gate("delete", str(made.id))
    assert refused.code == 7 and "is on host ci-7: run gate delete" in refused.err
    assert one.gate("delete", str(made.id), "--force").code == 0
    assert os.path.isdir(root) and world.store.runs.get(made.id) is None
