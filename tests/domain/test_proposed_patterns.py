"""The pattern that is proposed for a longer approval."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from gatebell.domain.permissions.calls import make_call
from gatebell.domain.permissions.patterns import propose_pattern

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def bash(command):
    return make_call("Bash", {"command": command})


@pytest.mark.parametrize(
    ("call", "pattern"),
    [
        (bash("git push origin main"), "Bash(git push *)"),
        (bash("git push"), "Bash(git push *)"),
        (bash("make"), "Bash(make *)"),
        (bash("ls -la"), "Bash(ls *)"),
        (bash("./run.sh all"), "Bash(./run.sh *)"),
        (bash("/usr/bin/git push"), "Bash(/usr/bin/git push *)"),
        (bash("npm run build"), "Bash(npm run *)"),
        (make_call("Edit", {"file_path": "/p/a/b.py"}), "Edit(/p/a/*)"),
        (make_call("WebFetch", {"url": "https://a.example/x?y"}), "WebFetch(https://a.example/*)"),
    ],
)
@pytest.mark.proves("WEB-108")
def test_pattern_is_proposed_for_similar_calls(call, pattern):
    assert propose_pattern(call, NOW) == pattern


@pytest.mark.parametrize(
    "call",
    [
        *map(bash, ("git push; rm -rf /", "git push && ls", "sudo ls", "bash -c x", "python x.py")),
        *map(bash, ("env A=1 ls", "npx tool", "ssh host ls", "a* b", "git push $(ls)")),
        *map(bash, ("nodejs x.js", "bunx tool", "chroot / ls", "parallel rm -- a", "tsx x.ts")),
        make_call("Bash", {"command": "git push", "dangerouslyDisableSandbox": True}),
        make_call("mcp__db__query", {"sql": "DROP TABLE x"}),
        make_call("Edit", {"file_path": "b.py"}),
    ],
)
@pytest.mark.proves("WEB-108", "LAW-3")
def test_no_pattern_is_proposed_for_compound_or_open_calls(call):
    assert propose_pattern(call, NOW) == ""


@pytest.mark.parametrize(
    "command",
    [
        "A=1 git push", "LD_PRELOAD=x ls", "time git push", "! git push", "{ ls", ". x", "[ x ]",
        "/bin/sh -c x", "/usr/bin/env x", "\\bash x", "python3.12 -c x", "nodejs x", "ash -c x",
        "uv run x", "npm exec x", "git -C . push", "git  push", "find . -exec x", "awk x", "setsid x",
        "'bash' -c x", "docker-compose run x y",
    ],
)  # fmt: skip
@pytest.mark.proves("WEB-108", "LAW-3")
def test_no_pattern_is_proposed_that_covers_any_command(command):
    assert propose_pattern(bash(command), NOW) == ""
