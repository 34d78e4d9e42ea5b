"""No part of a shown call looks like another part."""

from __future__ import annotations

import json
import sys
import unicodedata

import pytest
from hypothesis import example, given, strategies as st
from tests.support.people import an_agent

from gatebell.domain.asks.asks import Origin
from gatebell.domain.permissions.call_changes import list_others
from gatebell.domain.permissions.calls import Call, headline, make_call, shown
from gatebell.domain.text.display import frame, inert
from gatebell.services.asks import create_ask
from gatebell.services.asks.create_ask import Request
from gatebell.terminal.tool_calls import format_call
from gatebell.testing import MemoryStore
from gatebell.web.asks.call_view import view_call

BLANKS = [
    chr(code) for code in range(sys.maxunicode + 1) if unicodedata.category(chr(code)) == "Zs"
]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)  # fmt: skip


@pytest.mark.proves("HOOK-35", "LAW-8")
@pytest.mark.parametrize("blank", [one for one in BLANKS if one != " "])
def test_other_blanks_are_marked_in_calls(blank):
    mark, command = f"‹U+{ord(blank):04X}›", f"git{blank}status -s"
    call = Call("Bash", {"command": command, "more": [command]})
    assert headline(call) == f"Run this command? git{mark}status -s"
    assert inert(shown(call.input)) == (
        f'command: git{mark}status -s\nmore: ["git{mark}status -s"]'
    )
    assert mark in headline(Call("Write", {"file_path": f"/a{blank}b"}))
    assert mark in headline(Call("WebFetch", {"url": f"https://a/{blank}b"}))


@pytest.mark.proves("HOOK-35")
def test_other_blanks_stay_in_prose():
    assert frame("Êtes-vous sûr\u00a0?", 80) == ["│ Êtes-vous sûr ?"]


@pytest.mark.proves("HOOK-35", "LAW-8")
def test_carriage_return_is_marked_in_calls():
    call = Call("Bash", {"command": "echo a\r\nrm x\rls"})
    assert inert(shown(call.input)) == "command:\n  echo a␍\n  rm x␍ls"
    assert inert(headline(call)) == "Run this command? echo a␍\nrm x␍ls"


@pytest.mark.proves("HOOK-36", "LAW-8")
@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("true", '"true"'), ("1", '"1"'), ("null", '"null"'), ("[]", '"[]"'), ("-1.5", '"-1.5"'),
        ('{"a": 1}', '"{\\"a\\": 1}"'), ('"true"', '"\\"true\\""'), ("", ""), ("-", "-"),
        ("truest", "truest"), ('{"a":1}', '{"a":1}'), ("1e5", "1e5"), ("[" * 100_000, "[" * 100_000),
    ],
)  # fmt: skip
def test_text_that_looks_like_a_value_is_quoted(text, seen):
    assert shown({"force": text}) == f"force: {seen}"


@pytest.mark.proves("HOOK-36", "LAW-8")
@given(JSON, JSON)
@example("true", True)
@example('"true"', "true")
@example('{"a": 1}', {"a": 1})
def test_different_values_look_different(one, other):
    """Except line ends: a text of several lines is shown unchanged."""
    if json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True):
        return
    if one == other or "\n" in f"{one}{other}":
        return
    assert shown({"a": one}) != shown({"a": other})


@pytest.mark.proves("WEB-67", "TUI-2")
@pytest.mark.parametrize(
    ("tool", "given", "others"),
    [
        ("Edit", {"old_string": "a", "new_string": "b", "replace_all": True}, {}),
        ("Edit", {"old_string": "a", "new_string": "b", "content": "c"}, {"content": "c"}),
        ("Write", {"content": "c", "old_string": "a"}, {"old_string": "a"}),
        ("MultiEdit", {"edits": [{"old_string": "a", "new_string": "b"}]}, {}),
        ("MultiEdit", {"edits": [{"old_string": "a", "new_string": "b", "x": 1}]}, {"edits": "…"}),
        ("Edit", {"old_string": "a", "new_string": "b", "mode": "force"}, {"mode": "force"}),
    ],
)
def test_field_outside_of_the_diff_is_shown_beside_it(tool, given, others):
    call = make_call(tool, {"file_path": "/p/x", **given})
    expected = {name: given[name] for name in others}
    assert list_others(call) == expected
    store = MemoryStore()
    asked = Request(prompt="Edit?", kind="approval", call=call)
    ask = create_ask.ask(store, asked, Origin(), an_agent()).ask
    assert view_call(ask).others == (shown(expected) if expected else "")
    lines = "\n".join(format_call(ask, 80, lambda text, _: text, on_this_machine=False))
    assert all(f'"{name}"' in lines or f"{name}:" in lines for name in expected)


@pytest.mark.proves("HOOK-35")
@pytest.mark.parametrize(
    ("tool", "field"), [("NotebookEdit", "notebook_path"), ("Read", "file_path"), ("Write", "file_path")]
)  # fmt: skip
def test_file_behind_a_link_is_shown(tool, field):
    given = {field: "/p/x", "content": "a"}
    call = make_call(tool, given)._replace(real_path="/etc/x")
    store = MemoryStore()
    ask = create_ask.ask(store, Request("Do it?", "approval", call=call), Origin(), an_agent()).ask
    lines = format_call(ask, 80, lambda text, _: text, on_this_machine=False)
    assert lines[-2:] == ["After all links, this file", "│ /etc/x"]
    assert view_call(ask).real_path == "/etc/x"
