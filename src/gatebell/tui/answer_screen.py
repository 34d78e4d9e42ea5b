"""One whole ask and its answer; text that is not sent is kept as a draft."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, ClassVar

from textual.binding import Binding
from textual.widgets import Input, TextArea

from gatebell.domain.asks.asks import settled_sentence
from gatebell.domain.enums import AskKind
from gatebell.errors import GateError, InvalidAnswerError
from gatebell.terminal.asks import describe_recorded
from gatebell.terminal.left_runs import describe_next_step
from gatebell.tui.answer_fields import NotReady, build_fields
from gatebell.tui.ask_text import list_ask_lines
from gatebell.tui.choices import YesOrNo
from gatebell.tui.context import hand_over
from gatebell.tui.live_screen import say
from gatebell.tui.row_list import Lines
from gatebell.tui.work_screen import Subject, WorkScreen

if TYPE_CHECKING:
    from collections.abc import Iterable

    from textual.binding import BindingType
    from textual.widget import Widget

    from gatebell.domain.asks.asks import Ask
    from gatebell.tui.context import TuiContext

_SAVE_EVERY_SECONDS = 1.0
_LEAST_FOR_BORDER = 17
"""With fewer lines, the question has no border and no empty lines."""


class AnswerScreen(WorkScreen):
    """An ask and the fields that its kind needs."""

    BINDINGS: ClassVar[list[BindingType]] = [
        ("escape", "back", "Back"),
        ("ctrl+s", "send", "Send"),
        ("ctrl+t", "prompts", "Terminal"),
        # Only these have priority: a key with priority is handled before earlier typed keys.
        Binding("pageup", "page(-1)", "Up", priority=True),
        Binding("pagedown", "page(1)", "Down", priority=True),
    ]

    def __init__(self, tui_context: TuiContext, ask_id: str, pressed: str = "") -> None:
        """Read the ask; `pressed`: the key of an option to mark at first."""
        super().__init__(tui_context)
        self._ask: Ask = tui_context.backend.get(ask_id)
        self._saved = tui_context.backend.draft(ask_id, tui_context.who)
        self._pressed = pressed
        self._shown = Lines("ask")
        self._fields = build_fields(self._ask, self._saved, self._find_offer())
        if self._is_session or self._ask.question.secret:
            self._saved = ""
        self._shown.border_title = f"{ask_id}: {self._ask.question.kind_word}"

    @property
    def _is_session(self) -> bool:
        return self._ask.question.kind == AskKind.SESSION

    def _find_offer(self) -> dict[str, Any] | None:
        """Return the kind of call that may be allowed for good; the answer does not need it."""
        if self._ask.question.call is None or not self._ask.pending:
            return None
        with suppress(GateError):
            return self.tui_context.backend.find_suggestion(self._ask)
        return None

    def build_body(self) -> Iterable[Widget]:
        return [self._shown, self._fields]

    def on_mount(self) -> None:
        self.set_interval(_SAVE_EVERY_SECONDS, self.keep)
        if self._saved:
            say(self.app, self.tui_context, "Your last draft is filled in.")
        self._fields.focus_first()
        if self._pressed:
            self._fields.press(self._pressed)

    def find_subject(self) -> Subject:
        return Subject(ask=self._ask.id)

    def action_answer(self) -> None:
        self._fields.focus_first()

    def look(self) -> tuple[Ask, list[str]]:
        backend = self.tui_context.backend
        ask = backend.get(self._ask.id)
        with_answers = not self._fields.shows_answers
        return ask, list_ask_lines(backend, ask, self.room, with_answers=with_answers)

    def show(self, found: tuple[Ask, list[str]]) -> None:
        self._ask, lines = found
        # A person must see the call that a yes permits, also on the smallest screen.
        is_low = self.size.height < _LEAST_FOR_BORDER
        self._shown.set_class(is_low, "low")
        self._shown.show([line for line in lines if line] if is_low else lines)
        self._fields.fit(self.size.height)
        self._name_keys()
        if not self._ask.pending:
            self.show_problem(settled_sentence(self._ask))

    def on_descendant_focus(self) -> None:
        self._name_keys()

    def _name_keys(self) -> None:
        """Name the keys that work in the field in use."""
        is_typing = isinstance(self.focused, Input | TextArea)
        more = [] if is_typing else [("b", "Ask back"), ("?", "Help")]
        keys = [*self._fields.keys, *more, ("PgUp PgDn", "Scroll")]
        self.show_keys([*keys, ("Ctrl+T", "gate answer"), ("Esc", "Not yet")])

    def keep(self) -> None:
        """Save the typed text; an error of the store must not take it away."""
        if not self._fields.is_mounted or self._is_session:
            return
        if (words := self._fields.read_draft()) != self._saved:
            with suppress(GateError):
                self.tui_context.backend.save_draft(self._ask.id, self.tui_context.who, words)
                self._saved = words

    def action_entered(self) -> None:
        """Handle Enter in a field."""
        if self._is_undecided():
            self.action_back()
        elif self._fields.enter():
            self.action_send()

    def _is_undecided(self) -> bool:
        """Return whether Enter was pressed on a decision that is not made: it means not yet."""
        focused = self.focused
        return isinstance(focused, YesOrNo) and focused.decision is None

    def on_key(self, event: Any) -> None:
        if event.key == "enter" and self._is_session:
            event.stop()
            self._hand_over("continue")

    def action_send(self) -> None:
        try:
            given = self._fields.read()
        except NotReady as error:
            self._refuse(str(error))
            return
        self.keep()
        backend = self.tui_context.backend
        try:
            given = given._replace(digest=self._ask.digest)
            after = backend.answer(self._ask.id, self.tui_context.who, given)
            left = describe_next_step(backend, after)
        except InvalidAnswerError as error:
            self._refuse(f"Refused, but kept: {error}")
        except GateError as error:
            self._refuse(str(error))
        else:
            self._saved = self._fields.read_draft()
            told = f"{describe_recorded(after, self.room)}\n{left}".rstrip()
            say(self.app, self.tui_context, told)
            self.dismiss()

    def _refuse(self, sentence: str) -> None:
        say(self.app, self.tui_context, sentence, problem=True)

    def action_prompts(self) -> None:
        self._hand_over("answer")

    def _hand_over(self, verb: str) -> None:
        self.keep()
        hand_over(self.app, self.tui_context, self.tui_context.build_command(verb, self._ask.id))
        self.dismiss()

    def action_page(self, pages: int) -> None:
        self._shown.move_pages(pages)

    def action_back(self) -> None:
        self.keep()
        kept = " Your text is kept as a draft." if self._saved else ""
        if self._ask.pending:
            say(self.app, self.tui_context, f"Not answered; {self._ask.id} is still waiting.{kept}")
        self.dismiss()
