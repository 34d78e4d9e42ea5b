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
    call, prompt = ask.question.call, ask.question.prompt
    if call is None or call.command:
        return prompt
    if call.path or prompt != headline(call):
        return short_heading(ask) if call.path else prompt
    return _describe_input(call) if call.tool != PLAN and not call.target else prompt


def _describe_input(call: Call) -> str:
    """Return the use of a tool that is known to its host only; its input is not JSON here."""
    # Imported here: it needs the patterns of secrets, and most lists have no such call.
    from gatebell.domain.asks.activity_summary import describe_call

    about = f" {mark_blanks(describe_call(call.tool, call.input))}" if call.input else ""
    return f"Use {call.tool}?{about}"


def _name(ask: Ask, call: Call) -> str:
    return mark_blanks(relative(call.path, [ask.origin.project, call.cwd]))


def option_meanings(question: Question) -> dict[str, str]:
    """Return the descriptions of options, if the context holds nothing else."""
    given = question.context
    if (
        not question.options
        or not isinstance(given, dict)
        or not set(given) <= set(question.option_labels)
    ):
        return {}
    return given if all(isinstance(one, str) for one in given.values()) else {}
