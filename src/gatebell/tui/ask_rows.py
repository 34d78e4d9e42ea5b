"""Rows of asks: those that wait, grouped by project, and those that are settled."""

from __future__ import annotations

import os
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from gatebell.domain.asks.asks import settled_word
from gatebell.domain.asks.gone_askers import MARK
from gatebell.domain.asks.headings import list_heading
from gatebell.domain.asks.owners import run_of
from gatebell.domain.enums import AskStatus, Decision, Priority
from gatebell.domain.text.display import age
from gatebell.errors import GateError
from gatebell.terminal.asks import describe_outcome
from gatebell.tui.columns import Column, draw_row, draw_titles
from gatebell.tui.row_list import Row, build_heading

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from datetime import datetime

    from rich.text import Text

    from gatebell.domain.asks.asks import Ask
    from gatebell.ports.backends.backend import Backend

    Name = Callable[[Ask], str]

_AGE = Column("AGE", 4, to_right=True)
_DUE = Column("DUE", 4, to_right=True)
_KIND = Column("KIND", 8)
_QUESTION = Column("QUESTION", 0)
# Fewer columns than this have no room for the name of the asker.
_LEAST_WITH_NAME = 50
_LEAST_WITH_KIND = 76
_SOON_SECONDS = 300
_COLOURS: dict[str, str] = {
    Decision.APPROVED: "green",
    Decision.REJECTED: "red",
    AskStatus.ANSWERED: "green",
}


def list_columns(width: int, *, settled: bool = False) -> list[Column]:
    """Return the columns of asks that fit a width."""
    outcome = Column("RESULT", max(9, width // 5))
    columns = [_AGE, outcome if settled else _DUE]
    if width >= _LEAST_WITH_NAME:
        columns.append(Column("FROM", max(12, min(36, width // 4))))
    if width >= _LEAST_WITH_KIND and not settled:
        columns.append(_KIND)
    return [*columns, _QUESTION]


def build_head(*, settled: bool = False) -> Callable[[int], Text]:
    return lambda width: draw_titles(list_columns(width, settled=settled), width)


def build_waiting(backend: Backend, asks: Iterable[Ask], now: datetime, name: Name) -> list[Row]:
    """Return the pending asks below their projects; the project with the first ask comes first."""
    groups: dict[str, list[Ask]] = {}
    for ask in asks:
        groups.setdefault(ask.origin.project, []).append(ask)
    rows: list[Row] = []
    for project, members in groups.items():
        rows.append(build_heading(name_project(project), len(members)))
        rows += [
            Row(ask.id, partial(_draw_waiting, backend, ask, now, name), partial(_list_words, ask))
            for ask in members
        ]
    return rows


def name_project(project: str) -> str:
    """Return the folder's own name, which people know."""
    return os.path.basename(project.rstrip("/")) or "no project"


def _list_words(ask: Ask) -> str:
    origin, question = ask.origin, ask.question
    parts = (ask.id, question.kind_word, question.prompt, origin.agent, origin.project, origin.task)
    run = run_of(origin.owner)
    return "\n".join([*parts, f"run {run}" if run else ""])


def _draw_waiting(backend: Backend, ask: Ask, now: datetime, name: Name, width: int) -> Text:
    gone = False
    with suppress(GateError):
        gone = backend.is_waiter_gone(ask)
    left = _count_left(ask, now)
    urgent = "! " if ask.priority < Priority.NORMAL else ""
    shown = {
        "AGE": (age((now - ask.opened_at).total_seconds()), "dim"),
        "DUE": ("-" if left is None else age(left), _colour_left(left)),
        "FROM": ("", ""),
        "KIND": (ask.question.kind_word, "cyan"),
        "QUESTION": (f"{urgent}{MARK if gone else ''}{list_heading(ask)}", ""),
    }
    return _draw(list_columns(width), shown, width, lambda: name(ask))


def _count_left(ask: Ask, now: datetime) -> float | None:
    until = ask.deadlines.expires_at
    return None if until is None else (until - now).total_seconds()


def _colour_left(left: float | None) -> str:
    if left is None:
        return "dim"
    return "red" if left < _SOON_SECONDS else "yellow"


def _draw(
    columns: Sequence[Column],
    shown: dict[str, tuple[str, str]],
    width: int,
    name: Callable[[], str],
) -> Text:
    if any(one.title == "FROM" for one in columns):
        shown["FROM"] = (name(), "")
    return draw_row(columns, shown, width)


def build_settled(asks: Iterable[Ask], now: datetime, name: Name) -> list[Row]:
    """Return the settled asks, newest first."""
    return [
        Row(ask.id, partial(_draw_settled, ask, now, name), partial(_list_words, ask))
        for ask in asks
    ]


def _draw_settled(ask: Ask, now: datetime, name: Name, width: int) -> Text:
    at = ask.settled_at or now
    shown = {
        "AGE": (age((now - at).total_seconds()), "dim"),
        "RESULT": (describe_outcome(ask), _COLOURS.get(settled_word(ask), "yellow")),
        "QUESTION": (list_heading(ask), ""),
    }
    return _draw(list_columns(width, settled=True), shown, width, lambda: name(ask))
