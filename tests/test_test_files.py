"""The test files: their imports, their names and their skips."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.conftest import describe_skips, split_matrix

HERE = Path(__file__).parent
FILES = [path for path in sorted(HERE.rglob("*.py")) if "original_file_protocol" not in path.parts]
_TEST_FILE = re.compile(r"\b(from|import) tests\.\w+\.(test_\w+|conftest)\b")
# The missing part, then the untested behaviour.
_REASON = re.compile(r"[^:\n]+: [^\n]+")
MAKEFILE = " ".join((HERE.parent / "Makefile").read_text(encoding="utf-8").split())
_TEST_NAME = re.compile(r"^ *(?:async )?def test_(\w+)", re.MULTILINE)
MOST_WORDS = 9
_DIALECT = re.compile(
    r"""
    (?:^|_)(?:
        whoever | (?:some|no|any)body | stands? | stood | told | troubles? | roads? | anew | afresh
        | meanwhile | all_(?:that|of_it|of_that) | (?:is|are|was)_no
        | what_(?:is|was|are|were|has|had|it|they|an|a|the|people|agents?|others)
    )(?:_|$)
    """,
    re.VERBOSE,
)
_SKIPS = {"pytest.skip", "pytest.mark.skip", "pytest.mark.skipif", "pytest.importorskip"}


def find_reasons(path):
    """Yield the reason of each skip in a file, with `…` for each inserted value."""
    source = path.read_text(encoding="utf-8")
    if not any(one in source for one in _SKIPS):
        return
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in _SKIPS:
            named = [word.value for word in node.keywords if word.arg == "reason"]
            yield read_text((named or node.args)[0])


def read_text(node):
    parts = node.values if isinstance(node, ast.JoinedStr) else [node]
    return "".join(part.value if isinstance(part, ast.Constant) else "…" for part in parts)


@pytest.mark.proves("TEST-1")
def test_no_test_file_imports_another():
    """The text of a program that a test starts counts too."""
    found = [
        f"{path.relative_to(HERE)}: {match.group()}"
        for path in FILES
        for match in _TEST_FILE.finditer(path.read_text(encoding="utf-8"))
    ]
    assert found == []


@pytest.mark.proves("TEST-2")
def test_names_of_test_files_are_unique():
    counted = Counter(path.name for path in FILES if path.name.startswith("test_"))
    assert [name for name, number in counted.items() if number > 1] == []


def find_odd_names(source):
    """Return the names of tests with too many words or with dialect, without `test_`."""
    names = _TEST_NAME.findall(source)
    return [name for name in names if name.count("_") >= MOST_WORDS or _DIALECT.search(name)]


@pytest.mark.proves("LANG-6")
@pytest.mark.parametrize(
    "folder", sorted({path.parent for path in FILES}), ids=lambda one: one.name
)
def test_names_of_tests_are_short_and_plain(folder):
    paths = [path for path in FILES if path.parent == folder and path.name.startswith("test_")]
    found = [name for path in paths for name in find_odd_names(path.read_text(encoding="utf-8"))]
    assert found == []


@pytest.mark.proves("LANG-6")
def test_odd_names_of_tests_are_found():
    names = ("test_ask_is_sent", "test_nobody_asks", "test_what_was_said", "test_it_is_no_answer",
             "test_one_two_three_four_five_six_seven_eight_nine", "test_what_to_do", "nobody")  # fmt: skip
    assert find_odd_names("\n".join(f"def {name}(): ..." for name in names)) == [
        "nobody_asks", "what_was_said", "it_is_no_answer"
    ]  # fmt: skip
    assert find_odd_names(f"async def test_{'a_' * 9}b(): ...") == [f"{'a_' * 9}b"]


@pytest.mark.proves("TEST-5")
def test_matrix_keeps_a_usual_case():
    usual, further, alone = (
        SimpleNamespace(nodeid=name, get_closest_marker={"matrix": name[-2:] != "1]"}.get)
        for name in ("a.py::test_a[1]", "a.py::test_a[2]", "a.py::test_b[2]")
    )
    assert split_matrix([further, usual]) == ([usual], [further])
    with pytest.raises(pytest.UsageError, match="No usual case was left"):
        split_matrix([further, usual, alone])


@pytest.mark.proves("TEST-3")
def test_skip_reasons_name_the_missing_part():
    reasons = [(path.name, reason) for path in FILES for reason in find_reasons(path)]
    assert len(reasons) > 5
    assert [one for one in reasons if not _REASON.fullmatch(one[1])] == []


@pytest.mark.proves("TEST-3", "TEST-4")
def test_missing_program_is_named_and_counted(tmp_path):
    """It runs tests of a real terminal with a path without tmux."""
    environ = {name: value for name, value in os.environ.items() if name != "CI"}
    words = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider"]
    file = "tests/journeys/test_listen_terminal.py"
    ran = subprocess.run(
        [*words, file], env=environ | {"PATH": str(tmp_path)}, cwd=HERE.parent,
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    lines = ran.stdout.splitlines()
    named = [line for line in lines if line.startswith(f"!! SKIPPED {file}::")]
    assert named, ran.stdout
    assert all(": tmux is not installed: no real terminal was tried" in line for line in named)
    told = f"skipped tests: {len(named)}; `make system` installs missing programs"
    assert told in lines


@pytest.mark.proves("TEST-4")
def test_run_without_skips_says_so():
    assert describe_skips({}) == ["skipped tests: 0"]


@pytest.mark.proves("TEST-6")
def test_tests_left_out_of_make_server_exist():
    lines = (HERE / "faces" / "not_through_server.txt").read_text(encoding="utf-8").splitlines()
    for line in lines[2:]:
        named, reason = line.split("  ", 1)
        file, _, test = named.partition("::")
        text = (HERE / "faces" / file).read_text(encoding="utf-8")
        assert reason and (not test or f"def {test}(" in text), line
    # So that no file is left out without a reason.
    assert "no:cacheprovider tests/faces mutate:" in MAKEFILE
