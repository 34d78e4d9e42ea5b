"""Tool calls: what an agent's host wants to do and holds until somebody has decided."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from gatebell.domain.digests import canonical, digest
from gatebell.domain.records import NamedTuple
from gatebell.domain.text.display import mark_blanks, plain
from gatebell.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

ATTENDED = "CLAUDE_CODE_SESSION_ATTENDED"
"""The variable that Claude Code sets in every session: `0` with -p."""
WRITERS = ("Edit", "Write", "MultiEdit", "NotebookEdit")
# What a pattern is compared with. Of any other tool, that is the whole input.
_PATHS = dict.fromkeys(("Read", *WRITERS), "file_path") | {"NotebookEdit": "notebook_path"}
# How long a command may take changes nothing about what it does.
_PATIENCE = ("timeout", "run_in_background")


class Call(NamedTuple):
    """One use of a tool, as the host hands it over."""

    tool: str
    input: dict[str, Any]
    cwd: str = ""
    """Where it would run."""
    branch: str = ""
    """The branch that is checked out there."""
    real_path: str = ""
    """The file that it is about, after all links."""
    remark: str = ""
    """What the agent says about it. The same call said otherwise is still the same call."""

    @property
    def command(self) -> str:
        found = self.input.get("command") if self.tool == "Bash" else ""
        return found if isinstance(found, str) else ""

    @property
    def path(self) -> str:
        """The file as the agent names it, if it is a tool for files."""
        found = self.input.get(_PATHS[self.tool]) if self.tool in _PATHS else ""
        return found if isinstance(found, str) else ""

    @property
    def target(self) -> str:
        """The address, command or file that it is about, if it is of a tool that has one."""
        if self.tool == "WebFetch" and isinstance(url := self.input.get("url"), str):
            return url
        return self.command or self.real_path or self.path

    @property
    def subject(self) -> str:
        """What a pattern is compared with."""
        return self.target or (canonical(self.input) if self.input else "")

    @property
    def has_more(self) -> bool:
        """A command with something beside it, such as leave to go without a sandbox."""
        return bool(self.command and set(self.input) - {"command", *_PATIENCE})

    @property
    def pattern(self) -> str:
        """The call as a person reads it in a list."""
        return f"{self.tool}({self.subject})" if self.subject else self.tool

    @property
    def identity(self) -> str:
        """Of this call and of no other: everything that it would do, where, and to which file."""
        acts = {name: part for name, part in self.input.items() if name not in _PATIENCE}
        file = [self.real_path] if self.real_path else []
        return digest([self.tool, acts if self.command else self.input, self.cwd, *file])


def make_call(tool: str, given: Any, cwd: str = "", branch: str = "") -> Call:
    """A call as a host describes it, if all of it can be shown as it is."""
    if tool.split() != [tool] or not tool.isprintable():
        raise UsageError(f"a call names its tool in one word, and not {tool!r}")
    if not isinstance(given, dict) or plain(given) != given:
        raise UsageError("this call cannot be shown as it is, so nobody is asked about it")
    tool_input = dict(given)
    remark = tool_input.pop("description", "") if tool == "Bash" else ""
    return Call(tool, tool_input, cwd, branch, "", remark if isinstance(remark, str) else "")


def headline(call: Call) -> str:
    """The question of an approval; the whole call is shown beneath it."""
    if call.tool == "ExitPlanMode":
        return "Go on with this plan?"
    about = mark_blanks(call.subject)
    if call.command:
        return f"Run this command? {about}"
    if call.tool in WRITERS and call.path:
        return f"Change {about}?"
    return f"Use {call.tool}? {about}".rstrip()


def shown(tool_input: dict[str, Any]) -> str:
    """A call's input as text, nothing left out, and no value that looks like another name."""
    parts = []
    for name, value in tool_input.items():
        label = name if name.isidentifier() else json.dumps(name)
        lines = mark_blanks(_value(value)).split("\n")
        parts.append(
            f"{label}: {lines[0]}" if len(lines) == 1 else "\n  ".join([f"{label}:", *lines])
        )
    return "\n".join(parts)


def _value(value: Any) -> str:
    """A text as it is, unless it would look like another value; anything else as JSON."""
    if isinstance(value, str) and not _looks_like_json(value):
        return value
    return json.dumps(value, ensure_ascii=False)


def _looks_like_json(text: str) -> bool:
    """Whether some value, put as JSON, is shown by just this text."""
    # Each of its texts may be long, and most need no closer look.
    if not text or text[0] not in '"[{-0123456789tfn' or "\n" in text:
        return False
    try:
        return json.dumps(json.loads(text), ensure_ascii=False) == text
    except (ValueError, RecursionError):
        return False


def ended_without_us(environ: Mapping[str, str]) -> str:
    """Why the call of a hook needs no decision of ours any more, by the variables of its host."""
    if environ.get(ATTENDED) == "0":
        return "claude -p went on without a decision"
    return "answered in the terminal"
