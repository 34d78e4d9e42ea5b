"""Hooks for hosts without rules to ask: our own gates decide before each call that they may match."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from gatebell.domain.permissions.calls import WRITERS
from gatebell.install.hosts.claude import guard_hook

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gatebell.install.default_gates import Rules

DAY_SECONDS = 86_400
# A person's answer counts for 90 percent of the limit; the guard ends the hook soon after.
GUARD_ENDS_AT = 95
OWN_GATES_NOTE = (
    "gate compares each of these calls with its gates (gate gates). A spelling that no gate matches "
    "runs without a question; try one: gate gates test COMMAND."
)


def build_hook(gate: str, cli: str) -> str:
    """Return the line of shell that asks gate about a call, and blocks the call if that fails."""
    # $PPID is the host: the guard's shell is between it and gate.
    hook = f"{shlex.quote(gate)} hook {cli} --host $PPID"
    return guard_hook(hook, DAY_SECONDS, GUARD_ENDS_AT)


def choose_tools(rules: Rules, names: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """Return the host's names of the tools that a gate or denial may match; empty: any tool.

    `names` has the host's tools for `Bash` and for `Edit`, which stands for all that write files.
    """
    found: list[str] = []
    for pattern in (*rules.gates, *rules.denials):
        tool = pattern.partition("(")[0]
        if tool != "Bash" and tool not in WRITERS:
            return ()
        found += names["Bash" if tool == "Bash" else "Edit"]
    return tuple(dict.fromkeys(found))
