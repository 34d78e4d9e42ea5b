"""The harness must be able to fail: every seeded bug is caught by the check that it names."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from checks import CHECKS, run_check
from tests.support.programs import find_program
from tracing import needs_strace

import gatebell

PACKAGE = Path(gatebell.__file__).parent
BUGS = sorted((Path(__file__).parent / "bugs").glob("*.patch"))

pytestmark = [needs_strace, pytest.mark.proves("CRASH-3")]


def named_check(bug: Path) -> str:
    first = bug.read_text(encoding="utf-8").splitlines()[0]
    found = re.fullmatch(r"# caught by: (\w+)", first)
    assert found, f"{bug.name} must begin with '# caught by: CHECK'"
    return found[1]


def patched_copy(bug: Path, folder: Path) -> str:
    patch = find_program("patch", "no planted bug was tried")
    shutil.copytree(PACKAGE, folder / "gatebell")
    done = subprocess.run(
        [patch, "-p1", "--batch", "--directory", str(folder), "--input", str(bug)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, (
        f"bugs/{bug.name} no longer applies: write the same bug into the source as it is now\n"
        f"{done.stdout}{done.stderr}"
    )
    return str(folder)


@pytest.mark.parametrize("name", CHECKS)
def test_every_check_holds_for_the_package_as_it_is(name):
    outcome = run_check(name, str(PACKAGE.parent))
    assert outcome.holds, outcome.said


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.stem)
def test_seeded_bug_is_caught(bug, tmp_path):
    copy = patched_copy(bug, tmp_path)
    outcome = run_check(named_check(bug), copy)
    assert outcome.fails, f"{named_check(bug)} did not catch {bug.stem}: {outcome.said}"


def test_there_are_twelve_bugs_and_every_check_is_used():
    assert len(BUGS) >= 12
    assert {named_check(bug) for bug in BUGS} == set(CHECKS)
