"""Pages for contributors, the workflows of CI and the hooks before a commit."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
TOPS = (ROOT, ROOT / "src" / "gatebell")
# Decisions and the changelog describe the past.
PAGES = [
    page
    for page in (
        *ROOT.glob("*.md"),
        *ROOT.glob("docs/*.md"),
        *ROOT.glob("docs/guides/*.md"),
        *ROOT.glob("src/**/*.md"),
    )
    if page.name != "CHANGELOG.md"
]
_FILE = r"`((?:[.\w-]+/)+[\w.-]+\.(?:py|sql|md|txt|html|yml|sh|toml|lock))`"
_NAMES = re.compile(_FILE + r"\s+\(((?:`\w+`(?:,\s+)?)+)\)")
# Files of users' projects and homes, and places that a contributor fills in.
_ELSEWHERE = re.compile(r"^\.(gate|agents|claude)/|^scripts/|(NAME|NOUN)\.(py|md)$")
_RECIPES = ("A command", "A notification channel", "An agent host", "A migration", "A setting")


def find_file(name, page):
    return next((top / name for top in (*TOPS, page.parent) if (top / name).exists()), None)


def read_workflow(name):
    """Return the jobs and the rest; YAML reads `on` as a boolean."""
    text = (ROOT / ".github" / "workflows" / name).read_text(encoding="utf-8")
    workflow = yaml.safe_load(text)
    return {"on" if key is True else key: value for key, value in workflow.items()}


def steps_of(workflow):
    return [step for job in workflow["jobs"].values() for step in job.get("steps", ())]


@pytest.mark.proves("PROJ-7")
def test_pages_name_only_files_that_exist():
    missing = [
        (page.relative_to(ROOT).as_posix(), name)
        for page in PAGES
        for name in re.findall(_FILE, page.read_text(encoding="utf-8"))
        if not _ELSEWHERE.search(name) and find_file(name, page) is None
    ]
    assert missing == []


@pytest.mark.proves("PROJ-7")
@pytest.mark.parametrize("folder", [".", "docs"])
def test_names_behind_a_file_are_in_it(folder):
    page = ROOT / folder / ("architecture.md" if folder == "docs" else "CONTRIBUTING.md")
    found = [
        (find_file(file, page), re.findall(r"\w+", names))
        for file, names in _NAMES.findall(page.read_text(encoding="utf-8"))
        if not _ELSEWHERE.search(file)
    ]
    assert len(found) > 5
    missing = [
        (file.name, name)
        for file, names in found
        for name in names
        if not re.search(rf"\b{name}\b", file.read_text(encoding="utf-8"))
    ]
    assert missing == []


@pytest.mark.proves("PROJ-8")
@pytest.mark.parametrize("title", _RECIPES)
def test_recipe_names_its_files_and_tests(title):
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    (recipe,) = re.findall(rf"^### {title}\n(.*?)(?=^### |\Z)", page, re.MULTILINE | re.DOTALL)
    named = re.findall(_FILE, recipe)
    assert any(name.startswith("tests/") for name in named)
    assert len([name for name in named if not name.startswith(("tests/", "docs/"))]) > 1


@pytest.mark.proves("PROJ-9")
def test_ci_runs_the_test_command_on_every_python():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    classifiers = "\n".join(project["classifiers"])
    promised = re.findall(r"Python :: (3\.\d+)$", classifiers, re.MULTILINE)
    assert re.search(r"^make test\b", (ROOT / "README.md").read_text("utf-8"), re.MULTILINE)
    jobs = read_workflow("ci.yml")["jobs"]
    assert {job["runs-on"] for job in jobs.values()} == {"ubuntu-latest", "macos-latest"}
    for job in jobs.values():
        assert job["strategy"]["matrix"]["python"] == promised
        assert job["steps"][-1] == {"run": "make test"}
        assert "continue-on-error" not in job


@pytest.mark.proves("PROJ-10")
def test_only_the_publishing_job_may_prove_its_identity():
    release = read_workflow("release.yml")
    assert release["on"] == {"push": {"tags": ["v*"]}}
    jobs = release["jobs"]
    assert jobs["test"] == {"uses": "./.github/workflows/ci.yml"}
    allowed = {name: job["permissions"] for name, job in jobs.items() if "permissions" in job}
    assert allowed == {"publish": {"id-token": "write"}}
    assert jobs["publish"]["environment"] == "release"
    assert set(jobs["publish"]["needs"]) == {"test", "build"}


@pytest.mark.proves("PROJ-9", "PROJ-10")
@pytest.mark.parametrize("name", ["ci.yml", "release.yml"])
def test_workflow_asks_for_little_and_pins_actions(name):
    workflow = read_workflow(name)
    assert workflow["permissions"] == {"contents": "read"}
    used = [step["uses"] for step in steps_of(workflow) if "uses" in step]
    assert used and all(re.search(r"@(release/)?v\d+$", one) for one in used)
    text = (ROOT / ".github" / "workflows" / name).read_text(encoding="utf-8")
    assert "secrets." not in text and "password" not in text
    checkouts = [step for step in steps_of(workflow) if "checkout" in step.get("uses", "")]
    assert all(step["with"] == {"persist-credentials": False} for step in checkouts)


@pytest.mark.proves("PROJ-11")
def test_hooks_before_a_commit_are_the_checks_of_lint():
    config = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))
    (repo,) = config["repos"]
    assert repo["repo"] == "local"
    assert all(hook["language"] == "system" for hook in repo["hooks"])
    entries = [hook["entry"].replace(" --force-exclude", "") for hook in repo["hooks"]]
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    (recipe,) = re.findall(r"^lint:.*\n((?:\t.*\n)+)", makefile, re.MULTILINE)
    lines = [line.strip().removesuffix(" .") for line in recipe.splitlines()]
    assert entries == [line.replace("$(BIN)", ".venv/bin") for line in lines]


@pytest.mark.proves("PROJ-12")
def test_security_page_says_where_the_limits_are():
    page = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    for link in ("docs/trust.md", "docs/held.md", "docs/fail-closed.md"):
        assert f"]({link})" in page
    assert "Report a vulnerability" in page and "## Not a vulnerability" in page
    assert "@" not in page, "an address would need somebody who reads it"
