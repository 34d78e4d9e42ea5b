"""Tool calls: what an agent's host wants to do and holds until somebody has decided."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from humangate.domain.digests import canonical

# What tells a call of a tool from others of it. Of any other tool, that is its whole input.
_SUBJECTS = {
    "Bash": "command",
    "Read": "file_path",
    "Edit": "file_path",
    "Write": "file_path",
    "MultiEdit": "file_path",
    "NotebookEdit": "notebook_path",
    "WebFetch": "url",
}
_WRITERS = ("Edit", "Write", "MultiEdit", "NotebookEdit")
# A shell command with anything else beside it, such as leave to go without the host's
# sandbox, is more than its command.
_BESIDE_A_COMMAND = {"command", "timeout", "run_in_background"}


class Call(NamedTuple):
    """One use of a tool, as the host hands it over."""

    tool: str
    input: dict[str, Any]
    branch: str = ""
    """The branch that is checked out where it would run."""
    remark: str = ""
    """What the agent says about it. The same call said otherwise is still the same call."""

    @property
    def subject(self) -> str:
        """What a pattern is compared with: the command, the file, or the whole input."""
        found = self.input.get(_SUBJECTS.get(self.tool, ""))
        more = self.tool == "Bash" and set(self.input) - _BESIDE_A_COMMAND
        if isinstance(found, str) and not more:
            return found
        return canonical(self.input) if self.input else ""

    @property
    def command(self) -> str:
        """The shell command, whatever stands beside it."""
        found = self.input.get("command")
        return found if isinstance(found, str) else ""

    @property
    def writes(self) -> str:
        """The file that it would change, if it is a tool that changes files."""
        path = self.input.get(_SUBJECTS[self.tool]) if self.tool in _WRITERS else ""
        return path if isinstance(path, str) else ""

    @property
    def pattern(self) -> str:
        """This call and no other, as a person reads it."""
        return f"{self.tool}({self.subject})" if self.subject else self.tool


def make_call(tool: str, given: Any, branch: str) -> Call:
    """A call as a host describes it."""
    tool_input = dict(given) if isinstance(given, dict) else {}
    remark = tool_input.pop("description", "") if tool == "Bash" else ""
    return Call(tool, tool_input, branch, remark if isinstance(remark, str) else "")


def headline(call: Call) -> str:
    """The question of an approval; the whole call is shown beneath it."""
    if call.command:
        return f"Run this command? {call.command}"
    if call.writes:
        return f"Change {call.writes}?"
    if call.tool == "ExitPlanMode":
        return "Go on with this plan?"
    return f"Use {call.tool}? {call.subject}".rstrip()


def shown(tool_input: dict[str, Any]) -> str:
    """A call's input as text, nothing left out: texts as they are, the rest as JSON."""
    parts = []
    for name, value in tool_input.items():
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        parts.append(f"{name}:\n{text}" if "\n" in text else f"{name}: {text}")
    return "\n".join(parts)
