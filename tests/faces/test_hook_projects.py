"""A gate of one project, and sessions that use another path of the project."""

from __future__ import annotations

import json

import pytest
from tests.support.hook_session import Session, decision

WAYS = ("as it is", "by a link", "by dots", "in a folder of it", "by its variable", "both")


def reach_project(world, way):
    """Return the folder of an event, and the variable of Claude Code."""
    project = world.plain.folder
    link = world.folder / "link"
    link.symlink_to(project)
    (project / "sub").mkdir()
    return {
        "by a link": (link, ""),
        "by dots": (f"{project}/sub/..", ""),
        "in a folder of it": (link / "sub", ""),
        "by its variable": (world.folder, project),
        "both": (world.folder, link),
    }.get(way, (project, ""))


@pytest.mark.proves("HOOK-15")
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("named", ["project", "link"])
def test_gate_of_a_project_holds_by_every_path(world, way, named):
    session = Session(world)
    cwd, variable = reach_project(world, way)
    world.plain.gate("gates", "add", "Bash(git push *)", "--project", str(world.folder / named))
    world.plain.environ |= {
        "CLAUDE_CODE_SESSION_ATTENDED": "0", "CLAUDE_PROJECT_DIR": str(variable),
    }  # fmt: skip
    event = session.event("PreToolUse", tool_use_id="t1", cwd=str(cwd))
    assert "defer" in session.hook(event, "--defer").out


@pytest.mark.proves("HOOK-15")
def test_denial_of_a_project_holds_by_its_variable(world):
    session = Session(world)
    world.plain.gate("gates", "deny", "Bash(git push *)", "--project", str(world.plain.folder))
    world.plain.environ["CLAUDE_PROJECT_DIR"] = str(world.plain.folder)
    event = session.event("PermissionRequest", cwd=str(world.folder))
    assert decision(session.hook(event, "--limit", "5").out)["behavior"] == "deny"
    assert world.store.asks.list_settled(9) == []


@pytest.mark.proves("HOOK-15")
def test_gate_of_a_project_ends_outside_it(world):
    session = Session(world)
    world.plain.gate("gates", "add", "Bash(git push *)", "--project", str(world.plain.folder))
    beside = world.folder / "project2"
    beside.mkdir()
    event = session.event("PreToolUse", tool_use_id="t1", cwd=str(beside))
    assert json.loads(session.hook(event, "--defer", "--guarded").out) == {}
