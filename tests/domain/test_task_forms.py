"""A task as a form in an editor."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from gatebell.domain.tasks.task_forms import (
    LINE,
    blank,
    changes,
    form,
    title_and_description,
)
from gatebell.domain.tasks.tasks import Task
from gatebell.errors import UsageError

NOW = datetime(2026, 1, 1, tzinfo=UTC)
TASK = Task(
    "tm-abc", "Add login", "/p", NOW, NOW, "person:ada", description="With JWT", role="code",
    needs=("tm-x23", "tm-y23"), test_command="make test",
)  # fmt: skip


@pytest.mark.proves("TASK-74")
def test_only_fields_changed_in_the_form_change():
    shown = form(TASK)
    assert changes(TASK, shown) == changes(TASK, shown.replace("\n", "\r\n")) == {}
    assert changes(TASK, shown.replace("P2", "P0")) == {"priority": "P0"}
    assert changes(TASK, shown.replace("tm-y23", ", tm-z23")) == {"needs": ("tm-x23", "tm-z23")}
    assert changes(TASK, shown.replace("make test", "")) == {"test_command": ""}
    assert changes(TASK, f"{shown}\nand more\n") == {"description": "With JWT\n\nand more"}
    renamed = shown.replace("title: Add login", "Title: Add: the login")
    assert changes(TASK, renamed) == {"title": "Add: the login"}
    listed = shown.replace("Add login", "Add login, logout")
    assert changes(TASK, listed) == {"title": "Add login, logout"}
    moved = shown.replace("type: task", "type: bug").replace("parent:", "parent: tm-p23")
    assert changes(TASK, moved) == {"type": "bug", "parent": "tm-p23"}
    long = TASK._replace(description="one\ntwo")
    assert changes(long, form(long).replace("\n", "\r\n")) == {}


@pytest.mark.proves("TASK-74", "TASK-283")
def test_form_has_fields_above_and_description_below():
    odd = TASK._replace(title='"odd"', test_command="one\ntwo")
    assert form(odd) == (
        '# tm-abc\n\ntitle: "\\"odd\\""\nrole: code\npriority: P2\nsize: medium\ntype: task\n'
        'parent:\nneeds: tm-x23 tm-y23\ntest: "one\\ntwo"\nanswer-within:\non-timeout:\n\n'
        "## Description (below this line)\n\nWith JWT\n"
    )


@pytest.mark.proves("TASK-74", "TASK-283")
def test_form_has_the_wait_and_the_action_after_it():
    assert "\nanswer-within:\non-timeout:\n" in form(TASK)
    limited = TASK._replace(answer_within_seconds=7200.0, on_timeout="fail")
    shown = form(limited)
    assert "answer-within: 2h\non-timeout: fail\n" in shown and changes(limited, shown) == {}
    later = shown.replace("2h", "90m").replace("fail", "defer")
    assert changes(limited, later) == {"answer_within_seconds": 5400.0, "on_timeout": "defer"}
    assert changes(limited, shown.replace("2h", "")) == {"answer_within_seconds": None}
    with pytest.raises(UsageError, match="expected a time limit"):
        changes(limited, shown.replace("2h", "soon"))


@pytest.mark.proves("TASK-74", "LAW-8")
def test_hostile_text_is_inert_and_unchanged_in_the_form():
    hostile = TASK._replace(
        title='"odd', description=f"a\x1b[2J\n{LINE}\nb", test_command="one\ntwo\x1b"
    )
    shown = form(hostile)
    assert "\x1b" not in shown and "one\\ntwo" in shown
    assert changes(hostile, shown) == {}
    assert changes(hostile, shown.replace("code", "test")) == {"role": "test"}
    changed = shown.replace("one\\ntwo", "three\\nfour")
    assert changes(hostile, changed) == {"test_command": "three\nfour\x1b"}
    assert changes(TASK, form(TASK).replace("make test", '"half')) == {"test_command": '"half'}


@pytest.mark.proves("TASK-74", "LAW-10")
@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        (LINE, "## Something else", "is missing"),
        ("role: code", "roel: code", "got 'roel: code'"),
        ("role: code", "nonsense", "got 'nonsense'"),
        ("role: code", "size: large", "the field size is there twice: remove one"),
        ("role: code\n", "", "the field role is missing"),
    ],
)
def test_unreadable_form_says_why(old, new, told):
    with pytest.raises(UsageError, match=told):
        changes(TASK, form(TASK).replace(old, new))


@pytest.mark.proves("TASK-75")
def test_new_task_is_written_with_its_title_first():
    assert title_and_description(blank()) == ("", "")
    hint = "The title on the first line, the description below it; this line is left out."
    assert blank() == f"\n\n<!-- {hint} -->\n"
    assert title_and_description(f"# Add login{blank()}") == ("Add login", "")
    assert title_and_description(f"\nAdd login\r\n\r\n# Why\r\nJWT\r\n{blank()}") == (
        "Add login",
        "# Why\nJWT",
    )
