"""`gate init`: the first files of a project, written once and removed again."""

from __future__ import annotations

import json
import os
import tomllib

import pytest

from gatebell.cli.main import main

TEXTS = sorted(
    [".gate/agents/_preamble.md", ".gate/backlog.toml"]
    + [f".gate/agents/{n}.md" for n in ("code", "design", "docs", "pm", "review", "test")]
)
FILES = [*TEXTS, "scripts/ask-human.sh", "AGENTS.md", ".gitignore", ".worktreeinclude"]
FOLDERS = [f".helpers{inner}" for inner in ("", "/questions", "/answers", "/agents", "/queue")]
WAY = ".helpers/project"


@pytest.fixture
def world(kept_world):
    return kept_world


@pytest.fixture
def project(world):
    (world.folder / "project" / ".git").mkdir()
    return world.folder / "project"


def init(world, *words, code=0, **environ):
    ran = world.ada.gate("init", *words, "--yes", "--as", "ada", **environ)
    assert ran.code == code, ran
    return ran


def files(project):
    found = [path for path in project.rglob("*") if path.is_file()]
    return {str(path.relative_to(project)): path.read_bytes() for path in sorted(found)}


def record(world):
    folder = world.folder / "home" / ".local" / "share" / "gatebell" / "installed"
    return list(folder.glob("init-*")) if folder.exists() else []


@pytest.mark.proves("TASK-48", "S3-P7")
def test_project_gets_roles_preamble_and_terms_once(world, project):
    made = init(world).out.splitlines()
    assert made == [
        *(f"made: {project / name} (mode 0700)" for name in FOLDERS),
        f"made: {project / WAY} (shows worktrees the path to this project)",
        *(f"made: {project / name}" for name in FILES),
    ]
    before = files(project)
    assert sorted(before) == sorted([*FILES, WAY, ".helpers/.gitignore"])
    assert tomllib.loads(before[".gate/backlog.toml"].decode()) == {}
    listed = json.loads(world.plain.gate("agents", "--json").out)
    assert listed["problems"] == []
    assert {role["source"] for role in listed["roles"]} == {
        str(project / name) for name in TEXTS if "/_" not in name and name.endswith(".md")
    }
    again = init(world)
    assert again.out == "Everything exists already; nothing was changed.\n"
    assert files(project) == before
    told = json.loads(init(world, "--json").out)
    assert told["project"] == str(project) and told["notes"] == []
    assert [(one["path"], one["change"]) for one in told["files"]] == [
        (str(project / name), "same") for name in FILES
    ]
    assert [(one["path"], one["change"]) for one in told["folders"]] == [
        (str(project / name), "same") for name in (*FOLDERS, WAY)
    ]


@pytest.mark.proves("TASK-48")
def test_existing_files_are_never_overwritten(world, project):
    (project / ".gate" / "agents").mkdir(parents=True)
    (project / ".gate" / "agents" / "code.md").write_text("Mine.")
    (project / ".gate" / "agents" / "own.md").write_text("Mine, too.")
    ran = init(world)
    assert f"{project}/.gate/agents/code.md exists already: it stays as it is\n" in ran.out
    assert "made: " in ran.out and "made: " + str(project / ".gate/agents/code.md") not in ran.out
    assert (project / ".gate" / "agents" / "code.md").read_text() == "Mine."
    init(world, "--undo")
    assert files(project) == {
        ".gate/agents/code.md": b"Mine.",
        ".gate/agents/own.md": b"Mine, too.",
    }


@pytest.mark.proves("TASK-48")
def test_dry_run_shows_everything_and_writes_nothing(world, project):
    ran = world.claude.gate("init", "--dry-run")
    assert ran.code == 0 and "--- /dev/null\n" in ran.out
    assert (
        f"+++ {project}/.gate/backlog.toml\n" in ran.out and '\n+#strategy = "branch"\n' in ran.out
    )
    assert f"would be made: {project}/.gate/agents/code.md\n" in ran.out
    assert files(project) == {} and not (project / ".gate").exists() and record(world) == []
    told = json.loads(world.plain.gate("init", "--dry-run", "--json").out)
    assert {one["change"] for one in told["files"]} == {"made"}


