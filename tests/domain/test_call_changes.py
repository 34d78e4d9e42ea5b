"""The edits of a call as a diff, with the lines of its file around them."""

from __future__ import annotations

import pytest

from gatebell.domain.permissions.call_changes import list_changes, relative
from gatebell.domain.permissions.calls import Call

LINES = "".join(f"line {number}\n" for number in range(1, 21))
KEY = "ghp_" + "a1B2" * 9


def edit(old, new, **more):
    return {"old_string": old, "new_string": new, **more}


def changes(given, content=None, tool="Edit"):
    return list_changes(Call(tool, {"file_path": "/p/a", **given}, "/p"), ["/p"], content)


def rows(given, content=None, tool="Edit"):
    return [
        (part.head, [(row.sign, row.old, row.new, row.text) for row in part.rows])
        for part in changes(given, content, tool).parts
    ]


@pytest.mark.proves("WEB-67")
def test_known_file_gives_numbers_and_lines_around():
    assert rows(edit("line 9", "nine"), LINES) == [
        ("", [(" ", 6, 6, "line 6"), (" ", 7, 7, "line 7"), (" ", 8, 8, "line 8"),
              ("-", 9, None, "line 9"), ("+", None, 9, "nine"),
              (" ", 10, 10, "line 10"), (" ", 11, 11, "line 11"), (" ", 12, 12, "line 12")])
    ]  # fmt: skip


@pytest.mark.proves("WEB-67")
@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        # At the beginning and at the end of the file fewer lines are around.
        ("line 1\n", "", [("-", 1, None, "line 1"), (" ", 2, 1, "line 2"), (" ", 3, 2, "line 3"),
                          (" ", 4, 3, "line 4")]),
        ("line 20\n", "x\ny\n", [(" ", 17, 17, "line 17"), (" ", 18, 18, "line 18"),
                                 (" ", 19, 19, "line 19"), ("-", 20, None, "line 20"),
                                 ("+", None, 20, "x"), ("+", None, 21, "y")]),
        # A part of a line shows the whole line.
        ("ne 20\n", "NE", [(" ", 17, 17, "line 17"), (" ", 18, 18, "line 18"),
                           (" ", 19, 19, "line 19"), ("-", 20, None, "line 20"),
                           ("-", 21, None, ""), ("+", None, 20, "liNE")]),
    ],
)  # fmt: skip
def test_edit_at_an_end_of_the_file(old, new, expected):
    assert rows(edit(old, new), LINES) == [("", expected)]


@pytest.mark.proves("WEB-67")
def test_later_edits_see_the_earlier_ones():
    edits = [edit("line 2", "two\nand more"), edit("line 5", "five"), edit("line 2", "gone")]
    first, second, third = rows({"edits": edits}, LINES, "MultiEdit")
    assert first[0] == "edit 1 of 3" and ("+", None, 3, "and more") in first[1]
    assert second[0] == "edit 2 of 3" and ("-", 6, None, "line 5") in second[1]
    # "line 20" still has the text.
    assert third[0] == "edit 3 of 3" and ("-", 21, None, "line 20") in third[1]


@pytest.mark.proves("WEB-67")
def test_edit_of_every_place_changes_all_for_the_next():
    edits = [edit("line 1", "x", replace_all=True), edit("line 1", "y")]
    first, second = rows({"edits": edits}, LINES, "MultiEdit")
    assert first[0] == "edit 1 of 2, at every place where it occurs"
    assert second[0] == "edit 2 of 2, this text is not in the file now"
    assert second[1] == [("-", None, None, "line 1"), ("+", None, None, "y")]


@pytest.mark.proves("WEB-67", "RED-1")
def test_secrets_around_an_edit_are_hidden():
    (shown,) = rows(edit("b", "c"), f"key={KEY}\nb\n")
    assert KEY not in str(shown) and ("-", 2, None, "b") in shown[1]
    (whole,) = rows({"content": "new"}, f"{KEY}\n", "Write")
    assert KEY not in str(whole) and ("+", None, 1, "new") in whole[1]


@pytest.mark.proves("WEB-67")
def test_very_long_edit_is_not_compared():
    old, new = "a\n" * 2_001, "a\n" * 2_000 + "b\n"
    (shown,) = rows(edit(old, new))
    assert [row[0] for row in shown[1]] == ["-"] * 2_001 + ["+"] * 2_001


@pytest.mark.proves("WEB-67")
def test_far_changes_are_parts_of_their_own():
    old = "".join(f"{number}\n" for number in range(30))
    found = rows(edit(old, old.replace("2\n", "two\n", 1).replace("27\n", "x\n")))
    assert len(found) == 2 and {row[0] for _, part in found for row in part} == {" ", "-", "+"}
    assert rows(edit(old, old)) == []


@pytest.mark.proves("WEB-67")
@pytest.mark.parametrize(
    ("tool", "given"),
    [
        ("Edit", {"old_string": "a"}),
        ("Edit", {"old_string": 1, "new_string": "b"}),
        ("MultiEdit", {"edits": "a"}),
        ("MultiEdit", {"edits": []}),
        ("MultiEdit", {"edits": [edit("a", "b"), "c"]}),
        ("Write", {"content": ["a"]}),
        ("NotebookEdit", {"new_source": "a"}),
        ("Bash", {"command": "ls"}),
    ],
)
def test_call_without_plain_edits_has_no_diff(tool, given):
    assert changes(given, tool=tool) is None


@pytest.mark.proves("WEB-67")
@pytest.mark.parametrize(
    ("path", "folders", "name"),
    [
        ("/p/a", ["/q", "/p/"], "a"),
        ("/p/a", [""], "/p/a"),
        ("/p/../a", ["/p"], "/p/../a"),
        ("/pa", ["/p"], "/pa"),
        ("a", ["/p"], "a"),
    ],
)
def test_file_is_named_below_its_folder(path, folders, name):
    assert relative(path, folders) == name
