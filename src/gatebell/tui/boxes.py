"""Small boxes above a screen: a reason, a message to the asker, a choice, a session, the keys."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual.containers import Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from gatebell.domain.asks.owners import run_of
from gatebell.domain.text.display import frame, inert_line
from gatebell.terminal.runs import label_lines
from gatebell.tui.context import hand_over
from gatebell.tui.live_screen import say
from gatebell.tui.paint import paint, paint_lines

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.app import ComposeResult
    from textual.binding import BindingType

    from gatebell.domain.asks.asks import Ask
    from gatebell.tui.context import TuiContext
    from gatebell.tui.run_rows import Session

_BOX_COLUMNS = 72
_KEY_COLUMNS = 15
_MAX_REASON_LINES = 6
_ESCAPE: list[BindingType] = [("escape", "dismiss", "Back")]

HELP = (
    ("Lists", ""),
    ("↑ ↓  j k", "move"),
    ("g G", "the first and the last row"),
    ("PgUp PgDn", "scroll the text beside the list"),
    ("Ctrl+U Ctrl+D", "a page up and down in the list"),
    ("Tab Shift+Tab", "the next list, the list before"),
    ("/", "show only rows with a text; Esc shows all"),
    ("Enter", "open the row, or double-click it"),
    ("", ""),
    ("An ask", ""),
    ("a Enter", "read all of it and answer"),
    ("y n", "mark yes or no; Enter sends it"),
    ("1 … 9", "mark an option; Enter sends it"),
    ("b", "ask the asker back; the ask stays open"),
    ("c", "continue in the agent's session"),
    ("Ctrl+S", "send a text or a form"),
    ("Ctrl+T", "gate answer: edit a call, or allow it for longer"),
    ("", ""),
    ("A run, or the run of an ask or task", ""),
    ("o", "open its folder in your editor"),
    ("d", "its changes"),
    ("l", "its log"),
    ("s", "stop it, with a reason"),
    ("r", "resume it after its end"),
    ("", ""),
    ("? Esc q", "this help, back, quit"),
)


class HelpScreen(ModalScreen[None]):
    """All keys."""

    BINDINGS: ClassVar[list[BindingType]] = [("escape,question_mark,q,enter", "dismiss", "Back")]

    def compose(self) -> ComposeResult:
        with VerticalScroll(classes="box", id="help") as box:
            box.border_title, box.border_subtitle = "Keys", "Esc: back"
            width = min(_BOX_COLUMNS, int(self.app.size.width * 0.9) - 8)
            lines = [line for key, does in HELP for line in _format_key(key, does, width)]
            yield Static(paint_lines(lines), markup=False)

    def on_mount(self) -> None:
        self.query_one("#help").focus()


def _format_key(key: str, does: str, width: int) -> list[str]:
    """Return a key and what it does; on a small screen the words stay in their column."""
    if not does:
        return [paint(key, "bold")]
    first, *more = frame(does, width - _KEY_COLUMNS, bar="")
    return [f"{key:{_KEY_COLUMNS}}{first}", *(f"{'':{_KEY_COLUMNS}}{line}" for line in more)]


class PickScreen(ModalScreen[int]):
    """Lets the person pick one of several asks."""

    BINDINGS: ClassVar[list[BindingType]] = _ESCAPE

    def __init__(self, title: str, asks: Sequence[Ask]) -> None:
        super().__init__()
        self._title, self._asks = title, asks

    def compose(self) -> ComposeResult:
        lines = [Text(f"{ask.id}  {inert_line(ask.question.prompt, 60)}") for ask in self._asks]
        listed = OptionList(*(Option(line) for line in lines), id="picking")
        listed.border_title = Text(f"{self._title} waits for several answers")
        yield listed

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(event.option_index)


class WordsScreen(ModalScreen[str]):
    """Asks for one line; without text nothing happens."""

    BINDINGS: ClassVar[list[BindingType]] = [*_ESCAPE, ("ctrl+s", "send", "Send")]

    def __init__(
        self, tui_context: TuiContext, title: str, about: str, wanted: str, *, does: str = "send"
    ) -> None:
        """Name what Enter does with the line."""
        super().__init__()
        self._tui_context, self._does = tui_context, does
        self._title, self._about, self._wanted = title, about, wanted

    def compose(self) -> ComposeResult:
        with Vertical(classes="box") as box:
            box.border_title, box.border_subtitle = (
                Text(self._title),
                f"Enter: {self._does}, Esc: back",
            )
            yield Static(self._about, markup=False)
            yield Input(placeholder=self._wanted, compact=True)

    def on_input_submitted(self) -> None:
        self.action_send()

    def action_send(self) -> None:
        """Send the line, by Enter or by the key that sends every text."""
        if words := self.query_one(Input).value.strip():
            self.dismiss(words)
        else:
            words = f"Type a {self._wanted.lower()}, or press Esc to go back."
            say(self.app, self._tui_context, words)


class ContinueScreen(ModalScreen[None]):
    """Announces the session, then gives it the terminal."""

    def __init__(self, tui_context: TuiContext, ask: Ask, session: Session) -> None:
        super().__init__()
        self._tui_context, self._ask, self._session = tui_context, ask, session

    def compose(self) -> ComposeResult:
        number = run_of(self._ask.origin.owner)
        program = self._session.program or "the agent's"
        width = min(_BOX_COLUMNS, self.app.size.width - 10)
        with Vertical(classes="box") as box:
            box.border_title = f"Continue Run {number}" if number else f"Continue {self._ask.id}"
            lines = [
                f"Opening {program} session...",
                "",
                f"Agent: {inert_line(self._session.agent, 60)}",
                *label_lines("Reason", self._ask.question.prompt, width)[:_MAX_REASON_LINES],
                "",
                "The session uses this terminal.",
                "Leave it as usual to come back here.",
            ]
            yield Static(paint_lines(lines), markup=False)

    def on_mount(self) -> None:
        self.call_after_refresh(self._open)

    def _open(self) -> None:
        hand_over(
            self.app, self._tui_context, self._tui_context.build_command("continue", self._ask.id)
        )
        self.dismiss()
