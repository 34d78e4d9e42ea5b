"""Shipped roles and preamble, model names, and the backlog file of the project."""

from __future__ import annotations

import os
import re
from types import SimpleNamespace

import pytest
from tests.support.plain_project import home, project, write

from gatebell.adapters.files import role_files, template_files, text_files
from gatebell.app import project_files, runtime, settings
from gatebell.domain.runs.signals import json_objects
from gatebell.domain.tasks.backlog_settings import BacklogTerms
from gatebell.errors import NotFoundError, RefusedError, UsageError
from gatebell.testing import MemoryStore

__all__ = ["home", "project"]

NAMES = ("code", "design", "docs", "pm", "review", "test")
BUILT_IN = os.path.join(os.path.dirname(role_files.__file__), "built_in_roles")
FIELDS = (
    *("summary", "details", "confidence", "question", "question_context", "issues"),
    *("completed", "failed", "blocked", "needs_input"),
)


def set_up(home, text):
    return write(home / "config/gatebell/config.toml", text)


def with_role(project, front):
    write(project / ".gate/agents/own.md", f"---\n{front}\n---\nDo it.")


def driven_role(project, name):
    run = SimpleNamespace(project=str(project), task="")
    return runtime.build_dependencies(MemoryStore()).roles.find(run, name)


def model_of(project, name):
    """Return the role as drivers and joining people get it, and as `gate agents` shows it."""
    driven = driven_role(project, name)
    (listed,) = (one for one in project_files.roles(str(project)).roles if one.name == name)
    assert driven == listed
    return driven.model


@pytest.mark.proves("TASK-41", "S3-P7")
def test_shipped_roles_come_after_project_and_user_roles(home, project):
    found = role_files.list_roles(str(project))
    assert [one.name for one in found.roles] == list(NAMES) and found.problems == []
    for role in found.roles:
        assert role.source == os.path.join(BUILT_IN, f"{role.name}.md")
        assert role.model in settings.MODEL_WORDS and 0 < role.confidence < 1
        assert role.description and role.cli == "claude" and role.digest
    write(home / "home/.claude/agents/code.md", "Mine.")
    assert role_files.find(str(project), "code").instructions == "Mine."
    assert role_files.find(str(project), "test").source.startswith(BUILT_IN)


@pytest.mark.proves("TASK-41", "S3-71")
def test_each_role_names_its_report_and_how_to_ask(project):
    for role in role_files.list_roles(str(project)).roles:
        words = role.instructions
        assert [word for word in FIELDS if f"`{word}`" not in words] == [], role.name
        assert "You do not" in words or "You propose" in words or "no product code" in words
        if role.name in ("code", "design", "review"):
            good, bad = words.split("Bad ones:")
            assert good.count("\n> ") > bad.count("\n> ") >= 2 and "(a)" in good
        if role.name in ("design", "review", "pm"):
            assert 'gate task create "Title" --role code --parent ID --dep ID' in words
            never = re.sub(r"\s+", " ", words)
            assert "never answer a question that waits for a person" in never
            assert re.search(r"never close, .*a task that waits for one", never)


@pytest.mark.proves("TASK-40", "S3-70")
def test_preamble_says_when_and_how_to_ask(project):
    words = re.sub(r"\s+", " ", role_files.read_preamble(str(project)))
    for part in (
        *("**Ask** (`needs_input`)", "**Assume and document**", "**Fail** (`failed`)"),
        *("**Blocked** (`blocked`)", "one decision", "options", "what you would do"),
        *("what depends on it", "Never commit", "switch branches", "as your next turn"),
        "leave half-done work exactly as it is",
    ):
        assert part in words
    assert words.count("> ") >= 4
    assert [word for word in FIELDS if f"`{word}`" not in words] == []
    # The parser of results accepts the example.
    example = next(json_objects(words), None)
    assert example["status"] == "completed" and example["confidence"] == 0.9


@pytest.mark.proves("TASK-40", "TASK-50")
def test_project_or_user_may_have_its_own_preamble(home, project):
    write(project / ".claude/agents/_preamble.md", "Not ours.")
    assert role_files.read_preamble(str(project)).startswith("You work on one task")
    write(home / "config/gatebell/agents/_preamble.md", "The user's.\n")
    assert role_files.read_preamble(str(project)) == "The user's."
    write(project / ".gate/agents/_preamble.md", "The project's.\n")
    assert role_files.read_preamble(str(project)) == "The project's."
    assert "_preamble" not in [one.name for one in role_files.list_roles(str(project)).roles]
    worktree = home / "data/worktrees/run-12/shop"
    write(worktree / ".gate/agents/_preamble.md", "Ask nobody.")
    with pytest.raises(RefusedError, match="is in the worktree of a run"):
        role_files.read_preamble(str(worktree))
    path = project / ".gate/agents/_preamble.md"
    path.write_bytes(b"x" * (text_files.MAX_BYTES + 1))
    with pytest.raises(UsageError, match="is longer than"):
        role_files.read_preamble(str(project))
    path.unlink()
    path.symlink_to(write(home / "outside.md"))
    with pytest.raises(RefusedError, match="leads out of"):
        role_files.read_preamble(str(project))


