"""Short titles: of an ask about a tool call, and the meaning of options."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gatebell.domain.permissions.call_changes import relative
from gatebell.domain.permissions.calls import PLAN, WRITERS, headline
from gatebell.domain.text.display import mark_blanks

if TYPE_CHECKING:
    from gatebell.domain.asks.asks import Ask
    from gatebell.domain.asks.questions import Question
    from gatebell.domain.permissions.calls import Call


def short_heading(ask: Ask) -> str:
    """Return the question without the call, which is shown whole below it; else the question."""
    call, prompt = ask.question.call, ask.question.prompt
    if call is None or prompt != headline(call) or call.tool == PLAN:
        return prompt
    if call.command:
        return "Run this command?"
    if call.tool in WRITERS and call.path:
        return f"Change {_name(ask, call)}?"
    return f"Use {call.tool}?"


def list_heading(ask: Ask) -> str:
    """Return the question for a list or a message; a file is named as in its project."""
    call = ask.question.call
    return short_heading(ask) if call and call.path else ask.question.prompt


def _name(ask: Ask, call: Call) -> str:
    return mark_blanks(relative(call.path, [ask.origin.project, call.cwd]))


def option_meanings(question: Question) -> dict[str, str]:
    """Return the descriptions of options, if the context holds nothing else."""
    given = question.context
    if (
        not question.options
        or not isinstance(given, dict)
        or not set(given) <= set(question.options)
    ):
        return {}
    return given if all(isinstance(one, str) for one in given.values()) else {}
