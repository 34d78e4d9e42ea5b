"""Which patterns may be allowed for good."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from gatebell.domain.enums import RuleKind
from gatebell.domain.permissions import standing_patterns
from gatebell.domain.permissions.calls import make_call
from gatebell.domain.permissions.judgement import judge
from gatebell.domain.permissions.past_calls import (
    CallOutcome,
    PastCall,
    Pattern,
    would_answer,
)
from gatebell.domain.permissions.rules import Rule, covers, lets_pass
from gatebell.domain.permissions.shell_lines import Command, Script
from gatebell.domain.permissions.standing_patterns import (
    find_denial,
    propose_standing,
    why_not_standing,
)

NOW = datetime(2026, 1, 1, tzinfo=UTC)

WIDE = [
    " ".join(filter(None, (name, sub)))
    for name, subs in standing_patterns._VARYING.items()
    for sub in sorted(subs) or ("",)
]


def bash(command):
    return make_call("Bash", {"command": command}, "/p")


@pytest.mark.proves("LESS-2")
@pytest.mark.parametrize(
    ("call", "pattern"),
    [
        (bash("npm test"), "Bash(npm test *)"),
        (bash("npm test -- -t 'a b'"), "Bash(npm test *)"),
        (bash("pytest -q tests/x.py"), "Bash(pytest *)"),
        (bash("cargo clippy --all"), "Bash(cargo clippy *)"),
        (bash("git commit -m x"), "Bash(git commit *)"),
        (bash("make check"), "Bash(make check)"),
        (bash("./run.sh all"), "Bash(./run.sh all)"),
        (bash("npm run build"), "Bash(npm run build)"),
        (bash("go test ./..."), "Bash(go test ./...)"),
        (bash("/p/tools/check.sh"), "Bash(/p/tools/check.sh)"),
        (bash("make -C /p/sub check"), "Bash(make -C /p/sub check)"),
        (bash("head -5 README.md"), "Bash(head -5 README.md)"),
        # With other options they write a file, or call another server.
        (bash("git log -1"), "Bash(git log -1)"),
        (bash("git diff --stat"), "Bash(git diff --stat)"),
        (bash("npm outdated"), "Bash(npm outdated)"),
        (make_call("Edit", {"file_path": "/p/src/a.py"}, "/p"), "Edit(/p/src/*)"),
    ],
)
def test_star_follows_only_words_that_decide(call, pattern):
    assert propose_standing(call, "/p") == pattern


@pytest.mark.proves("LESS-2")
@pytest.mark.parametrize(
    "call",
    [
        *map(bash, ("git push", "npm publish", "rm x", "sudo ls", "python -m pytest", "npx jest")),
        *map(bash, ("uv run x", "make release", "ls 'a'", "ls > x", "npm config set a b", "A=1 ls")),
        *map(bash, ("npm test; ls", "docker ps", "ssh h ls", "gate rules promote s-1", "git -C x log")),
        *map(bash, ("eslint upload.ts --x 'y'", "pip install x", "kill 1", "curl x", "x" * 300)),
        *map(bash, ("reboot", "visudo", "rsync a b", "scp a h:b", "mail x", "git reset --hard", "tee x")),
        *map(bash, ("npm install x", "go install x", "nix-shell x", "R x", "unknown-program x")),
        *map(bash, ("cat .env", "cat /etc/hosts", "cat a/../../b", "/tmp/check.sh", "../check.sh")),
        *map(bash, ("./.hidden.sh", "make -f /tmp/x check", "make -f/tmp/x", "make SHELL=/tmp/sh check")),
        *map(bash, ("npm test; ls", "npm test\nrm x", "npm\ttest x", "npm\u2002test", "npm test\u2028x")),
        make_call("Bash", {"command": "npm test", "dangerouslyDisableSandbox": True}),
        make_call("Edit", {"file_path": "/p/a.py"}, "/p"),
        make_call("Edit", {"file_path": "/q/src/a.py"}, "/p"),
        make_call("Edit", {"file_path": "/p/.github/a.yml"}, "/p"),
        make_call("WebFetch", {"url": "https://a.example/x"}),
        make_call("mcp__db__query", {"sql": "SELECT 1"}),
    ],
)  # fmt: skip
def test_open_or_dangerous_calls_have_no_pattern(call):
    found = propose_standing(call, "/p")
    assert found in ("", "Edit(/p/a.py)", "Bash(eslint *)"), found
    assert found != "Bash(eslint *)" or call.command.startswith("eslint ")


@pytest.mark.proves("LESS-2")
@pytest.mark.parametrize(
    "command",
    ["npm test; rm x", "npm test && ls", "npm test | sh", "npm test $(ls)", "npm test `ls`",
     "npm test > x", "npm test\nrm x", "npm test \r\nrm x", "A=1 npm test", "env A=1 npm test",
     "sudo npm test", "npm testx", "NPM test", "npm\u2002test", "npm\ttest", "x npm test"],
)  # fmt: skip
def test_allowed_pattern_covers_one_plain_command_only(command):
    rule = Rule("", RuleKind.GRANT, "Bash(npm test *)", "", datetime(2026, 1, 1, tzinfo=UTC))
    assert covers(rule, bash("npm test -- -t one"))
    assert not covers(rule, bash(command))


@pytest.mark.proves("LESS-2")
@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        ("Bash(*)", "not a plain command"),
        ("Bash(npm *)", "with other words"),
        ("Bash(npm *test)", "not a plain command"),
        ("Bash(npm test:*)", "with other words|not a plain|may"),
        ("Bash(git push *)", "is a push"),
        ("Bash(git *)", "with other words"),
        ("Bash(make *)", "with other words"),
        ("Bash(sh -c x)", "a shell|wrapper"),
        ("Bash(pytest upload.py)", "looks at it"),
        ("Edit(/p/*)", "not a folder"),
        ("Edit(/p/a/../../*)", "not a folder"),
        ("Edit(/p/*/b)", "must be all"),
        ("Edit(/p/a/.env)", "hidden"),
        ("Read(/p/a/*)", "only a command"),
        ("Bash", "only a command"),
    ],
)
def test_reason_is_named(pattern, why):
    found = why_not_standing(pattern, "/p")
    assert any(one in found for one in why.split("|")), found


@pytest.mark.proves("LESS-2")
@pytest.mark.parametrize("prefix", WIDE)
def test_nothing_that_follows_a_wide_pattern_is_held(prefix):
    assert why_not_standing(f"Bash({prefix} *)", "/p") == ""
    for words in ("push", "--push", "publish", "deploy", "release", "-r --force", "-- upload"):
        line = f"{prefix} {words}"
        script = Script((Command(tuple(line.split(" ")), line),))
        assert judge(line, {line: script}).finding is None, line


@pytest.mark.proves("LESS-2")
@pytest.mark.parametrize(
    ("kind", "denied", "meets"),
    [
        ("deny", "Bash(npm test --update *)", True),
        ("deny", "Bash(npm *)", True),
        ("deny", "Bash", True),
        ("deny", "Bash(npm tes)", False),
        ("deny", "Bash(cargo test *)", False),
        ("deny", "Edit(/p/src/*)", False),
        ("ask", "Bash(npm *)", False),
    ],
)
def test_denial_that_a_pattern_meets_is_named(kind, denied, meets):
    other = Rule("d-1", RuleKind.DENY, "WebFetch", "person:ada", NOW)
    rule = Rule("d-2", RuleKind(kind), denied, "person:ada", NOW)
    assert find_denial("Bash(npm test *)", [other, rule]) == (denied if meets else "")


@pytest.mark.proves("LESS-2")
@pytest.mark.parametrize(
    ("denied", "meets"), [("Edit", True), ("Edit(/p/src/x/*)", True), ("Write(/p/src/a)", False)]
)
def test_denial_of_edits_is_about_every_tool_that_writes(denied, meets):
    for tool in ("Write", "MultiEdit"):
        rule = Rule("d-1", RuleKind.DENY, denied, "person:ada", NOW)
        is_same = denied.startswith(tool)
        assert bool(find_denial(f"{tool}(/p/src/*)", [rule])) == (meets or is_same)


@pytest.mark.proves("LESS-2")
@pytest.mark.parametrize(
    ("path", "passes"),
    [
        ("/p/src/a.py", True),
        ("/p/src/sub/b.py", True),
        ("/p/src/.env", False),
        ("/p/src/.husky/pre-commit", False),
        ("/p/src/sub/.npmrc", False),
        ("/p/src/../.git/config", False),
    ],
)
def test_standing_grant_for_files_ends_at_hidden_ones(path, passes):
    call = make_call("Edit", {"file_path": path}, "/p")
    standing = Rule("g-1", RuleKind.GRANT, "Edit(/p/src/*)", "person:ada", NOW, project="/p")
    assert lets_pass(standing, call) == passes
    limited = standing._replace(session="claude/s1")
    assert lets_pass(limited, call), "of one session, a person may allow it"
    past = PastCall("a-1", call, "", "", CallOutcome.APPROVED, NOW)
    assert would_answer(Pattern("Edit(/p/src/*)", "/p"), past) == passes
    assert bool(propose_standing(call, "/p")) == passes
