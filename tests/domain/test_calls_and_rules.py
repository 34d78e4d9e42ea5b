"""Tool calls and their rules: strict rules match widely, grants narrowly."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from tests.support.people import a_person

from gatebell.domain.asks.answers import Given, answer
from gatebell.domain.asks.asks import Ask, Origin, question_digest, record_digest
from gatebell.domain.asks.outcomes import answer_text
from gatebell.domain.asks.questions import make_question
from gatebell.domain.asks.requirements import Requirement
from gatebell.domain.permissions import rules
from gatebell.domain.permissions.calls import Call, explain_end, headline, make_call, shown
from gatebell.domain.permissions.rules import (
    Rule,
    Scope,
    check_pattern,
    covers,
    forbids,
    in_scope,
)
from gatebell.errors import InvalidAnswerError, UsageError

NOW = datetime(2026, 1, 1, tzinfo=UTC)
PUSH = make_call(
    "Bash", {"command": "git push origin main", "description": "share it"}, "/p", "main"
)
ORIGIN = Origin("/p", "/p", "claude", "claude/s1", "t1", "person:ada", "tm-7")


def bash(command, **more):
    return Call("Bash", {"command": command, **more}, "/p")


def an_approval(call=PUSH, origin=ORIGIN, **more):
    question = make_question("approval", headline(call), call=call, **more)
    return Ask("a-222", question, origin, NOW, question_digest(question, origin))


def give(ask, value, **more):
    return answer(ask, (), a_person(verified=True), Given(value, **more), NOW, b"k" * 32)


def rule(kind, pattern, **more):
    return Rule("g-1", kind, pattern, "person:ada", NOW, **more)


@pytest.mark.proves("AGT-1")
def test_call_shows_its_effect():
    assert headline(PUSH) == "Run this command? git push origin main"
    assert headline(Call("Write", {"file_path": "/etc/x", "content": "y"})) == "Change /etc/x?"
    assert headline(Call("Edit", {"file_path": "../x"}, "/p", "", "/x")) == "Change /x?"
    assert headline(Call("NotebookEdit", {"notebook_path": "/n"})) == "Change /n?"
    assert headline(Call("ExitPlanMode", {"plan": "1."})) == "Go on with this plan?"
    assert headline(Call("Read", {"file_path": "/etc/x"})) == "Use Read? /etc/x"
    assert headline(Call("WebFetch", {"url": "u", "prompt": "p"})) == "Use WebFetch? u"
    assert headline(Call("Read", {})) == "Use Read?"
    assert headline(Call("Bash", {"command": 7})) == 'Use Bash? {"command":7}'
    drop = Call("mcp__db__drop", {"table": "users", "command": "ls"})
    assert headline(drop) == 'Use mcp__db__drop? {"command":"ls","table":"users"}'
    assert Call("Write", {"file_path": 7}).path == ""


@pytest.mark.proves("AGT-1", "LAW-8")
def test_no_value_can_pass_for_another_name():
    assert shown({"a": "one\nb: two", "b": 3}) == "a:\n  one\n  b: two\nb: 3"
    assert shown({"x\ncommand": "ls"}) == '"x\\ncommand": ls'


@pytest.mark.proves("AGT-1", "LAW-4")
def test_digest_covers_the_call_without_the_agent_description():
    first = an_approval()
    again = an_approval(PUSH._replace(remark="said otherwise"))
    assert PUSH.remark == "share it" and "description" not in PUSH.input
    assert first.digest == again.digest
    assert record_digest(first) != record_digest(again)
    for other in (
        PUSH._replace(input={"command": "git push"}), PUSH._replace(tool="Exec"),
        PUSH._replace(branch="x"), PUSH._replace(cwd="/p/src"),
    ):  # fmt: skip
        assert an_approval(other).digest != first.digest
    assert make_call("Bash", {"description": 4}, "", "").remark == ""
    assert make_call("Task", {"description": "d"}, "", "").input == {"description": "d"}


@pytest.mark.proves("AGT-1")
@pytest.mark.parametrize(
    "given", [None, "text", ["rm -rf /"], {"command": "rm f\udc80"}, {"command": "a\0b"}]
)
def test_call_that_cannot_be_shown_exactly_is_not_asked(given):
    with pytest.raises(UsageError, match="cannot be shown"):
        make_call("Bash", given, "", "")


@pytest.mark.proves("HOOK-1")
@pytest.mark.parametrize(
    "tool", ["", " ", "Bash ", "two words", "Ba\u200bsh", "Bash\udc80", "a\nb"]
)
def test_call_without_one_word_as_tool_is_refused(tool):
    with pytest.raises(UsageError, match="name of a tool in one word"):
        make_call(tool, {"command": "ls"})


@pytest.mark.proves("AGT-1")
def test_only_an_approval_holds_a_call():
    with pytest.raises(UsageError):
        make_question("text", "Q", call=PUSH)


@pytest.mark.proves("AGT-2")
def test_approval_may_carry_another_input():
    edited = {"input": {"command": "git push --dry-run"}}
    after = give(an_approval(), edited).change.ask
    assert after.decision == "approved" and after.value == edited
    assert answer_text(after, after.value) == "command: git push --dry-run"
    for wrong in ({"input": {}}, {"input": "text"}, {"input": {"a": 1}, "b": 2}, {}):
        assert isinstance(give(an_approval(), wrong).error, InvalidAnswerError)
    plain = Ask("a-2", make_question("approval", "Q"), ORIGIN, NOW, "d")
    assert isinstance(give(plain, edited).error, InvalidAnswerError)


@pytest.mark.proves("AGT-6")
@pytest.mark.parametrize(
    ("word", "reach"),
    [
        ("session", {"session": "claude/s1"}), ("task", {"owner": "tm-7"}),
        ("branch", {"branch": "main"}), ("hour", {"expires_at": NOW + timedelta(hours=1)}),
        ("5", {"uses_left": 4}),
    ],
)  # fmt: skip
def test_approval_becomes_a_grant_with_its_reach(word, reach):
    change = give(an_approval(), "yes", scope=Scope(word)).change
    grant = change.grant
    assert grant == Rule(
        grant.id, "grant", "Bash(git push origin main)", "person:ada", NOW, identity=PUSH.identity,
        project="/p", ask_id="a-222", **reach,
    )  # fmt: skip
    assert grant.id.startswith("g-") and str(grant) == grant.pattern
    assert [event.kind for event in change.events] == ["ask.answered", "grant.made"]
    assert change.events[1].subject == grant.id
    assert change.events[1].content["reach"] == rules.scope_words(grant)


@pytest.mark.proves("AGT-6")
def test_invalid_reach_is_refused():
    nowhere = an_approval(PUSH._replace(branch=""), Origin("/p", session="claude/"))
    for word in ("session", "task", "branch"):
        with pytest.raises(UsageError, match=f"no {word}"):
            give(nowhere, "yes", scope=Scope(word))
    with pytest.raises(UsageError, match="no project"):
        give(an_approval(PUSH, Origin()), "yes", scope=Scope("hour"))
    for word in ("for ever", "0", "1", "1001", ""):
        with pytest.raises(UsageError, match="expected a scope"):
            give(an_approval(), "yes", scope=Scope(word))


@pytest.mark.proves("AGT-6", "LAW-3")
def test_only_a_plain_single_approval_reaches_further():
    scope = Scope("session")
    question = Ask("a-2", make_question("approval", "Q"), ORIGIN, NOW, "d")
    two = an_approval(requirement=Requirement(2))
    for ask, value in (
        (question, "yes"), (an_approval(), "no"), (two, "yes"),
        (an_approval(), {"input": {"command": "ls"}}),
    ):  # fmt: skip
        with pytest.raises(UsageError):
            give(ask, value, scope=scope)


@pytest.mark.proves("AGT-7")
def test_exact_grant_covers_this_call_alone():
    star = bash("rm *.txt")
    exact = rule("grant", star.pattern, identity=star.identity)
    assert covers(exact, star) and covers(exact, bash("rm *.txt", timeout=9))
    for other in (
        bash("rm a.txt"), bash("rm *.txt", dangerouslyDisableSandbox=True),
        Call("Zsh", star.input, "/p"), star._replace(cwd="/p/src"),
    ):  # fmt: skip
        assert not covers(exact, other)
    write = Call("Write", {"file_path": "a.py", "content": "print(1)"}, "/p")
    exact = rule("grant", write.pattern, identity=write.identity)
    assert covers(exact, write)
    assert not covers(exact, write._replace(input=write.input | {"content": "evil()"}))
    assert not covers(exact, write._replace(real_path="/etc/profile"))


@pytest.mark.proves("AGT-7")
def test_wider_grant_covers_one_plain_command():
    tests = rule("grant", "Bash(npm test *)")
    for command in ("npm test", "npm test unit", "npm test a b"):
        assert covers(tests, bash(command))
        assert covers(rule("grant", "Bash(npm test:*)"), bash(command))
    for command in (
        "npm test; rm -rf /", "npm test && git push", "npm test $(x)", "npm test `x`", "npm testing",
        "npm test > /etc/x", "npm test\nrm x", "npm test | sh", "npm test & x", "x npm test y",
        "npm test \\\nrm", "npm test-evil",
    ):  # fmt: skip
        assert not covers(tests, bash(command)), command
        assert not covers(rule("grant", "Bash(npm test:*)"), bash(command)), command
    assert not covers(tests, bash("npm test unit", sandbox=False))
    assert not covers(rule("grant", "Bash"), PUSH)
    for pattern in ("Bash(git push --force *)", "Bash", "Write(*)", "Bash(*x*)", "Bash(*pus)"):
        with pytest.raises(UsageError, match="does not cover"):
            give(an_approval(), "yes", scope=Scope("hour", pattern))
    wide = give(an_approval(), "yes", scope=Scope("hour", "Bash(git * ma*n)")).change.grant
    assert wide.pattern == "Bash(git * ma*n)" and not wide.identity
    assert not covers(rule("grant", "Bash(a*ba)"), bash("aba"[:2]))
    assert not covers(rule("grant", "Bash(ab*ba)"), bash("aba"))


@pytest.mark.proves("AGT-7")
def test_path_is_resolved_before_matching():
    """The path may have links and dots; wiring resolves it."""
    source, etc = rule("grant", "Edit(/p/src/*)"), rule("deny", "Edit(/etc/*)")
    inside = Call("Edit", {"file_path": "src/a.py"}, "/p", "", "/p/src/a.py")
    outside = Call("Edit", {"file_path": "/p/src/../../etc/x"}, "/p", "", "/etc/x")
    assert covers(source, inside) and not covers(source, outside)
    assert forbids(etc, outside) and not forbids(etc, inside)
    assert forbids(etc, outside._replace(tool="Write", input=outside.input | {"command": "ls"}))
    assert not forbids(etc, outside._replace(tool="Read"))


@pytest.mark.proves("AGT-10")
def test_strict_rule_applies_to_every_part():
    push = rule("deny", "Bash(git push *)")
    for command in (
        "git push", "git push origin", "cd x && git push", "true; git push -f", "ls | git push",
        "a & git push x", "a\ngit push", "a || git push", "(git push)", "echo $(git push)",
        "`git push`", "{ git push; }", "if true; then git push; fi", "env A=b git push", "A=b git push",
        "sudo -n git push", "timeout 5 git push", "time git push", "! git push", "/usr/bin/git push",
        "git  push", 'git "push"', "git pu'sh'", "git \\\n push", "g\\it push",
        "env -C . git push", "sudo -u me -g us git push", "timeout -k 5 -s INT 9 git push",
        "g=git; $g push", 'a=git b=push; "${a}" $b', "g='git push'; $g", "export g=git && $g push",
    ):  # fmt: skip
        assert forbids(push, bash(command)), command
    assert forbids(push, Call("Bash", {"command": "git push", "sandbox": False}))
    assert forbids(rule("ask", "Bash(git push:*)"), PUSH)
    assert forbids(rule("ask", "WebFetch"), Call("WebFetch", {"url": "u"}))
    for command in (
        "git pull",
        "echo git",
        "A=b",
        "",
        "timeout 5",
        "git stash push",
        "g=got; $g push",
        "$g push",
        "sudo -u me ls git push",
        "env -C",
        "env a git push -q",
    ):
        assert not forbids(push, bash(command)), command
    assert not forbids(rule("ask", "Write"), PUSH)


@pytest.mark.proves("AGT-10")
def test_no_command_takes_long_to_compare():
    for pattern in ("Bash(*sh -*c*push*)", "Bash(*a*a*a*a*a*a*b)"):
        long = bash("git push; " + "sh -c pus " * 40_000 + "a" * 40_000)
        assert forbids(rule("ask", pattern), long) in (True, False)
    for command in ("env " + "-a x " * 40_000, f"a={'x' * 40}; " + "$a" * 40_000):
        assert not forbids(rule("ask", "Bash(git push *)"), bash(command))


@pytest.mark.proves("AGT-7")
def test_rule_applies_to_its_project_session_task_and_branch():
    assert in_scope(rule("grant", "Bash"), ORIGIN, PUSH)
    whole = {"project": "/p", "session": "claude/s1", "owner": "tm-7", "branch": "main"}
    assert in_scope(rule("grant", "Bash", **whole), ORIGIN, PUSH)
    for name in whole:
        assert not in_scope(rule("grant", "Bash", **whole | {name: "other"}), ORIGIN, PUSH)
    beneath = ORIGIN._replace(project="/p/sub", cwd="/p/sub/x")
    assert in_scope(rule("deny", "Bash", project="/p"), beneath, PUSH)
    assert not in_scope(rule("grant", "Bash", project="/p"), beneath, PUSH)
    assert not in_scope(rule("deny", "Bash", project="/p"), Origin("/pq", "/pq"), PUSH)


@pytest.mark.proves("AGT-6")
def test_reach_is_described_in_words():
    assert rules.scope_words(rule("ask", "Bash")) == "in every project"
    assert rules.scope_words(rule("grant", "Bash", uses_left=1)) == "once more, in every project"
    told = rules.scope_words(
        rule(
            "grant", "Bash", project="/p", session="s", owner="t", branch="b", uses_left=2,
            expires_at=NOW,
        )
    )  # fmt: skip
    assert told == ("session s, task t, branch b, 2 more times, until 2026-01-01 00:00 UTC, in /p")


@pytest.mark.proves("AGT-8")
def test_events_name_actor_and_action():
    grant = rule("grant", "Bash(x)")
    assert rules.build_used_event(grant, PUSH, "agent:claude/s1") == (
        "grant.used", "g-1", "agent:claude/s1",
        {"pattern": "Bash(x)", "tool": "Bash", "input": PUSH.input},
    )  # fmt: skip
    ended = rules.build_ended_event(grant, a_person())
    assert ended[:3] == ("grant.ended", "g-1", "person:ada")
    assert ended.content["pattern"] == "Bash(x)"


@pytest.mark.proves("AGT-7")
@pytest.mark.parametrize("pattern", ["", "git push", "Bash()", "Bash(x", "9(x)", "(x)", "bash(x)"])
def test_invalid_pattern_is_refused(pattern):
    with pytest.raises(UsageError, match=r"expected a pattern|did you mean Bash"):
        check_pattern(pattern)


@pytest.mark.proves("FLT-16")
@pytest.mark.parametrize(
    ("attended", "reason"),
    [
        ({"CLAUDE_CODE_SESSION_ATTENDED": "0"}, "claude -p went on without a decision"),
        ({"CLAUDE_CODE_SESSION_ATTENDED": "1"}, "answered in the terminal"),
        ({}, "answered in the terminal"),
    ],
)
def test_reason_fits_the_session_of_a_call(attended, reason):
    assert explain_end(attended) == reason
