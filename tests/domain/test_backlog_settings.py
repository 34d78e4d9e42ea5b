"""The backlog file of a project: its keys and its errors."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from gatebell.domain.asks.templates import VARIABLES
from gatebell.domain.tasks.backlog_settings import (
    KEYS,
    BacklogTerms,
    Strategy,
    first_file,
    parse_backlog_terms,
)
from gatebell.errors import UsageError

DOCS = Path(__file__).parents[2] / "docs"
WHOLE = {
    "strategy": "review",
    "base": "release/2.0",
    "role": "test",
    "test": "  make check\n",
    "test_tries": 1,
    "most_asks": 1000,
    "answer_within": "3d",
    "remind_every": 90,
    "on_timeout": "fail",
}


def parse(**written):
    return parse_backlog_terms(written, "/p/.gate/backlog.toml")


@pytest.mark.proves("TASK-44")
def test_file_says_how_tasks_are_worked_on():
    assert parse() == BacklogTerms()
    assert parse(**WHOLE) == BacklogTerms(
        strategy="review",
        base="release/2.0",
        role="test",
        test="make check",
        test_tries=1,
        most_asks=1000,
        answer_within_seconds=259200.0,
        remind_every_seconds=90.0,
        on_timeout="fail",
    )
    assert parse(answer_within="2h", remind_every="30m")[6:8] == (7200.0, 1800.0)
    assert parse(test="").test == ""


@pytest.mark.proves("TASK-44")
def test_missing_keys_have_defaults():
    assert parse() == ("branch", "", "code", "", 3, 5, None, None, "defer")


@pytest.mark.proves("TASK-44", "LAW-10")
@pytest.mark.parametrize(
    ("key", "wrong", "allowed"),
    [
        ("strategy", ["pr", 1, True, ["branch"]], "one of branch, merge, review, direct"),
        ("base", ["", "-f", " main", "a\nb", 1], 'the name of a branch, like "main"'),
        ("role", ["", "../code", 1], 'the name of a role, like "code"'),
        ("test", [1, ["make"], "a\0b"], 'a command, like "make test"'),
        ("test_tries", [0, -1, 1001, 1.0, True, "3"], "a whole number from 1 to 1000"),
        ("most_asks", [0, True, 1001], "a whole number from 1 to 1000"),
        (
            "answer_within",
            ["soon", "", 0, -1, True, ["1h"], "nan", 1e9],
            'a time like "90s", "30m"',
        ),
        ("remind_every", ["2 weeks", False], 'a time like "90s", "30m"'),
        ("on_timeout", ["close", "", None], "one of defer, fail"),
    ],
)
def test_wrong_value_is_named_with_the_allowed_ones(key, wrong, allowed):
    for value in wrong:
        with pytest.raises(UsageError) as caught:
            parse(**{key: value})
        assert str(caught.value).startswith(f"/p/.gate/backlog.toml: {key}: expected {allowed}"), (
            value
        )


@pytest.mark.proves("TASK-44", "LAW-10")
def test_unknown_key_is_named_with_the_known_ones():
    with pytest.raises(UsageError) as caught:
        parse(stategy="branch")
    assert str(caught.value) == (
        f"/p/.gate/backlog.toml has an unknown key 'stategy': use {', '.join(KEYS)}"
    )


@pytest.mark.proves("TASK-44", "TASK-48")
def test_first_file_holds_every_key_and_sets_none():
    text = first_file()
    assert text.startswith(
        "# Settings for the tasks of this project. Remove a # to set a key.\n\n"
        "# Where a task's finished work goes: branch (the work stays on"
    )
    assert parse(**tomllib.loads(text)) == BacklogTerms()
    lines = text.splitlines()
    taken = "\n".join(line[1:] if line[:1] == "#" and line[:2] != "# " else line for line in lines)
    written = tomllib.loads(taken)
    assert list(written) == list(KEYS)
    # The shown value of a key is its default.
    shown, usual = parse(**written), BacklogTerms()
    for name in ("strategy", "role", "test_tries", "most_asks", "on_timeout"):
        assert getattr(shown, name) == getattr(usual, name)
    assert (shown.base, shown.test) == ("main", "make test")


@pytest.mark.proves("TASK-44")
@pytest.mark.parametrize("strategy", ["branch", "merge", "review", "direct"])
def test_strategy_is_one_of_four(strategy):
    assert parse(strategy=strategy).strategy == strategy


def read_meanings(page):
    """The sentences of the page about each key, as the first file writes them."""
    part = page[page.index("## Backlog settings") : page.index("## Templates")].replace("`", "")
    cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in part.split("\n")]
    meanings = {row[0]: row[2] for row in cells if len(row) == 3}
    results = [f"{row[0]} ({row[1]})" for row in cells if row and row[0] in [*Strategy]]
    rest = " ".join(part.split("\n\n")[-2].split()).removesuffix(".")
    meanings["strategy"] = meanings["strategy"].replace(
        ", see below", f": {', '.join(results)}. {rest}"
    )
    return [f"{meanings[key][0].upper()}{meanings[key][1:]}" for key in KEYS]


@pytest.mark.proves("TASK-44", "TASK-45")
def test_every_key_and_every_variable_is_documented():
    page = (DOCS / "roles.md").read_text(encoding="utf-8")
    assert [key for key in KEYS if f"| `{key}` |" not in page] == []
    assert re.findall(r"# (.*)\.\n#", first_file()) == read_meanings(page)
    assert [name for name in VARIABLES if f"`{{{{{name}}}}}`" not in page] == []
