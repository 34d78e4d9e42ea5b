"""How an agent is recognised."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from tests.support.people import a_person

from gatebell.domain.people.principals import (
    GONE,
    OF_ANOTHER_USER,
    SIGNS,
    UNREADABLE,
    Process,
    find_agent,
    person,
)
from gatebell.domain.runs.runs import Turn
from gatebell.domain.sessions.joined_sessions import names_of

SHELL = Process(10, "bash", "bash")


@pytest.mark.proves("WHO-1", "RUN-460")
def test_the_table_of_signs():
    assert {sign.cli: sign.variables for sign in SIGNS} == {
        "claude": ("CLAUDECODE", "CLAUDE_CODE_SESSION_ID"),
        "codex": ("CODEX_THREAD_ID", "CODEX_SESSION_ID", "CODEX_TOOL_CALL_ID"),
        "agent": ("AI_AGENT",),
        "turn": ("GATE_TURN",),
        "check": ("GATE_CHECK",),
    }
    assert [sign.session_variable for sign in SIGNS] == [
        "CLAUDE_CODE_SESSION_ID",
        "CODEX_THREAD_ID",
        "AI_AGENT",
        "GATE_TURN",
        "GATE_CHECK",
    ]
    assert [sign.processes for sign in SIGNS] == [("claude",), ("codex",), (), (), ()]


@pytest.mark.proves("WHO-1")
@pytest.mark.parametrize("sign", SIGNS)
def test_every_variable_of_the_table_is_a_sign(sign):
    for variable in sign.variables:
        found = find_agent({variable: "1"}, [])
        assert found.cli == sign.cli and variable in found.because
        assert find_agent({variable: ""}, [SHELL]) is None


@pytest.mark.proves("WHO-1")
def test_the_session_comes_from_its_variable():
    found = find_agent({"CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": "abc"}, [])
    assert found.principal == "agent:claude/abc"
    assert (
        find_agent({"CODEX_TOOL_CALL_ID": "c", "CODEX_THREAD_ID": "t1"}, []).principal
        == "agent:codex/t1"
    )
    assert find_agent({"CLAUDECODE": "1"}, []).principal == "agent:claude/unknown"


@pytest.mark.proves("WHO-1")
def test_an_ancestor_is_a_sign_by_its_name_or_its_program():
    assert (
        find_agent({}, [SHELL, Process(7, "claude", "x")]).because
        == "process 7 above this one is claude"
    )
    assert find_agent({}, [Process(8, "node", "codex")]).cli == "codex"
    assert find_agent({}, [SHELL, Process(9, "claudette", "claude.txt")]) is None
    assert find_agent({"PATH": "/claude"}, [SHELL]) is None


@pytest.mark.proves("WHO-5")
def test_a_session_that_cannot_be_told_apart_may_be_the_same():
    seen = find_agent({"CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": "s1"}, [])
    assert [seen.may_be(s) for s in ("claude/s1", "claude/", "claude/s2", "codex/s1", "")] == [
        True,
        True,
        False,
        False,
        False,
    ]
    assert find_agent({"CLAUDECODE": "1"}, []).may_be("claude/s2")
    assert find_agent({"CLAUDE_CODE_SESSION_ID": "a\udcff"}, []).session.encode()


def test_callers_have_names():
    assert person("ada") == "person:ada"
    assert a_person().is_person and a_person().name == "ada"
    assert not a_person()._replace(principal="agent:x/y").is_person


@pytest.mark.proves("HOOK-34")
def test_hidden_process_of_the_same_user_is_an_agent():
    for name in (GONE, UNREADABLE):
        found = find_agent({}, [Process(20, name, name)])
        assert found.cli == "agent" and "process 20" in found.because
    assert find_agent({}, [Process(20, OF_ANOTHER_USER, OF_ANOTHER_USER)]) is None


@pytest.mark.proves("RUN-390", "WHO-5")
def test_turn_tells_every_name_of_its_session():
    began = datetime(2026, 1, 1, tzinfo=UTC)
    first, other, later = [
        Turn(f"t-{number}", 1, "1", number, "coder", "command", session, "", began)
        for number, session in ((1, "s1"), (2, "s2"), (3, "s1"))
    ]
    names = names_of(later, [first, other, later])
    assert names == ("command/s1", "agent/s1", "turn/t-1", "turn/t-3")
    seen = find_agent({"AI_AGENT": "alias"}, [])._replace(names=names)
    assert seen.may_be("command/s1") and seen.may_be("turn/t-1") and seen.may_be("agent/alias")
    assert not seen.may_be("command/s2") and not seen.may_be("turn/t-2")


@pytest.mark.proves("RUN-390", "WHO-5")
def test_turn_without_session_may_be_any_of_its_program():
    began = datetime(2026, 1, 1, tzinfo=UTC)
    unmet = Turn("t-1", 1, "1", 1, "coder", "codex", "", "", began)
    names = names_of(unmet, [unmet, unmet._replace(id="t-2")])
    assert names == ("codex/", "turn/t-1")
    seen = find_agent({"GATE_TURN": "t-1"}, [])._replace(names=names)
    assert seen.may_be("codex/x") and not seen.may_be("claude/x")
