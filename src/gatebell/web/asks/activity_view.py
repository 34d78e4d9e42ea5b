"""The activity of an asker, taken apart: its task, last message, commands and changes."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from gatebell.domain.asks.activity_summary import describe_call
from gatebell.domain.text.redaction import hide_secrets
from gatebell.web.asks import diffs

if TYPE_CHECKING:
    from gatebell.domain.permissions.calls import Call

# The headings of `domain/asks/activity_summary.py` and of a flow's gate.
_TASK, _SAID, _DID = "It works on", "It last said", "It last did"
_CHANGES, _OF_RUN = "Changes", "Changes since the run began"
_HEADING = re.compile(rf"(?:\A|\n\n)({_TASK}|{_SAID}|{_DID}|{_CHANGES}|{_OF_RUN}):\n")
_SO_FAR = re.compile(r"\AWorkspace: [^\n]*(\n\nSaid so far:)?\s*")
_CALL = re.compile(r"([A-Za-z_][\w-]*): (.+)", re.DOTALL)
_FILE = re.compile(r"^\+\+\+ b/(.+)$", re.MULTILINE)
_STATUS_COLUMNS = len(" M ")
_CUT = re.compile(r" … \(\d+ more characters\)\Z")


class Activity(NamedTuple):
    """The parts of an activity, as text."""

    task: str = ""
    said: str = ""
    commands: tuple[tuple[str, str], ...] = ()
    """The tool of each call, and its command or file."""
    files: str = ""
    """The changed files that the diff does not show, as `git status` lists them."""
    diff: str = ""
    of_run: bool = False
    """Whether the changes are those since the run began."""


def read_activity(text: str, call: Call | None = None) -> Activity:
    """Take an activity apart, without the call that is being decided."""
    free, *pairs = _HEADING.split(text)
    free, diff = diffs.find(_SO_FAR.sub("", free))
    found = Activity(said=free.strip(), diff=diff)
    for name, body in zip(pairs[::2], pairs[1::2], strict=True):
        if name == _TASK:
            found = found._replace(task=body.strip())
        elif name == _DID:
            found = found._replace(commands=_read_commands(body, call))
        elif name == _SAID:
            said = "\n\n".join(filter(None, (found.said, body.strip())))
            found = found._replace(said=said)
        else:
            listed, diff = diffs.find(body)
            files = _leave_out_shown(listed, diff)
            found = found._replace(files=files, diff=diff, of_run=name == _OF_RUN)
    return found


def _leave_out_shown(listed: str, diff: str) -> str:
    shown = set(_FILE.findall(diff))
    lines = listed.strip("\n").split("\n")
    return "\n".join(line for line in lines if line[_STATUS_COLUMNS:] not in shown)


def _read_commands(body: str, call: Call | None) -> tuple[tuple[str, str], ...]:
    """Return one pair for each call; a command of several lines is one."""
    lines: list[str] = []
    for line in body.strip("\n").split("\n"):
        if lines and not _CALL.fullmatch(line):
            lines[-1] += f"\n{line}"
        else:
            lines.append(line)
    found = [_read_call(line) for line in lines]
    if call and found and found[-1][0] == call.tool and _is_call(call, found[-1][1]):
        found.pop()
    return tuple(found)


def _is_call(call: Call, shown: str) -> bool:
    whole = hide_secrets(describe_call(call.tool, call.input)).strip()
    return whole == shown or bool(_CUT.search(shown) and whole.startswith(_CUT.sub("", shown)))


def _read_call(line: str) -> tuple[str, str]:
    """Return the tool, and its input in words: older asks have it as JSON, perhaps cut."""
    parts = _CALL.fullmatch(line)
    if parts is None:
        return "", line
    tool, given = parts.groups()
    return tool, describe_call(tool, _read_input(given)) if given.startswith("{") else given


def _read_input(given: str) -> dict[str, Any]:
    try:
        read = json.loads(given)
    except (ValueError, RecursionError):
        # It was cut: the values up to there.
        whole = re.findall(r'"(\w+)": "((?:[^"\\]|\\.)*)', _CUT.sub("", given))
        return dict(whole)
    return read if isinstance(read, dict) else {}
