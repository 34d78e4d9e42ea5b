"""A screen that shows runs or asks and follows their changes."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from rich.style import Style
from rich.text import Text
from textual._context import NoActiveAppError
from textual.containers import Vertical
from textual.screen import Screen
from textual.widgets import Static

from gatebell.domain.text.display import inert
from gatebell.errors import GateError
from gatebell.terminal.local_times import localise

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from textual.app import App, ComposeResult
    from textual.widget import Widget

    from gatebell.tui.context import TuiContext

# A border and a blank on each side, and the scroll bar.
_EDGES = 5
_SAID_SECONDS = 15.0
_CLICKED = {
    "enter": "enter",
    "escape": "escape",
    "tab": "tab",
    "ctrl+s": "ctrl+s",
    "ctrl+t": "ctrl+t",
    "?": "question_mark",
    "/": "slash",
}
"""The names of keys that a click on the key line presses."""


def say(app: App[Any], tui_context: TuiContext, text: str, *, problem: bool = False) -> None:
    """Show a message on every screen.

    A message of success disappears after a while; a problem stays until the next message.
    """
    text = localise(inert(text))
    tui_context.word.text, tui_context.word.problem = text, problem

    def show() -> None:
        for screen in app.screen_stack:
            if isinstance(screen, Following) and screen.is_mounted:
                screen.show_word()

    def fade() -> None:
        if tui_context.word.text == text:
            tui_context.word.text = ""
            show()

    show()
    if not problem:
        app.set_timer(_SAID_SECONDS, fade)


class Following(Screen[None]):
    """A screen that shows what it reads, or the error if that fails."""

    def __init__(self, tui_context: TuiContext) -> None:
        super().__init__()
        self.tui_context = tui_context
        # The last message is about what was shown before.
        tui_context.word.text = ""
        self._is_looking = self._must_look_again = False

    def build_body(self) -> Iterable[Widget]:
        """Return the widgets above the keys."""
        raise NotImplementedError

    def look(self) -> Any:
        """Read what the screen shows; on a thread, if that is slow."""
        raise NotImplementedError

    def show(self, found: Any) -> None:
        """Show what `look` has read."""
        raise NotImplementedError

    def keep(self) -> None:
        """Save text that is typed but not sent."""

    def compose(self) -> ComposeResult:
        yield from self.build_body()
        problem, said = Static(id="problem"), Static(id="said")
        problem.display = said.display = False
        with Vertical(id="foot"):
            yield problem
            yield said
            yield Static(id="keys")

    def on_screen_resume(self) -> None:
        self.look_again()

    def on_resize(self) -> None:
        self.look_again()

    @property
    def is_slow(self) -> bool:
        """Whether a look may take a while, and is done on a thread."""
        return self.tui_context.view.is_slow

    def look_again(self) -> None:
        if not self.is_slow:
            self._show_found(*self._try_to_look())
        elif self._is_looking:
            # One after another: an older look must not be shown after a newer one.
            self._must_look_again = True
        else:
            self._is_looking = True
            # A server that hangs must not stop the keys.
            self.run_worker(self._look_slowly, thread=True)

    def _try_to_look(self) -> tuple[Any, str]:
        """Return what was read, or a problem."""
        try:
            return self.look(), ""
        except GateError as error:
            return None, str(error)

    def _look_slowly(self) -> None:
        # The screen or the app may end before the look does, or before it begins.
        with suppress(NoActiveAppError):
            found = self._try_to_look()
            self.app.call_from_thread(self._end_look, *found)

    def _end_look(self, found: Any, problem: str) -> None:
        self._is_looking = False
        # A screen that ends has lost its parts already.
        if self.is_mounted and self.query("#problem"):
            self._show_found(found, problem)
        if self._must_look_again:
            self._must_look_again = False
            self.look_again()

    def _show_found(self, found: Any, problem: str) -> None:
        self.show_problem(problem)
        if not problem:
            self.show(found)
        self.show_word()

    def show_word(self) -> None:
        said, word = self.query_one("#said", Static), self.tui_context.word
        said.update(Text(word.text))
        said.set_class(word.problem, "problem")
        said.display = bool(word.text)

    def show_problem(self, sentence: str) -> None:
        line = self.query_one("#problem", Static)
        line.update(Text(localise(inert(sentence))))
        line.display = bool(sentence)

    def show_keys(self, keys: Sequence[tuple[str, str]], *, last: int = 2) -> None:
        """Show as many keys as fit on one line; a click presses them.

        Args:
            keys: each key, and what it does
            last: how many keys at the end stay as long as possible
        """
        left, room = list(keys), self.size.width - 2
        while len(left) > 2 and sum(len(key) + len(does) + 5 for key, does in left) - 2 > room:
            del left[-min(last + 1, len(left) - 1)]
        line = Text(no_wrap=True)
        for number, (key, does) in enumerate(left):
            pressed = key.lower().replace("esc", "escape")
            can_click = len(key) == 1 or pressed in _CLICKED
            meta = {"@click": f"app.simulate_key('{_CLICKED.get(pressed, pressed)}')"}
            line.append("  " if number else "")
            line.append(f"[{key}] {does}", Style(meta=meta) if can_click else "")
        self.query_one("#keys", Static).update(line)

    @property
    def room(self) -> int:
        """The number of columns of a line inside a box."""
        return max(20, self.size.width - _EDGES)
