"""The four lists of the first screen: how each is read, previewed and opened."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gatebell.tui import ask_rows, run_rows, task_rows
from gatebell.tui.paint import paint
from gatebell.tui.run_screen import RunScreen
from gatebell.tui.text_screen import LongText
from gatebell.tui.work_screen import Subject, WorkTextScreen

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.text import Text
    from textual.screen import Screen

    from gatebell.tui.context import TuiContext
    from gatebell.tui.row_list import Row
    from gatebell.tui.view import View


class ListKind(NamedTuple):
    """One of the lists."""

    id: str
    name: str
    short: str
    nothing: str
    """Shown in the place of the rows."""
    keys: tuple[tuple[str, str], ...]
    head: Callable[[int], Text]
    read: Callable[[View], list[Row]]
    subject: Callable[[str], Subject]
    """Returns what the keys act on, for the key of a row."""
    preview: Callable[[View, str, int], tuple[str, list[str]]]
    """Returns a title and lines, for the key of a row and a width."""
    build_screen: Callable[[TuiContext, Subject], Screen[None]]


def _preview_ask(view: View, key: str, width: int) -> tuple[str, list[str]]:
    return key, view.show_ask(key, width)


def _preview_run(view: View, key: str, width: int) -> tuple[str, list[str]]:
    found = view.show_run(int(key), width)
    calls = [line for _, line in found.calls]
    return found.title, [*found.lines, *(["", paint("Calls", "bold"), *calls] if calls else [])]


def _preview_task(view: View, key: str, width: int) -> tuple[str, list[str]]:
    return key, view.show_task(key, width)


def _open_ask(tui_context: TuiContext, subject: Subject) -> Screen[None]:
    view = tui_context.view
    text = LongText(subject.ask, lambda width: view.show_ask(subject.ask, width))
    return WorkTextScreen(tui_context, text, subject, (("l", "Log"), ("d", "Diff")))


def _open_run(tui_context: TuiContext, subject: Subject) -> Screen[None]:
    return RunScreen(tui_context, subject.run or 0)


def _open_task(tui_context: TuiContext, subject: Subject) -> Screen[None]:
    view = tui_context.view
    text = LongText(subject.task, lambda width: view.show_task(subject.task, width))
    return WorkTextScreen(
        tui_context, text, subject, (("a", "Answer"), ("l", "Log"), ("d", "Diff"))
    )


_MOVE = ("↑↓", "Navigate")

LISTS = (
    ListKind(
        "waiting",
        "Waiting for you",
        "Waiting",
        "Nothing is waiting for you. Questions of your agents appear here.\n"
        "To try it: gate ask 'Which way?'   To connect your agents: gate install",
        (("Enter", "Answer"), ("y n 1-9", "Mark"), ("b", "Ask back"), ("c", "Continue")),
        ask_rows.build_head(),
        lambda view: view.list_waiting(),
        lambda key: Subject(ask=key),
        _preview_ask,
        _open_ask,
    ),
    ListKind(
        "runs",
        "Runs",
        "Runs",
        "There are no runs yet. To start one: gate run FLOW PROMPT",
        (_MOVE, ("Enter", "Details"), ("c", "Continue"), ("a", "Answer"), ("s", "Stop")),
        run_rows.draw_head,
        lambda view: view.list_runs(),
        lambda key: Subject(run=int(key)),
        _preview_run,
        _open_run,
    ),
    ListKind(
        "tasks",
        "Tasks",
        "Tasks",
        "There are no open tasks. To add one: gate task create TITLE",
        (_MOVE, ("Enter", "Details"), ("a", "Answer"), ("c", "Continue"), ("l", "Log")),
        task_rows.draw_head,
        lambda view: view.list_tasks(),
        lambda key: Subject(task=key),
        _preview_task,
        _open_task,
    ),
    ListKind(
        "history",
        "History",
        "History",
        "No ask has been settled yet.",
        (_MOVE, ("Enter", "Details"), ("l", "Log"), ("d", "Diff")),
        ask_rows.build_head(settled=True),
        lambda view: view.list_settled(),
        lambda key: Subject(ask=key),
        _preview_ask,
        _open_ask,
    ),
)
