"""A token of one store changes nothing outside that store when an agent uses it."""

from __future__ import annotations

import os

import pytest
from tests.support.file_agent import set_up
from tests.support.people import a_person

from gatebell.app.wiring import open_store, open_throwaway_store
from gatebell.cli.server import up
from gatebell.services.people import manage_people

REFUSED = 7


@pytest.fixture
def home(kept_world):
    ran = kept_world.ada.gate("install", "claude", "--yes", "--as", "ada")
    assert ran.code == 0, ran.err
    return kept_world.folder / "home"


def settings(home):
    return (home / ".claude" / "settings.json").read_bytes()


def other_store(world, open_it):
    """Make another store with a person; return the variables that name both."""
    path = str(world.folder / "other" / "gate.db")
    os.makedirs(os.path.dirname(path), mode=0o700)
    store = open_it(path)
    token = manage_people.add(store, a_person("root"), "eve")
    store.close()
    return {"GATE_STORE": path, "GATE_TOKEN": token}


@pytest.mark.proves("HOOK-31")
@pytest.mark.parametrize("open_it", [open_throwaway_store, open_store])
@pytest.mark.parametrize(
    "words",
    [
        ("uninstall", "claude"),
        ("install", "claude", "--yes"),
        ("install", "claude", "--yes", "--no-gate", "Bash(git push *)"),
    ],
)
def test_token_of_another_store_removes_no_gate(kept_world, home, open_it, words):
    before, theirs = settings(home), other_store(kept_world, open_it)
    ran = kept_world.claude.gate(*words, "--as", "eve", **theirs)
    assert ran.code == REFUSED and "GATE_STORE" in ran.err, ran
    assert settings(home) == before


@pytest.mark.proves("HOOK-31")
def test_throwaway_token_makes_no_first_installation(kept_world):
    theirs = other_store(kept_world, open_throwaway_store)
    ran = kept_world.claude.gate("install", "codex", "--yes", "--as", "eve", **theirs)
    assert ran.code == REFUSED and "throwaway store" in ran.err
    assert not (kept_world.folder / "home" / ".codex").exists()


@pytest.mark.proves("HOOK-31")
def test_token_of_the_installed_store_counts(kept_world, home):
    """It also holds for another name of that store, and for a record that names no store."""
    link = kept_world.folder / "link.db"
    link.symlink_to(kept_world.path)
    mine = {"GATE_TOKEN": kept_world.tokens["ada"], "GATE_STORE": str(link)}
    assert kept_world.claude.gate("install", "claude", "--yes", "--as", "ada", **mine).code == 0
    record = home / ".local" / "share" / "gatebell" / "installed" / "claude-user.json"
    older = record.read_text(encoding="utf-8").replace(kept_world.path, "")
    record.write_text(older, encoding="utf-8")
    assert kept_world.claude.gate("uninstall", "claude", "--yes", "--as", "ada", **mine).code == 0
    assert not record.exists()


@pytest.mark.proves("HOOK-31")
@pytest.mark.parametrize(
    "words",
    [
        ("init",),
        ("template", "set", "ok", "approved", "--project"),
        ("listen", "--no-prompt"),
    ],
)
def test_throwaway_token_changes_no_project(kept_world, words):
    project = kept_world.folder / "project"
    (project / ".git").mkdir()
    theirs = other_store(kept_world, open_throwaway_store)
    before = sorted(project.rglob("*"))
    ran = kept_world.claude.gate(*words, "--as", "eve", **theirs)
    assert ran.code == REFUSED and "throwaway store" in ran.err, ran
    assert sorted(project.rglob("*")) == before


@pytest.mark.proves("HOOK-31")
def test_throwaway_inbox_of_an_agent_takes_no_questions(kept_world, monkeypatch):
    set_up(str(kept_world.folder / "project"))
    theirs = other_store(kept_world, open_throwaway_store)
    monkeypatch.setenv("CLAUDECODE", "1")
    store = open_store(theirs["GATE_STORE"])
    begun = []
    monkeypatch.setattr("gatebell.file_protocol.listener.Beside.begin", begun.append)
    up._listen(store)()
    store.close()
    assert begun == []
