"""How an agent is recognised."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from tests.support.people import a_person

from gatebell.domain.people.logins import (
    Login,
    Token,
    check_scopes,
    describe_scopes,
    make_token_id,
)
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
from gatebell.errors import UsageError

SHELL = Process(10, "bash", "bash")


@pytest.mark.proves("WHO-1", "RUN-460")
@pytest.mark.parametrize(
    ("variable", "cli", "session"),
    [
        ("CLAUDECODE", "claude", ""),
        ("CLAUDE_CODE_SESSION_ID", "claude", "1"),
        ("CODEX_THREAD_ID", "codex", "1"),
        ("CODEX_SESSION_ID", "codex", ""),
        ("CODEX_TOOL_CALL_ID", "codex", ""),
        ("GEMINI_CLI", "gemini", ""),
        ("OPENCODE", "opencode", ""),
        ("OPENCODE_PID", "opencode", ""),
        ("COPILOT_CLI", "copilot", ""),
        ("COPILOT_AGENT_SESSION_ID", "copilot", "1"),
        ("CURSOR_AGENT", "cursor", ""),
        ("AI_AGENT", "agent", "1"),
        ("GATE_TURN", "turn", "1"),
        ("GATE_CHECK", "check", "1"),
    ],
)
def test_every_variable_is_a_sign(variable, cli, session):
    found = find_agent({variable: "1"}, [SHELL])
    assert found == (cli, session, f"the variable {variable} is set", ())
    assert find_agent({variable: ""}, [SHELL]) is None


@pytest.mark.proves("WHO-1")
def test_no_other_sign_is_looked_for():
    assert [len(sign.variables) for sign in SIGNS] == [2, 3, 1, 2, 2, 1, 1, 1, 1]
    names = [name for sign in SIGNS for name in sign.processes]
    assert names == ["claude", "codex", "gemini", "opencode", "copilot"]
    assert find_agent({}, [Process(7, "codex", "x")]) == (
        "codex", "", "process 7 above this one is codex", ()
    )  # fmt: skip


@pytest.mark.proves("WHO-1")
def test_session_comes_from_its_variable():
    found = find_agent({"CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": "abc"}, [])
    assert found.principal == "agent:claude/abc"
    assert (
        find_agent({"CODEX_TOOL_CALL_ID": "c", "CODEX_THREAD_ID": "t1"}, []).principal
        == "agent:codex/t1"
    )
    assert find_agent({"CLAUDECODE": "1"}, []).principal == "agent:claude/unknown"


@pytest.mark.proves("WHO-1")
def test_ancestor_is_a_sign_by_name_or_program():
    assert (
        find_agent({}, [SHELL, Process(7, "claude", "x")]).because
        == "process 7 above this one is claude"
    )
    assert find_agent({}, [Process(8, "node", "codex")]).cli == "codex"
    assert find_agent({}, [SHELL, Process(9, "claudette", "claude.txt")]) is None
    assert find_agent({"PATH": "/claude"}, [SHELL]) is None


@pytest.mark.proves("WHO-5")
def test_session_without_a_number_may_be_the_same():
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


@pytest.mark.proves("WHO-4")
def test_callers_have_names():
    assert a_person().token_id == ""
    assert person("ada") == "person:ada"
    assert a_person().is_person and a_person().name == "ada"
    assert not a_person()._replace(principal="agent:x/y").is_person


@pytest.mark.proves("HOOK-34")
def test_hidden_process_of_the_same_user_is_an_agent():
    because = "process 20 above this one is hidden, so nothing above it is seen"
    for name in (GONE, UNREADABLE):
        assert find_agent({}, [Process(20, name, name)]) == ("agent", "", because, ())
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


@pytest.mark.proves("WEB-3")
def test_scopes_are_described_as_a_list():
    assert describe_scopes(("ask",)) == "ask"
    assert describe_scopes(("ask", "answer", "read")) == "ask, answer and read"
    assert describe_scopes(("admin", "metrics")) == "manage people and read the metrics"
    assert describe_scopes(()) == "do nothing"


@pytest.mark.proves("WEB-3")
def test_scopes_are_known_and_in_their_order():
    assert check_scopes(["admin", "read", "answer", "ask"]) == ("ask", "answer", "read", "admin")
    assert check_scopes(["read", "read"]) == ("read",)
    for wrong in ([], ["read", "write"], ["write"]):
        with pytest.raises(UsageError) as caught:
            check_scopes(wrong)
        assert str(caught.value) == (
            "expected one or more of the scopes ask, answer, read, admin, metrics"
        )


@pytest.mark.proves("WHO-7", "WEB-3")
def test_token_is_listed_by_a_part_of_its_digest():
    assert make_token_id("0123456789abcdef") == "01234567"
    assert Token(make_token_id("0" * 64), "ada") == (
        "00000000", "ada", ("ask", "answer", "read"), "", None
    )  # fmt: skip
    until = datetime(2026, 1, 1, tzinfo=UTC)
    assert Login("ada", False, check_scopes(["read"]), until)[4:] == ("", "")
