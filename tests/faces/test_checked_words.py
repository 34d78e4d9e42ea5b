"""Commands refuse missing folders and roles, and name the next step."""

from __future__ import annotations

import pytest


@pytest.mark.proves("EASE-16")
def test_inbox_of_missing_folder_is_refused(world):
    told = world.ada.gate("inbox", "--project", "/nope")
    assert told.code == 2 and "--project: /nope is not a folder" in told.err
    assert world.ada.gate("inbox", "--project", ".").code == 0


@pytest.mark.proves("EASE-16")
def test_inbox_of_removed_project_is_shown(world):
    gone = world.folder / "gone"
    gone.mkdir()
    world.ada.folder, kept = gone, world.ada.folder
    world.ada.gate("ask", "Why?", "--no-wait")
    world.ada.folder = kept
    gone.rmdir()
    assert "Why?" in world.ada.gate("inbox", "--project", str(gone)).out


@pytest.mark.proves("EASE-17")
def test_task_of_unknown_role_is_refused(world):
    made = world.ada.gate("task", "create", "One", "--role", "cod", "--as", "ada")
    assert made.code == 5 and "there is no role 'cod'" in made.err
    assert "did you mean 'code'?" in made.err and "Write its instructions to" in made.err
    assert world.store.tasks.projects() == []
