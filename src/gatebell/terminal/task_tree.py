"""Draw tasks as a tree; a closed task is left out if all tasks below it are closed."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

from gatebell.domain.enums import TaskState
from gatebell.domain.text.display import inert_line
from gatebell.terminal.tasks import format_task

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gatebell.domain.tasks.seen_tasks import OpenQuestion
    from gatebell.domain.tasks.tasks import Task

    _Way = tuple[Task, tuple[bool, ...], int]

_MAX_STEMS = 10


class Branch(NamedTuple):
    """A task at its place in the tree."""

    task: Task
    above: tuple[bool, ...]
    """From near the root down to this task: whether each is the last one below its parent."""
    depth: int
    has_parts: bool


def branches(tasks: Sequence[Task], root: str = "", *, closed: bool = False) -> list[Branch]:
    """Return the tasks from the roots down, or from one task.

    Without `closed`, a closed task is included only if a task below it is not closed.
    """
    beneath: dict[str, list[Task]] = defaultdict(list)
    there = {task.id: task for task in tasks}
    for task in tasks:
        beneath[task.parent if task.parent in there else ""].append(task)
    shown = there.keys() if closed else _find_shown(tasks, there)
    found: list[Branch] = []
    seen: set[str] = set()
    # Tasks in a cycle are below no root; they come last.
    begin = [there[root]] if root else [*beneath[""], *tasks]
    for first in begin:
        ways: list[_Way] = [(first, (), 0)] if first.id in shown or root else []
        while ways:
            task, above, depth = ways.pop()
            if task.id in seen:
                continue
            seen.add(task.id)
            parts = [one for one in beneath[task.id] if one.id in shown]
            found.append(Branch(task, above, depth, bool(parts)))
            # A very deep task keeps only its nearest lines.
            kept = above[-_MAX_STEMS + 1 :]
            ways += [(one, (*kept, one is parts[-1]), depth + 1) for one in reversed(parts)]
    return found


def _find_shown(tasks: Sequence[Task], there: dict[str, Task]) -> set[str]:
    """Return the ids of the tasks that are not closed, and of all tasks above them."""
    shown: set[str] = set()
    for task in tasks:
        one: Task | None = None if task.state == TaskState.CLOSED else task
        while one and one.id not in shown:
            shown.add(one.id)
            one = there.get(one.parent)
    return shown


def tree_lines(
    found: Sequence[Branch], questions: Mapping[str, Sequence[OpenQuestion]], width: int
) -> list[str]:
    """Return lines `ID [STATE] ICON TITLE`, with the question below each waiting task.

    Args:
        found: the tasks from the roots down
        questions: the open questions, by the id of the task
        width: columns of the terminal
    """
    lines = []
    for branch in found:
        stems = branch.above[-max(1, width // 8) :]
        under = "".join("    " if last else "│   " for last in stems[:-1])
        twig = ("└── " if stems[-1] else "├── ") if stems else ""
        lines.append(f"{under}{twig}{format_task(branch.task, width - len(under) - len(twig))}")
        side = under + (("    " if stems[-1] else "│   ") if stems else "")
        is_waiting = branch.task.state == TaskState.AWAITING_INPUT
        asked = questions.get(branch.task.id, ()) if is_waiting else ()
        for number, one in enumerate(asked, 1):
            is_last = number == len(asked) and not branch.has_parts
            corner = "└── " if is_last else "├── "
            room = max(20, width - len(side) - 14)
            lines.append(f"{side}{corner}Question: {inert_line(one.question, room)}")
    return lines
