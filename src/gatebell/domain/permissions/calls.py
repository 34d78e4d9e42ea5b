"""Tool calls that an agent's host holds until a person or a rule has decided."""

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
PLAN = "ExitPlanMode"
"""The tool by which an agent asks whether it may go on with its plan."""
WRITERS = ("Edit", "Write", "MultiEdit", "NotebookEdit")
# The input field that a pattern is compared with. For other tools it is the whole input.
_PATHS = dict.fromkeys(("Read", *WRITERS), "file_path") | {"NotebookEdit": "notebook_path"}
# These fields limit the time of a command and do not change its effect.
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
    """The agent's description. It does not change the identity of the call."""

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
        """The address, command or file of the call; empty for other tools."""
        if self.tool == "WebFetch" and isinstance(url := self.input.get("url"), str):
            return url
        return self.command or self.real_path or self.path

    @property
    def subject(self) -> str:
        """The text that a pattern is compared with."""
        return self.target or (canonical(self.input) if self.input else "")

    @property
    def has_more(self) -> bool:
        """Whether a command has other inputs, such as a permission to run without a sandbox."""
        return bool(self.command and set(self.input) - {"command", *_PATIENCE})

    @property
    def pattern(self) -> str:
        """The call as a person reads it in a list."""
        return f"{self.tool}({self.subject})" if self.subject else self.tool

    @property
    def identity(self) -> str:
        """A digest of everything that the call would do, in which folder, and to which file."""
        acts = {name: part for name, part in self.input.items() if name not in _PATIENCE}
        file = [self.real_path] if self.real_path else []
        return digest([self.tool, acts if self.command else self.input, self.cwd, *file])


def make_call(tool: str, given: Any, cwd: str = "", branch: str = "") -> Call:
    """Return the call that a host describes; refuse one that cannot be shown unchanged."""
    if tool.split() != [tool] or not tool.isprintable():
        raise UsageError(f"expected the name of a tool in one word, got {tool!r}")
    if not isinstance(given, dict) or plain(given) != given:
        raise UsageError("this call cannot be shown unchanged, so no person is asked about it")
    tool_input = dict(given)
    remark = tool_input.pop("description", "") if tool == "Bash" else ""
    return Call(tool, tool_input, cwd, branch, "", remark if isinstance(remark, str) else "")


def headline(call: Call) -> str:
    """Return the question of an approval; the whole call is shown below it."""
    if call.tool == PLAN:
        return "Go on with this plan?"
    about = mark_blanks(call.subject)
    if call.command:
        return f"Run this command? {about}"
    if call.tool in WRITERS and call.path:
        return f"Change {about}?"
    return f"Use {call.tool}? {about}".rstrip()


def shown(tool_input: dict[str, Any]) -> str:
    """Return the whole input of a call as text, in which no value looks like a name."""
    parts = []
    for name, value in tool_input.items():
        label = name if name.isidentifier() else json.dumps(name)
        lines = mark_blanks(_format_value(value)).split("\n")
        parts.append(
            f"{label}: {lines[0]}" if len(lines) == 1 else "\n  ".join([f"{label}:", *lines])
        )
    return "\n".join(parts)


def _format_value(value: Any) -> str:
    """Return a text unchanged, unless it looks like JSON; other values as JSON."""
    if isinstance(value, str) and not _looks_like_json(value):
        return value
    return json.dumps(value, ensure_ascii=False)


def _looks_like_json(text: str) -> bool:
    """Return whether a value, written as JSON, is exactly this text."""
    # A quick test first: the text may be long.
    if not text or text[0] not in '"[{-0123456789tfn' or "\n" in text:
        return False
    try:
        return json.dumps(json.loads(text), ensure_ascii=False) == text
    except (ValueError, RecursionError):
        return False


def explain_end(environ: Mapping[str, str]) -> str:
    """Return why the call of a hook needs no decision any more, by the host's variables."""
    if environ.get(ATTENDED) == "0":
        return "claude -p went on without a decision"
    return "answered in the terminal"
