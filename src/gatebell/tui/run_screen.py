"""One run: its state, its calls, and the keys for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from rich.text import Text
from textual import work
from textual.containers import ScrollableContainer, Vertical
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from gatebell.domain.asks.owners import run_of
from gatebell.domain.text.display import inert_line
from gatebell.errors import GateError
from gatebell.terminal import editors
from gatebell.terminal.runs import label_lines
from gatebell.tui.answer_screen import AnswerScreen
from gatebell.tui.context import hand_over
from gatebell.tui.live_screen import Following, paint_lines, say

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from textual.app import App, ComposeResult
    from textual.binding import BindingType
    from textual.widget import Widget

    from gatebell.domain.asks.asks import Ask
    from gatebell.tui.context import TuiContext
    from gatebell.tui.run_rows import Session
    from gatebell.tui.view import RunDetails

_BOX_COLUMNS = 72
_MAX_REASON_LINES = 6


class RunScreen(Following):
    """One run, live."""

    BINDINGS: ClassVar[list[BindingType]] = [
        ("c", "continue", "Continue"),
        ("s", "stop", "Stop"),
        ("o", "open_editor", "Open editor"),
        ("a", "answer", "Answer"),
        ("escape", "app.pop_screen", "Back"),
        ("q", "app.leave", "Quit"),
    ]

    def __init__(self, tui_context: TuiContext, number: int) -> None:
        super().__init__(tui_context)
        self._number = number
        self._state = ScrollableContainer(Static(id="told", markup=False), id="state")
        self._calls = ScrollableContainer(Static(id="listed", markup=False), id="calls")
        self._calls.border_title = "Calls"

    def build_body(self) -> Iterable[Widget]:
        return [self._state, self._calls]

    def look(self) -> RunDetails:
        return self.tui_context.view.show_run(self._number, self.room)

    def show(self, found: RunDetails) -> None:
        # As a Text: a str would be read as markup.
        self._state.border_title = Text(found.title)
        self.query_one("#told", Static).update(paint_lines(found.lines))
        self._calls.display = bool(found.calls)
        self.query_one("#listed", Static).update(paint_lines(found.calls))
        self.show_keys(found.keys)

    def action_continue(self) -> None:
        continue_run(self.app, self.tui_context, self._number)

    def action_answer(self) -> None:
        answer_run(self.app, self.tui_context, self._number)

    def action_open_editor(self) -> None:
        try:
            editor, folder = editors.find(), self.tui_context.view.get_folder(self._number)
        except GateError as error:
            say(self.app, self.tui_context, str(error), problem=True)
            return
        hand_over(self.app, self.tui_context, editors.build_command(editor, folder), folder)
        self.look_again()

    def action_stop(self) -> None:
        self.app.push_screen(StopScreen(self.tui_context, self._number), self._stop_because)

    def _stop_because(self, reason: str | None) -> None:
        if reason:
            self._stop(reason)

    @work(thread=True)
    def _stop(self, reason: str) -> None:
        """Stop the run in a thread, because its agents may take a while to end."""
        try:
            stopped = self.tui_context.view.stop_run(self._number, self.tui_context.who, reason)
        except GateError as error:
            self.app.call_from_thread(say, self.app, self.tui_context, str(error), problem=True)
        else:
            text = f"Run {stopped.id} marked as stuck: {inert_line(stopped.reason, 200)}"
            self.app.call_from_thread(say, self.app, self.tui_context, text)


def answer_run(app: App[Any], tui_context: TuiContext, number: int) -> None:
    _pick_ask(app, tui_context, number, lambda ask: answer_ask(app, tui_context, ask.id))


def answer_ask(app: App[Any], tui_context: TuiContext, ask_id: str) -> None:
    try:
        app.push_screen(AnswerScreen(tui_context, ask_id))
    except GateError as error:
        say(app, tui_context, str(error), problem=True)


def continue_run(app: App[Any], tui_context: TuiContext, number: int) -> None:
    _pick_ask(app, tui_context, number, lambda ask: continue_ask(app, tui_context, ask.id))


def continue_ask(app: App[Any], tui_context: TuiContext, ask_id: str) -> None:
    """Open the session of an ask, if it has one."""
    try:
        ask = tui_context.backend.get(ask_id)
        session = tui_context.view.get_session(ask)
    except GateError as error:
        say(app, tui_context, str(error), problem=True)
    else:
        app.push_screen(ContinueScreen(tui_context, ask, session))


def _pick_ask(
    app: App[Any], tui_context: TuiContext, number: int, then: Callable[[Ask], object]
) -> None:
    """Call `then` with the pending ask of a run; of several, with the one that the person picks."""
    try:
        asks = tui_context.view.asks_of_run(number)
    except GateError as error:
        say(app, tui_context, str(error), problem=True)
        return
    if not asks:
        say(app, tui_context, f"Run {number} has no open question.")
    elif len(asks) == 1:
        then(asks[0])
    else:

        def on_pick(index: int | None) -> None:
            if index is not None:
                then(asks[index])

        app.push_screen(PickScreen(number, asks), on_pick)


class PickScreen(ModalScreen[int]):
    """Lets the person pick one of the asks of a run."""

    BINDINGS: ClassVar[list[BindingType]] = [("escape", "dismiss", "Back")]

    def __init__(self, number: int, asks: Sequence[Ask]) -> None:
        super().__init__()
        self._number, self._asks = number, asks

    def compose(self) -> ComposeResult:
        lines = [Text(f"{ask.id}  {inert_line(ask.question.prompt, 60)}") for ask in self._asks]
        listed = OptionList(*(Option(line) for line in lines), id="picking")
        listed.border_title = f"Run {self._number} waits for several answers"
        yield listed

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(event.option_index)


class StopScreen(ModalScreen[str]):
    """Asks for the reason to stop a run; without a reason the run goes on."""

    BINDINGS: ClassVar[list[BindingType]] = [("escape", "dismiss", "Back")]

    def __init__(self, tui_context: TuiContext, number: int) -> None:
        super().__init__()
        self.tui_context = tui_context
        self._number = number

    def compose(self) -> ComposeResult:
        about = "This ends its agents and cancels its asks. gate resume can continue it."
        with Vertical(classes="box") as box:
            box.border_title = f"Stop Run {self._number}"
            yield Static(about, markup=False)
            yield Input(placeholder="Reason (Enter: stop; Esc: go back)", compact=True)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        if event.value.strip():
            self.dismiss(event.value.strip())
        else:
            say(
                self.app,
                self.tui_context,
                "Type a reason to stop the run, or press Esc to go back.",
            )


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
