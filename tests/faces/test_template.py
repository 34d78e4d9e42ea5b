"""`gate template`: prepared answers, listed, shown, set and deleted."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys

import pytest


@pytest.fixture
def world(kept_world):
    return kept_world


@pytest.fixture
def project(world):
    (world.folder / "project" / ".git").mkdir()
    return world.folder / "project"


@pytest.fixture
def users(world):
    return world.folder / "home" / ".config" / "gatebell" / "templates"


def template(world, *words, code=0, **more):
    who = ("--as", "ada") if words and words[0] in ("set", "delete") else ()
    ran = world.ada.gate("template", *words, *who, **more)
    assert ran.code == code, ran
    return ran


@pytest.mark.proves("TASK-47")
def test_templates_are_set_listed_shown_and_deleted(world, project, users):
    assert "There are no templates here" in template(world).out
    ran = template(world, "set", "later", "Not now, {{person}}: {{reason}} \x1b[31m")
    path = users / "later.md"
    assert ran.out == f"Written: {path}\n"
    assert path.read_text() == "Not now, {{person}}: {{reason}} \x1b[31m\n"
    assert path.stat().st_mode & 0o777 == 0o600
    lines = template(world, "list").out.splitlines()
    assert lines[0].startswith("later  Not now, {{person}}") and lines[1].strip() == str(path)
    assert "\x1b" not in "".join(lines)
    shown = json.loads(template(world, "show", "later", "--json").out)
    assert shown == {
        "name": "later",
        "text": path.read_text().strip(),
        "source": str(path),
        "variables": ["person", "reason"],
    }
    assert json.loads(template(world, "--json").out) == {"templates": [shown], "problems": []}
    assert template(world, "show", "later").out == path.read_text()
    assert template(world, "delete", "later").out == f"Removed: {path}\n"
    assert "no template 'later'" in template(world, "delete", "later", code=5).err
    assert "no template 'later'" in template(world, "show", "later", code=5).err


@pytest.mark.proves("TASK-292")
def test_text_may_follow_an_option(world, project):
    template(world, "set", "later", "--project", "Not now.")
    assert (project / ".gate" / "templates" / "later.md").read_text() == "Not now.\n"
    assert template(world, "--names").out == "later\n"
    assert template(world, "delete", "--project", "later").code == 0
    assert template(world).out.startswith("There are no templates")


@pytest.mark.proves("TASK-46", "TASK-47")
def test_projects_templates_come_first(world, project, users):
    own = project / ".gate" / "templates" / "later.md"
    template(world, "set", "later", "--project", "--file", "-", text="Here.\n\nReally.\n")
    assert own.read_text() == "Here.\n\nReally.\n"
    ran = template(world, "set", "later", "Everywhere.")
    assert f"But in this folder {own} has priority." in ran.out
    assert template(world, "show", "later").out == "Here.\n\nReally.\n"
    template(world, "delete", "later", "--project")
    assert template(world, "show", "later").out == "Everywhere.\n"
    ran = template(world, "delete", "later", "--project", code=5)
    assert f"the template later is in {users / 'later.md'}" in ran.err
    (users / "bad.md").mkdir()
    ran = template(world)
    assert "later" in ran.out and "bad.md is not a regular file" in ran.err


@pytest.mark.proves("TASK-47", "LAW-10")
def test_invalid_template_changes_nothing(world, project, users):
    template(world, "set", "later", "First.")
    for words, code, sentence in (
        (("set", "later"), 2, "give TEXT, --file F or --edit"),
        (("set", "later", "  "), 2, "the template is empty"),
        (("set", "later", "a", "--file", "-"), 2, "not both"),
        (("set", "later", "--edit"), 2, "needs a terminal"),
        (("set", "../later", "x"), 2, "is not a name for a template"),
        (("set",), 2, "need a NAME"),
        (("list", "later"), 2, "need a NAME"),
        (("show", "later", "text"), 2, "takes no text"),
        (("delete", "later", "--edit"), 2, "takes no text"),
    ):
        assert sentence in template(world, *words, code=code).err
    ran = template(world, "set", "later", "--edit", code=2, EDITOR="echo changed >> $1; false")
    assert "exit code 1, so nothing was changed" in ran.err
    assert template(world, "show", "later").out == "First.\n"


@pytest.mark.proves("TASK-47")
def test_template_is_written_in_the_editor(world, project, users):
    adds = "sh -c 'echo second >> \"$1\"' sh"
    template(world, "set", "later", "first", "--edit", EDITOR=adds)
    # The existing text is the initial one.
    template(world, "set", "later", "--edit", VISUAL=adds)
    words = (users / "later.md").read_text().split()
    assert words == ["firstsecond", "second"]
    above, below = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "gatebell", "template", "set", "later", "--as", "ada"],
        env=world.ada.environ | {"EDITOR": adds}, cwd=project, stdin=below, stdout=below, stderr=below,
    )  # fmt: skip
    os.close(below)
    assert process.wait(30) == 0
    os.close(above)
    assert (users / "later.md").read_text().split()[-1] == "second"
    assert len((users / "later.md").read_text().split()) == 3


@pytest.mark.proves("TASK-47")
def test_agent_cannot_write_templates(world, project, users):
    template(world, "set", "later", "Mine.")
    for words in (("set", "later", "Yes to all."), ("set", "later", "x", "--project")):
        ran = world.claude.gate("template", *words)
        assert ran.code == 7 and "only a person changes prepared answers" in ran.err
    assert world.claude.gate("template", "delete", "later").code == 7
    assert world.claude.gate("template", "show", "later").out == "Mine.\n"
    assert not (project / ".gate").exists()
