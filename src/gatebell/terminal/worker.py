"""Lines that a worker prints when it takes up a task and when it leaves it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gatebell.domain.enums import TaskState
from gatebell.domain.text.display import inert_line
from gatebell.terminal.tasks import ICONS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gatebell.domain.asks.asks import Ask
    from gatebell.domain.tasks.tasks import Task

_MAX_LENGTH = 300


def worked_lines(task: Task, asks: Sequence[Ask], *, is_over: bool) -> list[str]:
    """Return the lines about a task; with `is_over` the drive has ended, and `asks` are pending."""
    if not is_over:
        return [f"🤖 Worker processing task {task.id}: {inert_line(task.title)}"]
    icon = ICONS[task.state]
    if task.state == TaskState.AWAITING_INPUT:
        questions = [f"   Question: {inert_line(one.question.prompt, _MAX_LENGTH)}" for one in asks]
        answer = f"   Answer: gate respond {task.id}"
        return [f"{icon} Task {task.id} needs human input", *questions, answer]
    if task.state in (TaskState.OPEN, TaskState.IN_PROGRESS):
        return [f"{icon} Task {task.id} is {task.state}; the next worker continues it"]
    why = task.status if task.state != TaskState.CLOSED else task.summary
    lines = [f"{icon} Task {task.id} {task.state}: {inert_line(why, _MAX_LENGTH)}"]
    if task.state == TaskState.CLOSED:
        return [*lines, *([f"   {inert_line(task.status, _MAX_LENGTH)}"] if task.status else [])]
    return [*lines, f"   To try again: gate task reopen {task.id}"]
