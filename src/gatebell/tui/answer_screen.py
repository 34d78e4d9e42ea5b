"""One whole ask and its answer; text that is not sent is kept as a draft."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, ClassVar

from rich.text import Text
from textual.binding import Binding
from textual.containers import ScrollableContainer, Vertical
from textual.widgets import Input, OptionList, SelectionList, Static, TextArea
from textual.widgets.option_list import Option
from textual.widgets.selection_list import Selection

from gatebell.domain.asks.answers import DECISIONS, Given
from gatebell.domain.asks.asks import settled_sentence
from gatebell.domain.asks.questions import OTHER
from gatebell.domain.enums import AskKind
from gatebell.domain.text.display import inert
from gatebell.errors import GateError, InvalidAnswerError
from gatebell.terminal.asks import ask_lines, describe_recorded
from gatebell.terminal.left_runs import describe_next_step
from gatebell.tui.context import hand_over
from gatebell.tui.live_screen import Following, paint, paint_lines, say

if TYPE_CHECKING:
    from collections.abc import Iterable

    from textual.binding import BindingType
    from textual.widget import Widget

    from gatebell.domain.asks.asks import Ask
    from gatebell.domain.asks.questions import Question
    from gatebell.tui.context import TuiContext

_SAVE_EVERY_SECONDS = 1.0
_UNDECIDED = "Type approve or reject in full; other words go into the note."


def needs_prompts(question: Question) -> bool:
    """Return whether an ask needs `gate answer`, which can do more than this screen."""
    by_hand = (
        question.kind not in (AskKind.APPROVAL, AskKind.CHOICE, AskKind.TEXT) or question.secret
    )
    return by_hand or question.requirement.personal


class Line(Input):
    """A field that handles Enter at once, because the next key may already be waiting."""

    BINDINGS: ClassVar[list[BindingType]] = [("enter", "screen.entered", "Enter")]


class AnswerScreen(Following):
    """An ask and the fields that its kind needs."""

    BINDINGS: ClassVar[list[BindingType]] = [
        ("escape", "back", "Back"),
        ("ctrl+s", "send", "Send"),
        ("ctrl+t", "prompts", "Terminal"),
        # Only these have priority: a key with priority is handled before earlier typed keys.
        Binding("pageup", "page(-1)", "Up", priority=True),
        Binding("pagedown", "page(1)", "Down", priority=True),
    ]

    def __init__(self, tui_context: TuiContext, ask_id: str) -> None:
        super().__init__(tui_context)
        self._ask: Ask = tui_context.backend.get(ask_id)
        self._saved = tui_context.backend.draft(ask_id, tui_context.who)
        self._shown = ScrollableContainer(Static(id="asked", markup=False), id="ask")
        self._fields = Vertical(*self._build_fields(), id="answer")
        self._shown.border_title = f"{ask_id}: {self._ask.question.kind}"
        self._fields.border_title = "Your answer"

    def _build_fields(self) -> Iterable[Widget]:
        question, draft = self._ask.question, self._saved
        if needs_prompts(question):
            yield Static(f"Press Enter to run gate {self._verb} in this terminal.", markup=False)
        elif question.kind == AskKind.APPROVAL:
            yield Line(placeholder="approve or reject (empty: not yet)", id="decision", compact=True)  # fmt: skip
            yield Line(draft, placeholder="Note, or the reason (optional)", id="words", compact=True)  # fmt: skip
        elif question.kind == AskKind.TEXT:
            yield TextArea(draft, id="words", compact=True)
        else:
            names = [Text(inert(name)) for name in question.options]
            if question.multiple:
                yield SelectionList(*(Selection(n, i) for i, n in enumerate(names)), compact=True)
            else:
                others = [Text(OTHER)] if question.other else []
                options = OptionList(*map(Option, [*names, *others]), compact=True)
                # Enter must not choose an option that the person has not selected.
                options.highlighted = None
                yield options
            if question.other:
                yield Line(draft, placeholder="Other, in your words", id="words", compact=True)

    def build_body(self) -> Iterable[Widget]:
        return [self._shown, self._fields]

    def on_mount(self) -> None:
        self.set_interval(_SAVE_EVERY_SECONDS, self.keep)
        # The last message is about another ask.
        self.tui_context.word.text = ""
        if self._saved and not needs_prompts(self._ask.question):
            say(self.app, self.tui_context, "Your last draft is filled in.")
        for area in self._fields.query(TextArea):
            area.move_cursor(area.document.end)
        for field in self._fields.query("Input, TextArea, OptionList"):
            field.focus()
            return

    def look(self) -> tuple[Ask, list[str]]:
        backend = self.tui_context.backend
        ask = backend.get(self._ask.id)
        return ask, ask_lines(backend, ask, self.room, paint)

    def show(self, found: tuple[Ask, list[str]]) -> None:
        self._ask, lines = found
        self.query_one("#asked", Static).update(paint_lines(lines))
        self._show_keys()
        if not self._ask.pending:
            self.show_problem(settled_sentence(self._ask))

    def on_descendant_focus(self) -> None:
        self._show_keys()

    def _show_keys(self) -> None:
        kind, several = self._ask.question.kind, self._ask.question.multiple
        in_words = self.focused is not None and self.focused.id == "words"
        more = [("Ctrl+T", "gate answer")]
        if needs_prompts(self._ask.question):
            keys, more = [("Enter", f"gate {self._verb}")], more if kind == AskKind.SESSION else []
        elif kind == AskKind.APPROVAL:
            keys = [("Enter", "Send" if in_words else "Next")]
        elif kind == AskKind.CHOICE and not several:
            keys = [("Enter", "Send") if in_words else ("↑↓ Enter", "Pick and send")]
        else:
            keys = [("Ctrl+S", "Send")]
        self.show_keys([*keys, ("PgUp PgDn", "Scroll"), *more, ("Esc", "Not yet")])

    def _read_words(self) -> str:
        for field in self._fields.query("#words"):
            if isinstance(field, Input):
                return field.value
            if isinstance(field, TextArea):
                return field.text
        return ""

    def keep(self) -> None:
        """Save the typed text; an error of the store must not take it away."""
        if (words := self._read_words()) != self._saved and not needs_prompts(self._ask.question):
            with suppress(GateError):
                self.tui_context.backend.save_draft(self._ask.id, self.tui_context.who, words)
                self._saved = words

    def action_entered(self) -> None:
        decision = self.focused if isinstance(self.focused, Line) else None
        if decision is None or decision.id != "decision":
            self.action_send()
        elif not decision.value.strip():
            self.action_back()
        elif decision.value.strip().lower() in DECISIONS:
            self.set_focus(self._fields.query_one("#words"))
        else:
            self._refuse(_UNDECIDED)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        if event.option_index < len(self._ask.question.options):
            self._send(self._ask.question.options[event.option_index])
        else:
            self._fields.query_one("#words").focus()

    def on_key(self, event: Any) -> None:
        if event.key == "enter" and needs_prompts(self._ask.question):
            event.stop()
            self._hand_over(self._verb)

    def action_send(self) -> None:
        question, words = self._ask.question, self._read_words()
        if needs_prompts(question):
            self._hand_over(self._verb)
        elif question.kind == AskKind.APPROVAL:
            decision = self._fields.query_one("#decision", Input).value.strip()
            if decision.lower() in DECISIONS:
                self._send(decision, words.strip())
            else:
                self._refuse(_UNDECIDED)
        elif question.multiple:
            picked = sorted(self._fields.query_one(SelectionList[int]).selected)
            chosen: list[Any] = [question.options[index] for index in picked]
            self._send([*chosen, {"other": words}] if words.strip() else chosen)
        elif not words.strip():
            self._refuse("The answer is empty; write one, or press Esc to leave it for later.")
        else:
            self._send(words if question.kind == AskKind.TEXT else {"other": words})

    def _send(self, value: Any, note: str = "") -> None:
        self.keep()
        backend, given = self.tui_context.backend, Given(value, note, self._ask.digest)
        try:
            after = backend.answer(self._ask.id, self.tui_context.who, given)
            left = describe_next_step(backend, after)
        except InvalidAnswerError as error:
            self._refuse(f"Refused, but kept: {error}")
        except GateError as error:
            self._refuse(str(error))
        else:
            self._saved = self._read_words()
            say(
                self.app,
                self.tui_context,
                f"{describe_recorded(after, self.room)}\n{left}".rstrip(),
            )
            self.dismiss()

    def _refuse(self, sentence: str) -> None:
        say(self.app, self.tui_context, sentence, problem=True)

    def action_prompts(self) -> None:
        self._hand_over("answer")

    def _hand_over(self, verb: str) -> None:
        self.keep()
        hand_over(self.app, self.tui_context, self.tui_context.build_command(verb, self._ask.id))
        self.dismiss()

    @property
    def _verb(self) -> str:
        return "continue" if self._ask.question.kind == AskKind.SESSION else "answer"

    def action_page(self, pages: int) -> None:
        self._shown.scroll_relative(y=pages * self._shown.size.height, animate=False)

    def action_back(self) -> None:
        self.keep()
        kept = " Your text is kept as a draft." if self._saved else ""
        if self._ask.pending:
            say(self.app, self.tui_context, f"Not answered; {self._ask.id} is still waiting.{kept}")
        self.dismiss()