@pytest.mark.proves("CLI-29")
def test_init_writes_only_the_chosen_parts(world, project):
    told = json.loads(init(world, "--backlog", "--json").out)
    assert sorted(files(project)) == [".gate/backlog.toml"] and told["folders"] == []
    init(world, "--roles")
    assert sorted(files(project)) == TEXTS
    init(world, "--files")
    assert sorted(files(project)) == sorted([*FILES, WAY, ".helpers/.gitignore"])
    assert init(world, "--undo", "--roles", code=2).err.startswith("gate: --undo takes everything")
    init(world, "--undo")
    assert files(project) == {}


@pytest.mark.proves("CLI-29", "CLI-5")
def test_init_writes_nothing_without_a_yes(world, project, monkeypatch, capsys):
    ran = world.ada.gate("init", "--as", "ada")
    assert ran.code == 2 and "add --yes" in ran.err and files(project) == {}
    monkeypatch.setattr("os.environ", world.ada.environ)
    monkeypatch.chdir(project)
    monkeypatch.setattr("gatebell.cli.setup.init.can_prompt", lambda: True)
    monkeypatch.setattr("builtins.input", lambda _: "")
    assert main(["init", "--as", "ada"]) == 4 and files(project) == {}
    about = capsys.readouterr().out.partition("\n\n")[0].splitlines()
    assert len(about) == 5 and about[-1].endswith("--undo takes all of it back.")
    assert max(map(len, about)) < 80
    monkeypatch.setattr("builtins.input", lambda _: "y")
    assert main(["init", "--as", "ada"]) == 0 and ".gate/backlog.toml" in files(project)
    monkeypatch.setattr("builtins.input", lambda _: "n")
    assert main(["init", "--undo", "--as", "ada"]) == 4 and ".gate/backlog.toml" in files(project)


@pytest.mark.proves("TASK-49")
def test_unchanged_files_are_removed_again(world, project):
    init(world)
    changed = project / ".gate" / "agents" / "code.md"
    changed.write_text("Ours now.")
    (project / ".gate" / "agents" / "pm.md").unlink()
    shown = init(world, "--undo", "--dry-run")
    assert f"would be removed: {project}/.gate/backlog.toml\n" in shown.out
    assert len(files(project)) == len(FILES) + 1
    ran = init(world, "--undo")
    assert f"{changed} was changed since then: it stays as it is\n" in ran.out
    assert files(project) == {".gate/agents/code.md": b"Ours now."}
    assert record(world) == []
    ran = init(world, "--undo", code=5)
    assert f"gate init wrote nothing in {project}" in ran.err


@pytest.mark.proves("TASK-49")
def test_files_written_in_two_runs_are_all_removed(world, project):
    init(world)
    (project / ".gate" / "agents" / "code.md").unlink()
    (project / ".gate" / "backlog.toml").unlink()
    assert len(init(world).out.splitlines()) == 2
    init(world, "--undo")
    assert os.listdir(project) == [".git"]


@pytest.mark.proves("TASK-50")
def test_agent_cannot_run_init(world, project):
    for words in ((), ("--undo",)):
        if words:
            init(world)
        before = files(project)
        ran = world.claude.gate("init", *words)
        assert ran.code == 7 and "only a person changes the agents' instructions" in ran.err
        assert files(project) == before


@pytest.mark.proves("TASK-50")
def test_nothing_is_written_in_worktrees_or_outside_the_project(world, project):
    worktree = world.folder / "data" / "worktrees" / "run-12" / "shop"
    (worktree / ".git").mkdir(parents=True)
    world.ada.folder = worktree
    assert "is in the worktree of a run" in init(world, code=7).err
    assert os.listdir(worktree) == [".git"]
    world.ada.folder = project
    (world.folder / "elsewhere").mkdir()
    (project / ".gate").symlink_to(world.folder / "elsewhere")
    assert "leads out of" in init(world, code=7).err
    assert os.listdir(world.folder / "elsewhere") == []
