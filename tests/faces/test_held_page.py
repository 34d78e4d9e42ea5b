"""README, docs, help and doctor must agree with docs/held.md about the default gates."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gatebell.install.checks import LEFT_OPEN
from gatebell.install.default_gates import SPELLINGS_NOTE

ROOT = Path(__file__).parents[2]
PAGES = [
    path
    for path in [
        ROOT / "README.md",
        *(ROOT / "docs").glob("*.md"),
        *(ROOT / "docs").glob("guides/*.md"),
    ]
    if path.stem != "held"
]
SOURCES = [*(ROOT / "src" / "gatebell" / "cli").glob("*.py"),
           *(ROOT / "src" / "gatebell" / "integrations").glob("*.py")]  # fmt: skip
TOO_MUCH = re.compile(
    r"always\s+ask|in\s+every\s+permission\s+mode|is\s+always\s+held", re.IGNORECASE
)
ROW = re.compile(r"^\| `(.+)` \| (\S.*?) \| (\S.*?) \| (\S.*?) \|$", re.MULTILINE)
RUNS = "**runs unasked**"


@pytest.fixture
def rows():
    """Return the reaction of each host to a command: (claude, codex)."""
    return {command: (claude, codex) for command, claude, _, codex in read_rows()}


def read_rows():
    found = ROW.findall((ROOT / "docs" / "held.md").read_text(encoding="utf-8"))
    return [(command.replace("\\|", "|"), *hosts) for command, *hosts in found]


@pytest.mark.proves("HOOK-9")
@pytest.mark.parametrize("path", [*PAGES, *SOURCES], ids=lambda path: path.name)
def test_nothing_promises_every_spelling(path):
    assert TOO_MUCH.findall(path.read_text(encoding="utf-8")) == []


@pytest.mark.proves("HOOK-9")
@pytest.mark.parametrize(
    "name", ["README.md", "docs/agents.md", "docs/install.md", "docs/trust.md"]
)
def test_page_about_gates_names_the_list(name):
    assert "held.md)" in (ROOT / name).read_text(encoding="utf-8")


@pytest.mark.proves("HOOK-9")
@pytest.mark.parametrize(
    ("command", "hosts"),
    [
        ("npm --tag next publish", 1), ('echo "git push" | sh', 1), ("sh ship.sh", 2),
        ("git -C . push", 1), ('bash -c "git push"', 1), ("echo x > ../outside", 2),
    ],
)  # fmt: skip
def test_examples_in_the_docs_run_unasked(rows, command, hosts):
    """They are the examples of README, install.md, trust.md, the doctor and gate install."""
    assert rows[command].count(RUNS) == hosts


@pytest.mark.proves("HOOK-9")
@pytest.mark.parametrize("command", ["git push", "npm publish", "terraform apply", "rm -rf build"])
def test_usual_spelling_is_asked_about(rows, command):
    assert rows[command] == ("asked", "asked")


@pytest.mark.proves("HOOK-17")
def test_defer_holds_calls_that_claude_asks_about():
    rows = read_rows()
    assert len(rows) > 80
    assert [row for row in rows if row[1] == "asked" and row[2] != "put off"] == []


@pytest.mark.proves("HOOK-9")
def test_install_and_doctor_name_a_command_not_a_page():
    """An installed program has no docs folder."""
    told = [SPELLINGS_NOTE, *("\n".join(sentences) for sentences in LEFT_OPEN.values())]
    assert all("gate gates" in words and "docs/" not in words for words in told)


@pytest.mark.proves("FLT-19")
def test_readme_says_that_a_redirection_is_not_held():
    root = Path(__file__).parents[2]
    told = " ".join((root / "README.md").read_text(encoding="utf-8").split())
    assert "a shell redirection such as `echo x > ../file` runs unasked" in told
    assert "| `echo x > ../outside` | **runs unasked**" in (root / "docs" / "held.md").read_text()
