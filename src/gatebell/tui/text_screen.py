"""A long text on the whole screen: a log, a diff, a call, a settled ask, a task."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, NamedTuple

from rich.text import Text

from gatebell.domain.text.display import inert_line
from gatebell.tui.live_screen import Following
from gatebell.tui.row_list import Lines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from textual.binding import BindingType
    from textual.widget import Widget

    from gatebell.tui.context import TuiContext

_POLL_SECONDS = 1.0


class LongText(NamedTuple):
    """A text that is read for a width, and how it is followed."""

    title: str
    read: Callable[[int], list[str]]
    nothing: str = "There is nothing to show."
    at_end: bool = False
    """Whether its newest lines are at the end; it is then read every second."""
    once: bool = False
    """Whether it is read only once: a large diff takes a while."""


class TextScreen(Following):
    """Shows a text, and follows its changes."""

    BINDINGS: ClassVar[list[BindingType]] = [
        ("j,down", "move(1)", "Down"),
        ("k,up", "move(-1)", "Up"),
        ("pagedown,space,ctrl+d", "page(1)", "Page down"),
        ("pageup,ctrl+u", "page(-1)", "Page up"),
        ("g,home", "begin", "Begin"),
        ("G,end", "end", "End"),
        ("escape", "app.pop_screen", "Back"),
        ("q", "app.leave", "Quit"),
    ]

    def __init__(self, tui_context: TuiContext, text: LongText) -> None:
        super().__init__(tui_context)
        self._text = text
        self._width = 0
        self._shown = Lines("whole")
        self._shown.border_title = Text(inert_line(text.title, 60))

    @property
    def is_slow(self) -> bool:
        # Git and a long log take a while, on every backend.
        return True

    def build_body(self) -> Iterable[Widget]:
        return [self._shown]

    def on_mount(self) -> None:
        # A large diff takes seconds, and the keys work before it is there.
        self.show(["Reading …"])
        if self._text.at_end:
            self.set_interval(_POLL_SECONDS, self.look_again)

    def look_again(self) -> None:
        if not self._text.once or self._width != self.room:
            self._width = self.room
            super().look_again()

    def show_problem(self, sentence: str) -> None:
        super().show_problem(sentence)
        if sentence:
            self._shown.show([self._text.nothing])

    def look(self) -> list[str]:
        return self._text.read(self.room)

    def show(self, found: list[str]) -> None:
        self._shown.show(found or [self._text.nothing], at_end=self._text.at_end)
        keys = [("↑↓ PgUp PgDn", "Scroll"), ("g G", "Begin, end")]
        self.show_keys([*keys, ("Esc", "Back"), ("q", "Quit")])

    def action_move(self, lines: int) -> None:
        self._shown.move(lines)

    def action_page(self, pages: int) -> None:
        self._shown.move_pages(pages)

    def action_begin(self) -> None:
        self._shown.scroll_home(animate=False)

    def action_end(self) -> None:
        self._shown.scroll_end(animate=False)
