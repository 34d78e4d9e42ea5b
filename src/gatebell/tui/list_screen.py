"""The first screen: what waits for you, runs, tasks and history, each with a preview."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from rich.text import Text
from textual._context import NoActiveAppError
from textual.binding import Binding
from textual.containers import Container
from textual.widgets import Input, Static

from gatebell.domain.enums import AskKind
from gatebell.domain.text.display import frame, inert_line
from gatebell.errors import GateError
from gatebell.terminal.freezes import describe_frozen
from gatebell.tui.lists import LISTS
from gatebell.tui.live_screen import say
from gatebell.tui.row_list import Lines, RowList
from gatebell.tui.tab_line import TabLine, TabName
from gatebell.tui.work_screen import Subject, WorkScreen

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from textual.binding import BindingType
    from textual.widget import Widget

    from gatebell.domain.asks.asks import Ask
    from gatebell.domain.freezes import Freeze
    from gatebell.tui.context import TuiContext
    from gatebell.tui.row_list import Row

_WIDE = 140
"""With so many columns, the preview is beside the list."""
_LEAST_FOR_PREVIEW = 17
"""With fewer lines, the list has the whole screen."""
_MAX_LIST_SHARE = 0.45
_PREVIEW_AFTER_SECONDS = 0.04
_EDGES = 2
_SLOW_SECONDS = 1.0
_MANY_ROWS = 1_000
"""More rows are read on a thread, so that the keys do not wait."""


class Found(NamedTuple):
    """What one look at the open list has read."""

    opened: int
    rows: Sequence[Row]
    waiting: int
    freeze: Freeze | None


class FilterLine(Input):
    """The text that rows must have."""

    # Bindings, not messages: they act at once, because the next key may already be waiting.
    BINDINGS: ClassVar[list[BindingType]] = [
        ("enter", "screen.keep_filter", "Keep"),
        ("escape", "screen.clear_filter", "Clear"),
        ("down", "screen.keep_filter", "Keep"),
    ]


class ListScreen(WorkScreen):
    """Four lists, one of them open, and the chosen row in full."""

    BINDINGS: ClassVar[list[BindingType]] = [
        ("tab,right,right_square_bracket", "turn(1)", "Next list"),
        ("shift+tab,left,left_square_bracket", "turn(-1)", "Last list"),
        # With priority, and with the focus at once: the text may already be waiting.
        Binding("slash", "filter", "Filter", priority=True),
        ("escape", "clear_filter", "Show all"),
        ("pageup", "page(-1)", "Up"),
        ("pagedown", "page(1)", "Down"),
        *((key, f"press('{key}')", "Mark") for key in ("y", "n", *map(str, range(1, 10)))),
        ("q", "app.leave", "Quit"),
    ]

    def __init__(self, tui_context: TuiContext) -> None:
        super().__init__(tui_context)
        self._tabs = TabLine()
        self._lists = [RowList(one.id) for one in LISTS]
        self._preview = Lines("preview")
        self._filter = FilterLine(placeholder="Filter", id="filter", compact=True)
        self._open = 0
        self._waiting = 0
        self._is_back = self._is_reading = False

    @property
    def _list(self) -> RowList:
        return self._lists[self._open]

    @property
    def is_slow(self) -> bool:
        return super().is_slow or max(self._list.length, self._waiting) > _MANY_ROWS

    def build_body(self) -> Iterable[Widget]:
        frozen, nothing = Static(id="frozen", markup=False), Static(id="nothing", markup=False)
        # Not before the first look, which may take a while.
        frozen.display = nothing.display = self._filter.display = False
        for index, one in enumerate(self._lists):
            one.display = index == 0
            one.border_title = LISTS[index].name
        panes = Container(*self._lists, self._preview, id="panes")
        return [self._tabs, frozen, self._filter, nothing, panes]

    def on_mount(self) -> None:
        self._list.focus()
        self.set_timer(_SLOW_SECONDS, self._show_that_it_reads)

    def _show_that_it_reads(self) -> None:
        """Say it if the open list is not there yet, such as on a slow server."""
        if not self._list.is_filled and not self.query_one("#problem").display:
            nothing = self.query_one("#nothing", Static)
            nothing.update("Reading …")
            nothing.display = True

    def show_problem(self, sentence: str) -> None:
        super().show_problem(sentence)
        if sentence and not self._list.is_filled:
            self.query_one("#nothing").display = False

    def on_screen_resume(self) -> None:
        # A row that went away is now the one that the person has just answered.
        self._is_back = True
        super().on_screen_resume()

    def look(self) -> Found:
        index, view = self._open, self.tui_context.view
        rows = LISTS[index].read(view)
        waiting = rows if index == 0 else LISTS[0].read(view)
        count = sum(bool(row.key) for row in waiting)
        return Found(index, rows, count, self.tui_context.backend.find_freeze())

    def show(self, found: Found) -> None:
        self._waiting = found.waiting
        self._show_freeze(found.freeze)
        if found.opened == self._open:
            self._list.fill(found.rows, LISTS[self._open].head)
            if self._is_back or not self.is_current:
                self._list.has_jumped = False
            self._is_back = False
        self._show_list()
        self._show_chosen()

    def _show_freeze(self, freeze: Freeze | None) -> None:
        frozen = self.query_one("#frozen", Static)
        frozen.update(describe_frozen(freeze) if freeze else "")
        frozen.display = bool(freeze)

    def _show_list(self) -> None:
        """Arrange the panes and name the keys of the open list."""
        rows, kind = self._list, LISTS[self._open]
        names = [TabName(one.name, one.short) for one in LISTS]
        names[0] = names[0]._replace(rows=self._waiting)
        self._tabs.show(names, self._open)
        for index, one in enumerate(self._lists):
            one.display = index == self._open and not one.is_empty
        nothing = self.query_one("#nothing", Static)
        nothing.update(kind.nothing)
        nothing.display = rows.is_filled and rows.is_empty
        self._preview.display = rows.count > 0 and self.size.height >= _LEAST_FOR_PREVIEW
        is_wide = self.size.width >= _WIDE
        self.query_one("#panes").set_class(is_wide, "wide")
        self._set_height(is_wide=is_wide)
        rows.border_subtitle = Text(self._describe_filter())
        if self.is_current and self.focused is not self._filter and not rows.is_empty:
            rows.focus()
        self.show_keys([*kind.keys, ("/", "Filter"), ("?", "Help"), ("q", "Quit")])

    def _set_height(self, *, is_wide: bool) -> None:
        if is_wide or not self._preview.display:
            self._list.styles.height = "1fr"
            return
        most = max(6, int(self.size.height * _MAX_LIST_SHARE))
        self._list.styles.height = min(most, self._list.length + _EDGES)

    def _describe_filter(self) -> str:
        rows = self._list
        if not rows.filter:
            return ""
        count = f"{rows.count} row" + ("" if rows.count == 1 else "s")
        return f"{count} with {inert_line(rows.filter, 20)}; Esc: all"

    def on_row_list_moved(self) -> None:
        # Rows that a held key only passes are not read.
        self.set_timer(_PREVIEW_AFTER_SECONDS, self._show_chosen)

    def on_row_list_opened(self) -> None:
        self.action_open()

    def on_lines_resized(self) -> None:
        self._show_chosen()

    def _show_chosen(self) -> None:
        """Show the chosen row in full; from a server on a thread."""
        if not self._preview.display or not (key := self._list.chosen):
            return
        place = (self._open, key)
        if not self.tui_context.view.is_slow:
            self._show_preview(place, *self._read_preview(place))
        elif not self._is_reading:
            self._is_reading = True
            self.run_worker(lambda: self._read_slowly(place), thread=True, group="preview")

    def _read_preview(self, place: tuple[int, str]) -> tuple[str, list[str]]:
        index, key = place
        width = max(20, self._preview.shown_width)
        try:
            return LISTS[index].preview(self.tui_context.view, key, width)
        except GateError as error:
            return key, frame(str(error), width, bar="")

    def _read_slowly(self, place: tuple[int, str]) -> None:
        # The screen or the app may end before the look does, or before it begins.
        with suppress(NoActiveAppError):
            found = self._read_preview(place)
            self.app.call_from_thread(self._end_reading, place, *found)

    def _end_reading(self, place: tuple[int, str], title: str, lines: list[str]) -> None:
        self._is_reading = False
        if place == (self._open, self._list.chosen):
            self._show_preview(place, title, lines)
        else:
            self._show_chosen()

    def _show_preview(self, place: tuple[int, str], title: str, lines: list[str]) -> None:
        self._preview.border_title = Text(inert_line(title, 60))
        self._preview.show(lines, subject=f"{place}")

    def find_subject(self) -> Subject | None:
        rows, key = self._list, self._list.chosen
        if not key:
            return None
        subject = LISTS[self._open].subject(key)
        if rows.has_jumped:
            rows.has_jumped = False
            said = f"The row that you had chosen is gone. For {subject.name}, press the key again."
            say(self.app, self.tui_context, said, problem=True)
            return None
        return subject

    def action_open(self) -> None:
        if (subject := self.find_subject()) is None:
            return
        if self._open == 0:
            self.action_answer()
        else:
            self.app.push_screen(LISTS[self._open].build_screen(self.tui_context, subject))

    def action_press(self, key: str) -> None:
        wanted = AskKind.CHOICE if key.isdecimal() else AskKind.APPROVAL

        def begin(ask: Ask) -> None:
            if ask.question.answered_as == wanted:
                self.open_ask(ask, key)
            else:
                does = "Numbers choose options" if key.isdecimal() else "y and n decide approvals"
                words = f"{does}. To answer {ask.id} ({ask.question.kind}), press a."
                say(self.app, self.tui_context, words)

        self.with_ask(begin)

    def action_turn(self, step: int) -> None:
        self._turn_to((self._open + step) % len(LISTS))

    def on_tab_line_picked(self, event: TabLine.Picked) -> None:
        self._turn_to(event.index)

    def _turn_to(self, index: int) -> None:
        self._open = index
        self._filter.display = False
        self._preview.show([])
        self._preview.border_title = ""
        self._is_back = True
        self._show_list()
        self.set_timer(_SLOW_SECONDS, self._show_that_it_reads)
        self.look_again()

    def action_page(self, pages: int) -> None:
        if self._preview.display:
            self._preview.move_pages(pages)
        else:
            self._list.action_pages(pages)

    def action_filter(self) -> None:
        if not self._list.is_empty:
            self._filter.value = self._list.filter
            self._filter.display = True
            self.set_focus(self._filter)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "filter":
            return self.focused is not self._filter
        return super().check_action(action, parameters)

    def on_input_changed(self, event: Input.Changed) -> None:
        if self._filter.display:
            self._list.set_filter(event.value.strip())
            self._show_list()
            self._show_chosen()

    def action_keep_filter(self) -> None:
        self._list.set_filter(self._filter.value.strip())
        self._end_filter()

    def action_clear_filter(self) -> None:
        self._list.set_filter("")
        self._end_filter()

    def _end_filter(self) -> None:
        # At once: the next key may already be waiting, and hiding a field moves the focus later.
        self.set_focus(self._list)
        self._filter.display = False
        self._show_list()
        self._show_chosen()
