"""The fields of an answer: shared with the terminal as a draft, read as an answer."""

from __future__ import annotations

import pytest
from starlette.datastructures import FormData
from tests.support.people import a_person

from gatebell.domain.asks.asks import Origin
from gatebell.domain.permissions.calls import make_call
from gatebell.errors import UsageError
from gatebell.services.asks import create_ask
from gatebell.services.asks.create_ask import Request
from gatebell.testing import MemoryStore
from gatebell.web.asks import answer_fields
from gatebell.web.asks.answer_fields import Typed


def ask(kind="text", **more):
    return create_ask.ask(MemoryStore(), Request("What?", kind, **more), Origin(), a_person()).ask


ONE = ask("choice", options=("Red", "Blue", "Other…"))
SOME = ask("choice", options=("Red", "Blue", "Other…"), multiple=True)
NUMBERS = ask("choice", options=("7", "8"))
FORM = ask("form", schema={"type": "object"})


@pytest.mark.parametrize(
    ("asked", "kept", "filled"),
    [
        (ONE, "Blue", Typed(chosen=("1",))),
        (ONE, "2", Typed(chosen=("1",))),
        (ONE, "a, b", Typed(chosen=("other",), other="a, b")),
        (ONE, "Other", Typed(chosen=("other",))),
        (ONE, "3", Typed(chosen=("other",))),
        (ONE, " ", Typed()),
        (SOME, "Red, 2", Typed(chosen=("0", "1"))),
        (SOME, "Red, mine", Typed(chosen=("0", "other"), other="mine")),
        (NUMBERS, "8", Typed(chosen=("1",))),
        (NUMBERS, "1", Typed()),
        (ask("approval"), "go", Typed(note="go")),
        (ask(), "go", Typed(text="go")),
        (FORM, '{"a": 1}', Typed(value={"a": 1})),
        (FORM, "no JSON", Typed()),
    ],
)
@pytest.mark.proves("WEB-35")
def test_draft_of_a_terminal_fills_the_fields(asked, kept, filled):
    assert answer_fields.from_draft(asked, kept) == filled


@pytest.mark.parametrize(
    ("asked", "filled"),
    [
        (ONE, Typed(chosen=("1",))),
        (ONE, Typed(chosen=("other",), other="mine, all mine")),
        (SOME, Typed(chosen=("0", "1", "other"), other="mine")),
        (ask("approval"), Typed(note="go")),
        (ask(), Typed(text="go")),
        (FORM, Typed(value={"a": ["ä"]})),
    ],
)
@pytest.mark.proves("WEB-35", "LAW-6")
def test_saved_draft_comes_back(asked, filled):
    assert answer_fields.from_draft(asked, answer_fields.draft(asked, filled)) == filled


HIDDEN = make_call("Bash", {"command": "rm \u202efoo"})
SHOWN = make_call("Bash", {"command": "rm foo", "timeout": 5})
EDIT = make_call("Edit", {"file_path": "a.py", "old_string": "b", "new_string": "\tb = 1\n"})


@pytest.mark.parametrize(
    ("call", "written", "given"),
    [
        (SHOWN, "rm bar", {"command": "rm bar", "timeout": 5}),
        (HIDDEN, '{"command": "rm bar"}', {"command": "rm bar"}),
        (make_call("Write", {"content": "a"}), "b\n", {"content": "b\n"}),
        (EDIT, "\tb = 2\n", {"file_path": "a.py", "old_string": "b", "new_string": "\tb = 2\n"}),
        (
            make_call("Edit", {"old_string": "b", "new_string": "c"}),
            "",
            {"old_string": "b", "new_string": ""},
        ),
        (make_call("Write", {"content": "a\x07"}), '{"content": "b"}', {"content": "b"}),
        (make_call("Other", {"content": "a"}), '{"content": "b"}', {"content": "b"}),
    ],
)
@pytest.mark.proves("WEB-54")
def test_changed_call_keeps_its_other_fields(call, written, given):
    asked = ask("approval", call=call)
    form = FormData([("value", "edited"), ("edited", written.replace("\n", "\r\n"))])
    assert answer_fields.read_given(asked, form).value == {"input": given}


@pytest.mark.parametrize(
    ("call", "written", "why"),
    [
        (SHOWN, "rm foo", "the input is unchanged"),
        (HIDDEN, "rm bar", "not JSON"),
        (HIDDEN, "{}", "all of its fields"),
        (HIDDEN, "[" * 100_000, "not JSON"),
    ],
)
@pytest.mark.proves("WEB-54", "LAW-3")
def test_empty_change_is_not_an_approval(call, written, why):
    asked = ask("approval", call=call)
    with pytest.raises(UsageError, match=why):
        answer_fields.read_given(asked, FormData([("value", "edited"), ("edited", written)]))


PUSH = make_call("Bash", {"command": "git push origin main"})
PATTERN = ("pattern", "Bash(git push *)")


@pytest.mark.parametrize(
    ("fields", "scope"),
    [
        ([("value", "yes"), PATTERN], None),
        ([("value", "yes:hour"), PATTERN], ("hour", "")),
        ([("value", "yes:hour"), PATTERN, ("calls", "like")], ("hour", "Bash(git push *)")),
        ([("value", "yes:times"), PATTERN, ("times", " 3 ")], ("3", "")),
        ([("value", "no:hour"), PATTERN], None),
    ],
)
@pytest.mark.proves("WEB-54", "LAW-3")
def test_button_says_how_far_a_yes_reaches(fields, scope):
    form = FormData([*fields, ("proposed", "Bash(git push *)")])
    given = answer_fields.read_given(ask("approval", call=PUSH), form)
    assert (given.value, given.scope) == (fields[0][1].partition(":")[0], scope)


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ([("value", "yes"), PATTERN, ("calls", "like")], "how long"),
        ([("value", "yes"), PATTERN], "you wrote a pattern"),
        ([("value", "yes:hour"), ("calls", "like")], "the pattern is empty"),
    ],
)
@pytest.mark.proves("WEB-54", "LAW-6")
def test_unclear_reach_of_a_yes_is_refused(fields, why):
    with pytest.raises(UsageError, match=why):
        answer_fields.read_given(ask("approval", call=PUSH), FormData(fields))


@pytest.mark.proves("WEB-32", "LAW-6")
def test_own_words_are_not_dropped_beside_another_choice():
    form = FormData([("chosen", "0"), ("other", "Green")])
    with pytest.raises(UsageError, match="your own words"):
        answer_fields.read_given(ONE, form)
    both = FormData([("chosen", "0"), ("chosen", "other"), ("other", "Green")])
    assert answer_fields.read_given(SOME, both).value == ["Red", {"other": "Green"}]
