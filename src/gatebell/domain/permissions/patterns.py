"""The pattern that is proposed for a grant: this call and those like it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from gatebell.domain.enums import RuleKind
from gatebell.domain.permissions.calls import WRITERS
from gatebell.domain.permissions.ordinary_programs import INTERPRETERS, SHELLS
from gatebell.domain.permissions.programs import INSIDE, PROGRAMS, WRAPS
from gatebell.domain.permissions.rules import BEFORE_A_PROGRAM, Rule, covers
from gatebell.domain.permissions.wrapper_programs import VALUED

if TYPE_CHECKING:
    from datetime import datetime

    from gatebell.domain.permissions.calls import Call

# The second word of a command is a part of its name if it is a plain word: `git push`.
_WORD = re.compile(r"[A-Za-z][A-Za-z0-9:_-]*")
_PROGRAM = re.compile(r"[A-Za-z0-9_./~+-]*[A-Za-z0-9_+-]")
# A pattern for all commands of these would be a pattern for any command.
_RUNS_ANYTHING = (
    frozenset(
        ["eval", "source", "ssh", "su", "runuser", "docker", "podman", "nerdctl", "kubectl", "oc",
         "deno", "pwsh", "julia", "elixir", "script", "tmux", "screen", "awk", "gawk", "mawk", "find",
         "fd", "fdfind", "crontab", "at", "batch", "trap", "alias", "coproc"]
    )
    | BEFORE_A_PROGRAM
    | SHELLS
    | INTERPRETERS
    | VALUED.keys()
)  # fmt: skip
_NAMES_OF_VERSIONS = re.compile(r"(?:python|pypy|perl|ruby|php|node|lua)[\d.]+")


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
    name = first.rpartition("/")[2]
    # Not a program: an assignment or a sign, after which any command may follow.
    if (
        not _PROGRAM.fullmatch(first)
        or name in _RUNS_ANYTHING
        or _NAMES_OF_VERSIONS.fullmatch(name)
    ):
        return ""
    second = others[0] if others and _WORD.fullmatch(others[0]) else ""
    known = PROGRAMS.get(name)
    if known is None and first != name:
        return f"Bash({first} *)"
    if known:
        result = known.subs.get(second, known.others) if second else known.alone
        if result in (WRAPS, INSIDE) or (others and not second and known.subs):
            return ""
    return f"Bash({f'{first} {second}'.rstrip()} *)"
