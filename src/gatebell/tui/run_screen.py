"""One run: its state, its calls, and the keys for it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text

from gatebell.tui.row_list import Lines, Row, RowList
from gatebell.tui.text_screen import LongText
from gatebell.tui.work_screen import Subject, WorkScreen, WorkTextScreen

if TYPE_CHECKING:
    from collections.abc import Iterable

    from textual.binding import BindingType
    from textual.widget import Widget

    from gatebell.tui.context import TuiContext
    from gatebell.tui.view import RunDetails

_MAX_STATE_SHARE = 0.6
_KEYS_OF_CALL = (("l", "Log"), ("d", "Diff"), ("a", "Answer"))


class RunScreen(WorkScreen):
    """One run, live."""

    BINDINGS: ClassVar[list[BindingType]] = [
        ("escape", "app.pop_screen", "Back"),
        ("q", "app.leave", "Quit"),
        ("pageup", "page(-1)", "Up"),
        ("pagedown", "page(1)", "Down"),
    ]

    def __init__(self, tui_context: TuiContext, number: int) -> None:
        super().__init__(tui_context)
        self._number = number
        self._state = Lines("state")
        self._calls = RowList("calls")
        self._calls.border_title = "Calls"

    def find_subject(self) -> Subject:
        return Subject(run=self._number)

    def build_body(self) -> Iterable[Widget]:
        return [self._state, self._calls]

    def look(self) -> RunDetails:
        return self.tui_context.view.show_run(self._number, self.room)

    def show(self, found: RunDetails) -> None:
        # As a Text: a str would be read as markup.
        self._state.border_title = Text(found.title)
        self._state.show(found.lines)
        self._state.styles.height = min(
            len(found.lines) + 2, max(5, int(self.size.height * _MAX_STATE_SHARE))
        )
        self._calls.display = bool(found.calls)
        self._calls.fill([Row(path, partial(_draw_call, line)) for path, line in found.calls])
        opens = [("Enter", "Open call")] if found.calls else []
        *keys, last = found.keys
        self.show_keys([*keys, *opens, ("?", "Help"), last], last=1)

    def action_page(self, pages: int) -> None:
        self._state.move_pages(pages)

    def on_row_list_opened(self) -> None:
        self.action_open()

    def action_open(self) -> None:
        if path := self._calls.chosen:
            self.app.push_screen(_build_call_screen(self.tui_context, self._number, path))


def _draw_call(line: str, width: int) -> Text:
    text = Text.from_ansi(f" {line}")
    text.truncate(width)
    return text


def _build_call_screen(tui_context: TuiContext, number: int, path: str) -> WorkTextScreen:
    """Return one call: its prompts, output, asks and result; its log and the diff have keys."""
    view = tui_context.view
    text = LongText(f"Run {number}, call {path}", lambda width: view.show_call(number, path, width))
    subject = Subject(run=number, call=path)
    return WorkTextScreen(tui_context, text, subject, _KEYS_OF_CALL)
