"""A held tool call as a person decides on it: its command or changes first, then the rest."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gatebell.domain.permissions.call_changes import list_others
from gatebell.domain.permissions.calls import PLAN, shown
from gatebell.domain.text.display import mark_blanks
from gatebell.services.permissions.edited_file import read_edited_file
from gatebell.web.asks.call_diff import of_call
from gatebell.web.asks.long_texts import split_markdown

if TYPE_CHECKING:
    from markupsafe import Markup

    from gatebell.domain.asks.asks import Ask
    from gatebell.domain.permissions.calls import Call


class CallView(NamedTuple):
    """The parts of the call."""

    tool: str
    command: str
    plan: tuple[Markup, Markup] | None
    """The plan of an agent, as Markdown."""
    diff: Markup | None
    others: str
    """The input without what is shown as a command, a plan or a diff."""
    input: str
    remark: str
    folder: str
    branch: str
    real_path: str
    """The file after all links, if that is another one."""


def view_call(ask: Ask) -> CallView | None:
    call = ask.question.call
    if call is None:
        return None
    diff = of_call(call, [ask.origin.project, call.cwd], read_edited_file(ask))
    plan = _read_plan(ask, call)
    left = {
        name: value
        for name, value in (list_others(call) if diff else call.input).items()
        if not (name == "command" and call.command) and not (name == "plan" and plan)
    }
    return CallView(
        call.tool,
        mark_blanks(call.command),
        plan,
        diff,
        shown(left) if left or not (diff or plan) else "",
        shown(call.input),
        call.remark,
        call.cwd,
        call.branch,
        call.real_path if call.real_path != call.path else "",
    )


def _read_plan(ask: Ask, call: Call) -> tuple[Markup, Markup] | None:
    plan = call.input.get("plan")
    if call.tool != PLAN or not isinstance(plan, str) or not plan.strip():
        return None
    return split_markdown(plan, f"gate show {ask.id} --all")
