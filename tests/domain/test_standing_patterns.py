"""Which patterns may be allowed for good."""

from __future__ import annotations

import pytest

from gatebell.domain.permissions import standing_patterns
from gatebell.domain.permissions.calls import make_call
from gatebell.domain.permissions.judgement import judge
from gatebell.domain.permissions.shell_lines import Command, Script
from gatebell.domain.permissions.standing_patterns import propose_standing, why_not_standing

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
