"""What a worker says of a task when it takes it up and when it lets it go."""

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
    """`is_over`: its run was driven as far as it went; then `asks` hold what it waits for."""
    if not is_over:
        return [f"🤖 Worker processing task {task.id}: {inert_line(task.title)}"]
    icon = ICONS[task.state]
    if task.state == TaskState.AWAITING_INPUT:
        questions = [f"   Question: {inert_line(one.question.prompt, _MAX_LENGTH)}" for one in asks]
        answer = f"   Answer: gate respond {task.id}"
        return [f"{icon} Task {task.id} needs human input", *questions, answer]
    if task.state in (TaskState.OPEN, TaskState.IN_PROGRESS):
        return [f"{icon} Task {task.id} is {task.state}: whoever works next goes on with it"]
    why = task.status if task.state != TaskState.CLOSED else task.summary
    lines = [f"{icon} Task {task.id} {task.state}: {inert_line(why, _MAX_LENGTH)}"]
    if task.state == TaskState.CLOSED:
        return [*lines, *([f"   {inert_line(task.status, _MAX_LENGTH)}"] if task.status else [])]
    return [*lines, f"   Once more: gate task reopen {task.id}"]
