"""The line with the names of the lists; the open one is marked, and a click opens another."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from rich.text import Text
from textual.message import Message
from textual.widget import Widget

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.events import Click

_GAP = " "
_HINT = "[Tab] Next list"


class TabName(NamedTuple):
    """The name of a list, a shorter one for small screens, and its number of rows."""

    name: str
    short: str
    rows: int = 0

    def draw(self, *, is_short: bool) -> str:
        name = self.short if is_short else self.name
        return f" {name} ({self.rows}) " if self.rows else f" {name} "


class TabLine(Widget):
    """One line, on every size of the screen."""

    class Picked(Message):
        """A name was clicked."""

        def __init__(self, index: int) -> None:
            super().__init__()
            self.index = index

    def __init__(self) -> None:
        super().__init__(id="tabs")
        self._names: Sequence[TabName] = ()
        self._open = 0

    def show(self, names: Sequence[TabName], index: int) -> None:
        """Show the names, and which of them is open."""
        self._names, self._open = names, index
        self.refresh()

    def _list_words(self) -> list[str]:
        words = [one.draw(is_short=False) for one in self._names]
        if len(_GAP.join(words)) > self.size.width:
            words = [one.draw(is_short=True) for one in self._names]
        return words

    def render(self) -> Text:
        line = Text(no_wrap=True)
        for index, word in enumerate(self._list_words()):
            line.append(word, "bold reverse" if index == self._open else "")
            line.append(_GAP)
        if (left := self.size.width - len(line) - len(_HINT)) > 0:
            line.append(f"{'':{left}}{_HINT}", "dim")
        return line

    def on_click(self, event: Click) -> None:
        end = 0
        for index, word in enumerate(self._list_words()):
            end += len(word) + len(_GAP)
            if event.x < end:
                self.post_message(self.Picked(index))
                return
