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
