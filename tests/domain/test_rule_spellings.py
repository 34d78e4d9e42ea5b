"""Edge cases of calls and rules: spellings of commands, limits of grants, whole events."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from tests.support.people import a_person

from gatebell.domain.asks.asks import Ask, Origin, question_digest
from gatebell.domain.asks.questions import make_question
from gatebell.domain.digests import digest
from gatebell.domain.permissions import rules
from gatebell.domain.permissions.calls import Call, headline, make_call, shown
from gatebell.domain.permissions.rules import (
    OUTSIDE,
    Rule,
    Scope,
    build_grant,
    check_pattern,
    covers,
    forbids,
)
from gatebell.errors import UsageError

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def bash(command):
    return Call("Bash", {"command": command}, "/p")


def rule(kind, pattern, **more):
    return Rule("g-1", kind, pattern, "person:ada", NOW, **more)


PUSH = rule("deny", "Bash(git push *)")


def forbidden(pattern, *commands):
    return [forbids(rule("deny", f"Bash({pattern})"), bash(one)) for one in commands]


def list_covered(pattern, *commands):
    return [covers(rule("grant", f"Bash({pattern})"), bash(one)) for one in commands]


@pytest.mark.proves("AGT-10")
@pytest.mark.parametrize(
    "word",
    ["!", "if", "then", "elif", "else", "while", "until", "do", "time", "env", "sudo", "doas", "nice",
     "nohup", "timeout", "command", "builtin", "exec", "xargs", "setsid", "stdbuf"],
)  # fmt: skip
def test_word_before_a_program_hides_no_command(word):
    assert forbidden("git push *", f"{word} git push", f"true; {word} -x git push -f") == [True] * 2
    assert forbidden("git push *", f"{word}s git push") == [False]


@pytest.mark.proves("AGT-10")
def test_spelling_of_a_program_hides_no_command():
    assert forbidden("git push *", "~/bin/git push", "$'git' push", '$"git" push') == [True] * 3
    assert forbidden("cat ~/.ssh/*", 'true && cat "~/.ssh/id"') == [True]
    assert forbidden("git push *", "a=b; ${git} push", "a=b; $git stash") == [False] * 2


@pytest.mark.proves("AGT-10")
def test_star_of_a_strict_rule_spans_punctuation():
    assert forbidden("curl * | sh", "curl 'a;b' | sh", "curl a | bash") == [True, False]
    assert forbidden("*push*", "push", "git push", "git pull") == [True, True, False]
    assert forbidden("git push:*", "git push-all", "git push", "git pul") == [True, True, False]
    assert forbids(rule("deny", "Write"), bash("ls")) is False


@pytest.mark.proves("AGT-10")
@pytest.mark.parametrize(("options", "seen"), [(99, True), (100, False)])
def test_first_hundred_words_may_name_the_program(options, seen):
    assert forbids(PUSH, bash("env " + "-a x " * options + "-a git push")) is seen


@pytest.mark.proves("AGT-7", "HOOK-33")
def test_grant_stays_with_its_words():
    assert list_covered("npm * unit *", "npm test unit a", "npm test", "npm a;b unit c") == [
        True, False, False
    ]  # fmt: skip
    assert list_covered("ls *", "ls ~/notes", "ls $HOME") == [True, False]
    assert list_covered("curl https://a.example*", "curl https://a.example/x") == [True]
    assert list_covered("curl https://a.example*", "curl https://a.example~b.net") == [False]
    assert list_covered("curl https://*.a.example/", "curl https://b.net/.a.example/") == [False]
    page = Call("WebFetch", {"url": "https://a.example/x", "prompt": "p"})
    assert covers(rule("grant", "WebFetch(*://a.example/x)"), page) is False
    assert covers(rule("grant", "WebFetch(https://a.example/*)"), page) is True
    assert covers(rule("grant", "Read(*)"), page) is False


@pytest.mark.proves("AGT-7")
@pytest.mark.parametrize("tool", ["Bash", "WebFetch", "Read", "Edit", "MultiEdit", "NotebookEdit"])
def test_misspelt_tool_is_named_with_the_right_one(tool):
    assert check_pattern(f"{tool}(x)") == f"{tool}(x)"
    with pytest.raises(UsageError) as caught:
        check_pattern(f"{tool.lower()}(x)")
    assert str(caught.value) == f"there is no tool {tool.lower()}: did you mean {tool}?"


def ask_about(call):
    origin = Origin("/p", "/p", "claude", "claude/s1", "t1", "person:ada", "tm-7")
    question = make_question("approval", headline(call), call=call)
    return Ask("a-222", question, origin, NOW, question_digest(question, origin))


@pytest.mark.proves("AGT-6")
def test_grant_holds_every_field_of_the_answer():
    call = bash("ls")
    made = build_grant(ask_about(call), call, Scope("hour"), "person:ada", NOW)
    assert made == Rule(
        id="", kind="grant", pattern="Bash(ls)", made_by="person:ada", made_at=NOW,
        identity=call.identity, project="/p", session="", owner="", branch="",
        expires_at=NOW + timedelta(hours=1), uses_left=None, ask_id="a-222",
    )  # fmt: skip


@pytest.mark.proves("AGT-6")
@pytest.mark.parametrize(("word", "left"), [("2", 1), ("1000", 999), ("1", None), ("1001", None)])
def test_grant_is_for_two_to_thousand_times(word, left):
    call = bash("ls")
    if left:
        assert build_grant(ask_about(call), call, Scope(word), "person:ada", NOW).uses_left == left
        return
    with pytest.raises(UsageError, match="a number from 2 to 1000"):
        build_grant(ask_about(call), call, Scope(word), "person:ada", NOW)


@pytest.mark.proves("AGT-8", "LAW-9")
@pytest.mark.parametrize("kind", ["ask", "deny", "grant"])
def test_events_of_a_rule_are_whole(kind):
    ada, one = a_person(), rule(kind, "Bash(x)", project="/p", identity="i", ask_id="a-222")
    assert rules.build_made_event(one, ada) == (
        f"{kind}.made", "g-1", "person:ada",
        {"pattern": "Bash(x)", "identity": "i", "reach": "in /p", "ask": "a-222", "via": ada.via,
         "evidence": ada.evidence},
    )  # fmt: skip
    assert rules.build_made_event(rule(kind, "Bash"), ada).content["ask"] == ""
    assert rules.build_ended_event(one, ada) == (
        f"{kind}.ended", "g-1", "person:ada",
        {"pattern": "Bash(x)", "via": ada.via, "evidence": ada.evidence},
    )  # fmt: skip


@pytest.mark.proves("AGT-28")
def test_gate_of_outside_writes_keeps_its_stored_name():
    assert check_pattern(OUTSIDE) == str(rule("ask", OUTSIDE)) == "Edit(outside the project)"


@pytest.mark.proves("AGT-1")
def test_call_has_the_fields_of_its_host():
    assert make_call("Read", {}) == ("Read", {}, "", "", "", "")
    assert Call("Read", {}) == make_call("Read", {})
    told = {"command": "ls", "description": "look"}
    assert make_call("Bash", told, "/p", "main") == (
        "Bash",
        {"command": "ls"},
        "/p",
        "main",
        "",
        "look",
    )
    assert make_call("Bash", {"command": "ls"}).remark == ""
    assert make_call("Bash", {"command": "ls", "description": 7}).remark == ""
    assert make_call("Task", {"description": "look"}) == (
        "Task",
        {"description": "look"},
        "",
        "",
        "",
        "",
    )


@pytest.mark.proves("AGT-1", "AGT-7")
def test_call_without_input_is_its_tool():
    assert Call("Read", {}).pattern == "Read"
    assert Call("Read", {"file_path": "/x"}).pattern == "Read(/x)"


@pytest.mark.proves("AGT-7", "LAW-4")
def test_identity_covers_every_effect_of_a_call():
    ls, file = bash("ls"), Call("MultiEdit", {"file_path": "x"}, "/p", "", "/p/x")
    assert ls.identity == digest(["Bash", {"command": "ls"}, "/p"])
    assert file.identity == digest(["MultiEdit", {"file_path": "x"}, "/p", "/p/x"])
    patient = Call("Bash", {"command": "ls", "timeout": 9, "run_in_background": True}, "/p")
    assert patient.identity == ls.identity and not patient.has_more
    wait = Call("mcp__clock__wait", {"timeout": 9})
    assert wait.identity != wait._replace(input={}).identity


@pytest.mark.proves("AGT-7")
def test_field_without_a_name_is_not_a_path():
    call = Call("mcp__db__query", {"": "read", "sql": "DROP TABLE users"})
    assert call.path == "" and call.subject == '{"":"read","sql":"DROP TABLE users"}'
    assert covers(rule("grant", "mcp__db__query(read)"), call) is False


@pytest.mark.proves("HOOK-36")
def test_text_that_looks_like_json_is_quoted():
    assert shown({"a": '"é"', "b": "é", "c": "[1, 2]", "d": "[1,2]", "e": "7", "f": ""}) == (
        'a: "\\"é\\""\nb: é\nc: "[1, 2]"\nd: [1,2]\ne: "7"\nf: '
    )
