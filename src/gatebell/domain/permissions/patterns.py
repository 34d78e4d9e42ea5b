"""The pattern that is proposed for a grant: this call and those like it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from gatebell.domain.enums import RuleKind
from gatebell.domain.permissions.calls import WRITERS
from gatebell.domain.permissions.ordinary_programs import INTERPRETERS, SHELLS, VALUED
from gatebell.domain.permissions.rules import Rule, covers

if TYPE_CHECKING:
    from datetime import datetime

    from gatebell.domain.permissions.calls import Call

# The second word of a command is a part of its name if it is a plain word: `git push`.
_WORD = re.compile(r"[A-Za-z][A-Za-z0-9:_-]*")
# A pattern for all commands of these would be a pattern for any command.
_RUNS_ANYTHING = (
    SHELLS
    | INTERPRETERS
    | frozenset(VALUED)
    | frozenset(["deno", "docker", "eval", "kubectl", "podman", "source", "ssh"])
)


def propose_pattern(call: Call, now: datetime) -> str:
    """Return a pattern that covers this call and similar ones; empty if there is no safe one."""
    proposed = _propose(call)
    rule = Rule("", RuleKind.GRANT, proposed, "", now)
    return proposed if proposed and covers(rule, call) else ""


def _propose(call: Call) -> str:
    if call.command:
        return _propose_command(call.command)
    if call.tool in (*WRITERS, "Read") and (folder := call.target.rpartition("/")[0]):
        return f"{call.tool}({folder}/*)"
    address = urlsplit(call.target) if call.tool == "WebFetch" else None
    if address and address.scheme and address.netloc:
        return f"{call.tool}({address.scheme}://{address.netloc}/*)"
    return ""


def _propose_command(command: str) -> str:
    first, *others = command.split(" ")
    if not first or first in _RUNS_ANYTHING or "*" in first:
        return ""
    if others and _WORD.fullmatch(others[0]) and _WORD.fullmatch(first):
        first = f"{first} {others[0]}"
    return f"Bash({first} *)"