@pytest.mark.proves("TASK-43", "S3-P7")
def test_heavy_medium_and_light_name_a_model(home, project):
    assert {name: model_of(project, name) for name in ("design", "code", "docs")} == {
        "design": "opus", "code": "sonnet", "docs": "haiku"
    }  # fmt: skip
    set_up(
        home, '[models.claude]\nheavy = "claude-opus-4-1"\nlight = ""\n[models.codex]\nheavy = "o9"'
    )
    assert {name: model_of(project, name) for name in ("design", "code", "docs")} == {
        "design": "claude-opus-4-1", "code": "sonnet", "docs": ""
    }  # fmt: skip
    for front, model in (
        ("cli: codex\nmodel: heavy", "o9"),
        ("cli: codex\nmodel: medium", ""),
        ("cli: codex\nmodel: opus", "opus"),
        ("model: haiku-4", "haiku-4"),
        ("command: [./agent]\nmodel: heavy", "heavy"),
        ("description: none", ""),
    ):
        with_role(project, front)
        assert model_of(project, "own") == model, front


@pytest.mark.proves("TASK-43", "LAW-10")
@pytest.mark.parametrize(
    ("written", "sentence"),
    [
        ("models = 3", r"models in \S+ must be a table: write \[models\] above it"),
        ('[models]\nheavy = "opus"', r"sets models\.heavy: expected one of claude, codex"),
        (
            "[models]\nclaude = 3",
            r"models\.claude in \S+ must be a table: write \[models\.claude\]",
        ),
        (
            '[models.claude]\nhuge = "x"',
            r"models\.claude\.huge: expected one of heavy, medium, light",
        ),
        (
            "[models.claude]\nheavy = 4",
            r"models\.claude\.heavy in \S+: expected a text, got",
        ),
    ],
)
def test_unreadable_models_are_named_when_needed(home, project, written, sentence):
    path = set_up(home, written)
    with pytest.raises(UsageError, match=sentence) as caught:
        model_of(project, "code")
    assert path in str(caught.value)
    with_role(project, "model: opus")
    assert driven_role(project, "own").model == "opus"


@pytest.mark.proves("TASK-44")
def test_backlog_file_is_read_from_the_project(home, project):
    assert project_files.backlog_terms(str(project)) == BacklogTerms()
    path = write(project / ".gate/backlog.toml", 'strategy = "merge"\nanswer_within = "2h"\n')
    found = project_files.backlog_terms(str(project))
    assert found == BacklogTerms(strategy="merge", answer_within_seconds=7200.0)
    for text, sentence in (
        ("strategy = merge", "is not valid TOML: "),
        ("a = " + "[" * 90_000, "is not valid TOML: "),
        ("strategy = 3", "strategy: expected one of branch"),
    ):
        write(project / ".gate/backlog.toml", text)
        with pytest.raises(UsageError, match=sentence) as caught:
            project_files.backlog_terms(str(project))
        assert path in str(caught.value)


@pytest.mark.proves("TASK-44", "TASK-50")
def test_backlog_file_writable_by_agents_is_refused(home, project):
    worktree = home / "data/worktrees/run-12/shop"
    inner = write(worktree / ".gate/backlog.toml", 'test = "true"')
    with pytest.raises(RefusedError, match="is in the worktree of a run"):
        project_files.backlog_terms(str(worktree))
    (project / ".gate").mkdir()
    (project / ".gate/backlog.toml").symlink_to(inner)
    with pytest.raises(RefusedError, match="leads out of"):
        project_files.backlog_terms(str(project))


@pytest.mark.proves("TASK-46")
def test_templates_are_found_in_project_then_user_then_settings(home, project):
    places = [
        (set_up(home, '[templates]\nlater = " From settings. "'), "From settings."),
        (write(home / "config/gatebell/templates/later.md", "From the user.\n"), "From the user."),
        (write(project / ".gate/templates/later.md", "From here.\n"), "From here."),
    ]
    while places:
        path, text = places.pop()
        assert project_files.template(str(project), "later") == ("later", text, path)
        if places:
            os.unlink(path)
    write(home / "config/gatebell/templates/again.md", "Again.")
    (home / "config/gatebell/templates/bad.md").write_bytes(b"\xff")
    found = project_files.templates(str(project))
    assert [one.name for one in found.templates] == ["again", "later"]
    assert len(found.problems) == 1 and "bad.md, line 1: this is not UTF-8" in found.problems[0]
    with pytest.raises(
        NotFoundError, match=r"no template 'x'; there are again, bad, later: create it with gate"
    ):
        project_files.template(str(project), "x")
    with pytest.raises(UsageError, match="is not a name for a template"):
        project_files.template(str(project), "../x")


@pytest.mark.proves("TASK-46", "LAW-10")
def test_templates_that_are_none_are_refused(home, project):
    set_up(home, "[templates]\nlater = 3")
    with pytest.raises(UsageError, match=r"templates\.later in \S+: expected a text, got"):
        project_files.template(str(project), "later")
    set_up(home, "templates = 3")
    with pytest.raises(UsageError, match=r"templates in \S+ must be a table: write \[templates\]"):
        project_files.templates(str(project))
    set_up(home, "")
    write(home / "outside/x.md")
    (project / ".gate").mkdir()
    (project / ".gate/templates").symlink_to(home / "outside")
    with pytest.raises(RefusedError, match="leads out of"):
        template_files.find(str(project), "x", {})
    with pytest.raises(RefusedError, match="leads out of"):
        template_files.build_path(str(project), "y")
    with pytest.raises(RefusedError, match="is in the worktree of a run"):
        template_files.build_path(str(home / "data/worktrees/run-12/shop"), "y")
