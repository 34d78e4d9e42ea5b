"""Rows of tasks that are not closed, below their projects."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from gatebell.domain.text.display import age
from gatebell.terminal.task_runs import COLOURS, ICONS
from gatebell.tui.ask_rows import name_project
from gatebell.tui.columns import Column, draw_row, draw_titles
from gatebell.tui.glyphs import choose_common
from gatebell.tui.row_list import Row, build_heading

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from rich.text import Text

    from gatebell.domain.tasks.seen_tasks import SeenTask

_LEAST_WITH_AGE = 60
_STATE_COLUMNS = 16


def _list_columns(width: int) -> list[Column]:
    first = [Column("ID", 8), Column("P", 2)]
    if width < _LEAST_WITH_AGE:
        return [*first, Column("TASK", 0)]
    return [
        *first,
        Column("STATE", _STATE_COLUMNS),
        Column("AGE", 4, to_right=True),
        Column("TASK", 0),
    ]


def draw_head(width: int) -> Text:
    return draw_titles(_list_columns(width), width)


def build_tasks(pages: Iterable[tuple[str, Sequence[SeenTask]]], now: datetime) -> list[Row]:
    """Return the tasks of each project below its name."""
    rows: list[Row] = []
    for project, tasks in pages:
        rows.append(build_heading(name_project(project), len(tasks)))
        rows += [
            Row(seen.task.id, partial(_draw, seen, now), partial(_list_words, seen))
            for seen in tasks
        ]
    return rows


def _list_words(seen: SeenTask) -> str:
    task = seen.task
    asked = (one.question for one in seen.questions)
    return "\n".join((task.id, task.title, task.state, task.role, task.project, *asked))


def _draw(seen: SeenTask, now: datetime, width: int) -> Text:
    task, columns = seen.task, _list_columns(width)
    icon = ICONS[task.state]
    title = f"{task.title}: {seen.questions[0].question}" if seen.questions else task.title
    shown = {
        "ID": (task.id, ""),
        "P": (f"P{task.priority}", "dim"),
        "STATE": (
            f"{choose_common(icon)} {task.state.replace('_', ' ')}",
            COLOURS[task.state],
        ),
        "AGE": (age((now - task.created_at).total_seconds()), "dim"),
        "TASK": (title, ""),
    }
    return draw_row(columns, shown, width)
