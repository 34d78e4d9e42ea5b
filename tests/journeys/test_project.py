"""The demo, the wheel, the import rules and the project's own words."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from tests.conftest import CPU_BUDGET, over_budget

ROOT = Path(__file__).parents[2]


def run(*words, **more):
    return subprocess.run(words, capture_output=True, text=True, check=False, timeout=300, **more)


@pytest.mark.proves("CLI-15")
@pytest.mark.parametrize("around", [{}, {"CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": "s1"}])
def test_demo_runs_without_a_terminal_and_for_agents(tmp_path, around):
    environ = {k: v for k, v in os.environ.items() if not k.startswith("GATE_")}
    environ |= {"HOME": str(tmp_path)} | around
    ran = run(sys.executable, "-m", "gatebell", "demo", env=environ, stdin=subprocess.DEVNULL)
    assert ran.returncode == 0, ran.stderr
    assert "a scripted person answers" in ran.stdout and ran.stdout.count("went on and wrote") == 3
    assert "0 faults" in ran.stdout
    assert list(tmp_path.iterdir()) == []


@pytest.mark.proves("PROJ-3", "TASK-41")
def test_wheel_works_in_a_fresh_environment(tmp_path):
    built = run(
        sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", tmp_path, ROOT
    )
    assert built.returncode == 0, built.stdout + built.stderr
    (wheel,) = tmp_path.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    for file in ("tables/asks.sql", "sqlite/schema.sql", "sqlite/migrations/0001_asks.sql"):
        assert f"gatebell/adapters/{file}" in names
    assert "gatebell/py.typed" in names
    for file in ("_preamble", "code", "design", "docs", "pm", "review", "test"):
        assert f"gatebell/adapters/files/built_in_roles/{file}.md" in names
    place = tmp_path / "site"
    installed = run(
        sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", place, wheel
    )
    assert installed.returncode == 0, installed.stderr
    environ = os.environ | {"PYTHONPATH": str(place), "GATE_STORE": str(tmp_path / "gate.db")}
    program = "import sys, gatebell.cli.main as m; print(m.__file__); sys.exit(m.main())"
    ran = run(sys.executable, "-c", program, "ask", "Q?", "--no-wait", env=environ, cwd=tmp_path)
    assert ran.returncode == 0 and str(place) in ran.stdout, ran.stderr


DATABASE, STORE = "import sqlite3", "import gatebell.adapters.sqlite.store"
VIOLATIONS = {
    "a service imports a face": ("services/asks/create_ask.py", "import gatebell.cli.main"),
    "the domain reads the clock": ("domain/asks/asks.py", "import time"),
    "a face imports the store": ("cli/asks/show.py", STORE),
    "settings import a database": ("app/settings.py", DATABASE),
    "the core is asynchronous": ("services/asks/wait_for_ask.py", "import asyncio"),
    "a port imports a service": ("ports/store.py", "import gatebell.services.asks.create_ask"),
    "the file protocol imports a database": ("file_protocol/folders.py", DATABASE),
    "the file protocol imports the store": ("file_protocol/folders.py", STORE),
    "the public API imports a database": ("api/session_options.py", DATABASE),
    "the public API imports an agent": (
        "api/backlog.py",
        "import gatebell.adapters.agents.claude",
    ),
    "the domain imports a new package": ("domain/asks/asks.py", "import gatebell.rogue"),
}


@pytest.mark.proves("PROJ-1")
@pytest.mark.parametrize("what", VIOLATIONS)
def test_import_rules_fail_the_build_when_broken(tmp_path, what):
    file, line = VIOLATIONS[what]
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    package = tmp_path / "src" / "gatebell"
    if "rogue" in line:
        (package / "rogue.py").write_text(DATABASE, encoding="utf-8")
    path = package / file
    path.write_text(path.read_text(encoding="utf-8") + f"\n{line}\n", encoding="utf-8")
    program = Path(sys.executable).parent / "lint-imports"
    environ = os.environ | {"PYTHONPATH": str(tmp_path / "src")}
    ran = run(program, "--no-cache", cwd=tmp_path, env=environ)
    assert ran.returncode == 1 and "BROKEN" in ran.stdout, ran.stdout


# Starlette imports it to read forms.
IMPORTED_BY_OTHERS = {"python-multipart"}


@pytest.mark.proves("PROJ-6")
def test_every_dependency_of_users_is_imported():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lists = [project["dependencies"], *project["optional-dependencies"].values()]
    listed = [one for each in lists for one in each]
    # The extra `all` names the project itself, with its other extras.
    named = (
        {re.split(r"[^\w.-]", one)[0] for one in listed} - IMPORTED_BY_OTHERS - {project["name"]}
    )
    texts = [path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py")]
    roots = set(re.findall(r"^\s*(?:import|from) (\w+)", "\n".join(texts), re.MULTILINE))
    known = packages_distributions()
    found = {one.lower().replace("_", "-") for root in roots for one in known.get(root, [])}
    assert named - found == set()


@pytest.mark.proves("PROJ-4")
def test_projects_words_stay_its_own():
    listed = run("git", "ls-files", cwd=ROOT).stdout.splitlines()
    own = Path(__file__).relative_to(ROOT).as_posix()
    foreign = re.compile(
        r"/(home|root|Users)/(?!linuxbrew/)[a-z]+|py[p]i\.org|python[h]osted|registry\.np[m]js|deb\.de[b]ian"
    )
    found = [
        (name, match.group())
        for name in listed
        if name != own and (ROOT / name).is_file()
        for match in foreign.finditer((ROOT / name).read_text(encoding="utf-8", errors="replace"))
    ]
    assert found == []


@pytest.mark.proves("PROJ-5")
def test_folder_over_its_cpu_budget_is_named():
    assert over_budget({"domain": CPU_BUDGET["domain"] + 1, "faces": 1, "unknown": 9999}) == [
        "domain"
    ]
