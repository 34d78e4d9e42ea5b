"""Long lists and long texts of which only the visible lines are drawn."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from rich.text import Text
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from gatebell.tui.columns import draw_heading

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from textual.binding import BindingType
    from textual.events import Click

_CURSOR = "bold reverse"


class Row(NamedTuple):
    """A row of a list. A row without a key is a heading, which cannot be chosen."""

    key: str
    draw: Callable[[int], Text]
    """Returns its line for so many columns; called only while the row is visible."""
    words: Callable[[], str] = str
    """Returns the text that a filter is compared with; for a heading, its name."""


def build_heading(name: str, count: int) -> Row:
    """Return the row above a group of so many rows."""
    return Row("", partial(draw_heading, f"{name} ({count})"), lambda: name)


class LineView(ScrollView):
    """Draws lines by number; a subclass says what they are."""

    can_focus = False

    def draw_line(self, y: int, width: int) -> Text:
        """Return the line at a row of the screen."""
        raise NotImplementedError

    def set_height(self, lines: int) -> None:
        """Tell the scroll bar how many lines there are."""
        # The width is that of the widget: no line is ever wider.
        self.virtual_size = Size(1, lines)
        self.refresh()

    @property
    def shown_width(self) -> int:
        """The columns of a line, without the scroll bar."""
        return int(self.scrollable_content_region.width)

    @property
    def shown_height(self) -> int:
        return int(self.scrollable_content_region.height)

    def render_line(self, y: int) -> Strip:
        text = self.draw_line(y, self.shown_width)
        text.truncate(self.shown_width)
        segments = text.render(self.app.console)
        strip = Strip(segments).adjust_cell_length(self.shown_width, None)
        return strip.apply_style(self.rich_style)


class Lines(LineView):
    """A text in lines that are wrapped already, with our own colours."""

    class Resized(Message):
        """There is more or less room for the lines."""

    def __init__(self, name: str) -> None:
        super().__init__(id=name)
        self._lines: Sequence[str] = ()
        self._subject = ""

    def on_resize(self) -> None:
        self.post_message(self.Resized())

    def show(self, lines: Sequence[str], *, at_end: bool = False, subject: str = "") -> None:
        """Show lines.

        Keep the place while the subject is the same, or with `at_end` the end if it was in sight.
        """
        if subject != self._subject:
            self._subject = subject
            self.scroll_to(y=0, animate=False, force=True, immediate=True)
        if lines == self._lines:
            return
        was_at_end = at_end and self.scroll_offset.y >= self.max_scroll_y
        self._lines = list(lines)
        self.set_height(len(self._lines))
        if was_at_end:
            self.call_after_refresh(self.scroll_end, animate=False)

    def draw_line(self, y: int, width: int) -> Text:
        index = self.scroll_offset.y + y
        return Text.from_ansi(self._lines[index]) if index < len(self._lines) else Text()

    def move(self, lines: int) -> None:
        """Scroll by a number of lines."""
        self.scroll_relative(y=lines, animate=False)

    def move_pages(self, pages: int) -> None:
        self.move(pages * max(1, self.shown_height - 1))


class RowList(LineView):
    """A list with a cursor. It keeps the chosen row when other rows come and go."""

    can_focus = True
    # Bindings, not messages: they act at once, because the next key may already be waiting.
    BINDINGS: ClassVar[list[BindingType]] = [
        ("j,down", "step(1)", "Down"),
        ("k,up", "step(-1)", "Up"),
        ("g,home", "first", "First"),
        ("G,end", "last", "Last"),
        ("ctrl+d", "pages(1)", "Page down"),
        ("ctrl+u", "pages(-1)", "Page up"),
        ("enter", "screen.open", "Open"),
    ]

    class Moved(Message):
        """Another row is chosen."""

    class Opened(Message):
        """The chosen row was clicked twice."""

    def __init__(self, name: str) -> None:
        super().__init__(id=name)
        self._head: Callable[[int], Text] | None = None
        self._all: Sequence[Row] = ()
        self._rows: Sequence[Row] = ()
        self._places: dict[str, int] = {}
        self._cursor = 0
        self.filter = ""
        self.is_filled = False
        """Whether its rows were read at least once."""
        self.has_jumped = False
        """Whether the chosen row went away, and the person has not moved since."""

    @property
    def chosen(self) -> str:
        """The key of the chosen row; empty if there is none."""
        return str(self._rows[self._cursor].key) if self._cursor < len(self._rows) else ""

    @property
    def count(self) -> int:
        """The number of rows that can be chosen."""
        return len(self._places)

    @property
    def is_empty(self) -> bool:
        """Whether there is no row, even without the filter."""
        return not self._all

    @property
    def length(self) -> int:
        """The number of lines with headings and column names."""
        return len(self._rows) + self._head_height

    def fill(
        self, rows: Sequence[Row], head: Callable[[int], Text] | None = None, chosen: str = ""
    ) -> None:
        """Show rows below a line of column names; `chosen`: the row for the cursor."""
        self._all, self._head = rows, head
        self.is_filled = True
        self._show_matching(chosen)

    def set_filter(self, text: str) -> None:
        """Show only rows with this text."""
        self.filter = text
        self._show_matching()
        # The person changes the list, so they see what is chosen.
        self.has_jumped = False

    def _show_matching(self, chosen: str = "") -> None:
        before, wanted = self.chosen, self.filter.casefold()
        self._rows = rows = _drop_unmatched(self._all, wanted) if wanted else self._all
        self._places = {row.key: index for index, row in enumerate(rows) if row.key}
        if (chosen or before) in self._places:
            self._cursor = self._places[chosen or before]
            self.has_jumped = self.has_jumped and not chosen
        else:
            self.has_jumped = bool(self._places) and (self.has_jumped or bool(before))
            self._cursor = self._find_near(min(self._cursor, len(rows) - 1))
        self.set_height(self.length)
        self._show_cursor()
        if self.chosen != before:
            self.post_message(self.Moved())

    def _find_near(self, index: int) -> int:
        """Return the first row at or after an index that can be chosen, or the last before it."""
        after = range(max(0, index), len(self._rows))
        before = range(min(len(self._rows), index + 1))
        candidates: list[int] = [*after[:2], *before[-2:][::-1]]
        for near in candidates:
            if self._rows[near].key:
                return near
        return 0

    @property
    def _head_height(self) -> int:
        return 1 if self._head else 0

    def draw_line(self, y: int, width: int) -> Text:
        if self._head and y == 0:
            line = self._head(width)
            line.stylize("dim")
            return line
        index = self.scroll_offset.y + y - self._head_height
        if index >= len(self._rows):
            return Text()
        row = self._rows[index]
        line = row.draw(width)
        if row.key and index == self._cursor:
            line.pad_right(max(0, width - line.cell_len))
            # Reversed, so that it is visible in every colour and without colours.
            line.stylize(_CURSOR if self.has_focus else "reverse")
        elif not row.key:
            line.stylize("bold")
        return line

    def choose(self, index: int, step: int = 1) -> None:
        """Choose a row; from a heading go on in the direction of the step."""
        while 0 <= index < len(self._rows) and not self._rows[index].key:
            index += step
        self.has_jumped = False
        if 0 <= index < len(self._rows) and index != self._cursor:
            self._cursor = index
            self.post_message(self.Moved())
        self._show_cursor()
        self.refresh()

    def _show_cursor(self) -> None:
        # The heading above the first row comes into sight with it.
        top = 0 if self._cursor == 1 and not self._rows[0].key else self._cursor
        height = self.shown_height - self._head_height
        if height > 0:
            first = min(self.scroll_offset.y, top)
            first = max(first, self._cursor - height + 1)
            if first != self.scroll_offset.y:
                self.scroll_to(y=first, animate=False, force=True, immediate=True)

    def action_step(self, step: int) -> None:
        self.choose(self._cursor + step, step)

    def action_first(self) -> None:
        self.choose(0)

    def action_last(self) -> None:
        self.choose(len(self._rows) - 1, -1)

    def action_pages(self, pages: int) -> None:
        page = pages * max(1, self.shown_height - self._head_height - 1)
        index = min(max(0, self._cursor + page), len(self._rows) - 1)
        self.choose(index, 1 if index < 2 else -1)

    def on_resize(self) -> None:
        self._show_cursor()

    def on_click(self, event: Click) -> None:
        offset = event.get_content_offset(self)
        if offset is None or (self._head and offset.y == 0):
            return
        index = self.scroll_offset.y + offset.y - self._head_height
        if index >= len(self._rows) or not self._rows[index].key:
            return
        # The first click chooses, so that a person opens only rows that they saw.
        if index == self._cursor and event.chain > 1:
            self.post_message(self.Opened())
        else:
            self.choose(index)


def _drop_unmatched(rows: Sequence[Row], wanted: str) -> list[Row]:
    """Return the rows with a text, below headings that count them."""
    groups: list[tuple[Row | None, list[Row]]] = [(None, [])]
    for row in rows:
        if not row.key:
            groups.append((row, []))
        elif wanted in row.words().casefold():
            groups[-1][1].append(row)
    kept: list[Row] = []
    for heading, found in groups:
        if heading and found:
            kept.append(build_heading(heading.words(), len(found)))
        kept += found
    return kept
