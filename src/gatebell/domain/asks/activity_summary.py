"""The activity of an agent when it asked, as one short text without secrets."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from gatebell.domain.asks.asks import MAX_ACTIVITY_CHARACTERS
from gatebell.domain.permissions.calls import WRITERS
from gatebell.domain.runs.prompts import OURS
from gatebell.domain.runs.session_log import StepKind
from gatebell.domain.text.redaction import hide_secrets, redact

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gatebell.domain.runs.session_log import Step

_MAX_OF_A_PROMPT = 1_500
_MAX_WORDS = 2_500
_MAX_OF_A_COMMAND = 300
_MAX_READ = 50_000
# The fields that say most about a call, and the tools of which no other field is needed.
_SUBJECTS = ("command", "file_path", "notebook_path", "url", "pattern", "query", "path", "prompt")
_BY_SUBJECT = frozenset(
    (*WRITERS, "Bash", "Read", "Glob", "Grep", "LS", "WebFetch", "WebSearch", "Task", "shell")
)


def explain(steps: Sequence[Step], changes: str) -> str:
    """Return one text with the most useful parts first, because its end may be folded away."""
    # A flow's own prompts do not help a person: the task is named beside the question.
    prompts = [s.text for s in steps if s.kind == StepKind.PROMPT and not s.text.startswith(OURS)]
    words = [step.text for step in steps if step.kind == StepKind.WORDS][-2:]
    calls = [step for step in steps if step.kind == StepKind.CALL][-8:]
    parts = []
    if prompts:
        parts.append(f"It works on:\n{_shorten(prompts[-1], _MAX_OF_A_PROMPT)}")
    if words:
        parts.append("It last said:\n" + _shorten("\n\n".join(words), _MAX_WORDS))
    if calls:
        done = [f"{one.tool}: {describe_call(one.tool, one.input or {})}" for one in calls]
        parts.append("It last did:\n" + "\n".join(_shorten(one, _MAX_OF_A_COMMAND) for one in done))
    if changes:
        parts.append(f"Changes:\n{redact(changes[: 2 * MAX_ACTIVITY_CHARACTERS])}")
    return "\n\n".join(parts)[:MAX_ACTIVITY_CHARACTERS]


def describe_call(tool: str, given: dict[str, Any]) -> str:
    """Return a call on one line: its command, file or address, otherwise its texts by name."""
    named = [given[name] for name in _SUBJECTS if isinstance(given.get(name), str) and given[name]]
    if named and (tool in _BY_SUBJECT or len(given) == 1):
        return str(named[0])
    parts = [f"{name} {_describe_value(value)}" for name, value in given.items()]
    return ", ".join(parts) or "no input"


def _describe_value(value: Any) -> str:
    if isinstance(value, list | dict):
        return f"({len(value)} parts)"
    return value if isinstance(value, str) else json.dumps(value)


def _shorten(text: str, most: int) -> str:
    # Hide secrets before the cut: half of a secret may not be recognised.
    shown = hide_secrets(text[:_MAX_READ]).strip()
    left = max(0, len(shown) - most) + len(text[_MAX_READ:])
    return f"{shown[:most]} … ({left} more characters)" if left else shown
