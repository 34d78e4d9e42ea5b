"""The fields of an answer, by the kind of the ask."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, ClassVar

from textual.containers import VerticalScroll
from textual.widgets import Input, Static, TextArea

from gatebell.domain.asks.answers import Given
from gatebell.domain.enums import AskKind, Decision
from gatebell.domain.permissions.rules import ALWAYS, Scope
from gatebell.domain.text.display import inert_line
from gatebell.terminal.asks import describe_field, describe_offer
from gatebell.terminal.form_fields import is_flat, parse_draft, parse_field
from gatebell.tui.ask_text import list_option_lines
from gatebell.tui.choices import Choices, YesOrNo

if TYPE_CHECKING:
    from collections.abc import Iterable

    from textual.app import ComposeResult
    from textual.binding import BindingType
    from textual.widget import Widget

    from gatebell.domain.asks.asks import Ask

_LEAST_LINES, _MAX_LINES, _PART_FOR_WORDS = 2, 10, 4
_EMPTY_FORM = "The form is empty; fill it in, or press Esc to leave it for later."
_EMPTY = "The answer is empty; write one, or press Esc to leave it for later."


class NotReady(Exception):  # noqa: N818 - the person goes on typing
    """The fields hold no answer yet; the text says what is missing."""


class Line(Input):
    """A field that handles Enter at once, because the next key may already be waiting."""

    BINDINGS: ClassVar[list[BindingType]] = [("enter", "screen.entered", "Enter")]


class Fields(VerticalScroll):
    """The fields of one ask. At first they hold the person's draft, or a form's defaults."""

    can_focus = False
    keys: tuple[tuple[str, str], ...] = (("Ctrl+S", "Send"),)
    """The keys that send it."""
    shows_answers = False
    """Whether the fields show every possible answer."""

    def __init__(self, ask: Ask, draft: str) -> None:
        super().__init__(id="answer")
        self.ask, self.begun = ask, draft
        self.border_title = "Your answer"

    def build(self) -> Iterable[Widget]:
        """Return the fields."""
        raise NotImplementedError

    def compose(self) -> ComposeResult:
        yield from self.build()

    def read(self) -> Given:
        """Return the answer, or raise `NotReady`."""
        raise NotImplementedError

    def read_draft(self) -> str:
        """Return the typed text, to be kept."""
        return self.read_words()

    def read_words(self) -> str:
        for field in self.query("#words"):
            if isinstance(field, Input):
                return field.value
            if isinstance(field, TextArea):
                return field.text
        return ""

    def press(self, key: str) -> None:
        """Mark the option of a key that was pressed in a list."""

    def fit(self, lines: int) -> None:
        """Leave most of a screen with so many lines to the question."""
        for area in self.query(TextArea):
            area.styles.height = max(_LEAST_LINES, min(_MAX_LINES, lines // _PART_FOR_WORDS))

    def focus_first(self) -> None:
        for area in self.query(TextArea):
            area.move_cursor(area.document.end)
        for field in self.query("Input, TextArea, Choices"):
            field.focus()
            return

    def enter(self) -> bool:
        """Handle Enter inside; return whether the answer is to be sent."""
        return True

    def on_choices_marked(self) -> None:
        self.border_subtitle = self.describe_marked()

    def describe_marked(self) -> str:
        return ""

    def _focuses(self, name: str) -> bool:
        focused = self.screen.focused
        return focused is not None and focused.id == name


class ApprovalFields(Fields):
    """Yes or no, and a note; `suggested` is the kind of call that may be allowed for good."""

    keys = (("y n", "Decide"), ("Enter", "Send"), ("Tab", "Note"))

    def __init__(self, ask: Ask, draft: str, suggested: dict[str, Any] | None) -> None:
        super().__init__(ask, draft)
        self._suggested = suggested
        if suggested:
            self.keys = (("y n A", "Decide"), *self.keys[1:])

    def build(self) -> Iterable[Widget]:
        yield YesOrNo(f"Yes. {describe_offer(self._suggested)}" if self._suggested else "")
        yield Line(self.begun, placeholder="Tab: a note, or the reason", id="words", compact=True)

    def press(self, key: str) -> None:
        if key in ("y", "n"):
            self.query_one(YesOrNo).mark("yn".index(key))

    def describe_marked(self) -> str:
        marked = self.query_one(YesOrNo)
        word = "approve" if marked.decision == Decision.APPROVED else "reject"
        return f"Enter: {word}{' always' if marked.is_always else ''}"

    def read(self) -> Given:
        decision = self.query_one(YesOrNo).decision
        if decision is None:
            raise NotReady("Press y or n, then Enter. A note alone decides nothing.")
        given = Given(decision, self.read_words().strip())
        if self._suggested and self.query_one(YesOrNo).is_always:
            return given._replace(scope=Scope(ALWAYS, self._suggested["pattern"]))
        return given


class ChoiceFields(Fields):
    """One option, several, or the person's own words."""

    BINDINGS: ClassVar[list[BindingType]] = [("up", "leave_words", "Up")]
    shows_answers = True

    def build(self) -> Iterable[Widget]:
        question = self.ask.question
        self.keys = (("1-9 ↑↓", "Choose"), ("Enter", "Send"))
        if question.multiple:
            self.keys = (("1-9 Space", "Choose"), ("Enter", "Send"))
        yield Choices(list_option_lines(self.ask), several=question.multiple)
        if question.other:
            yield Line(self.begun, placeholder="Other, in your words", id="words", compact=True)

    def press(self, key: str) -> None:
        if key.isdecimal():
            self.query_one(Choices).mark(int(key) - 1)

    def describe_marked(self) -> str:
        names = [inert_line(name, 30) for name in self._name_chosen()]
        # As escaped text: a name of an option is not markup.
        return f"Enter: {', '.join(names)}".replace("[", r"\[") if names else ""

    def _name_chosen(self) -> list[str]:
        """Return what Enter would send, in the words of the screen."""
        labels, marked = self.ask.question.option_labels, self.query_one(Choices).marked
        words = self.read_words().strip()
        names = [labels[index] for index in sorted(marked - {self._other})]
        if words and (self.ask.question.multiple or self._other in marked):
            return [*names, words]
        return [*names, labels[self._other]] if self._other in marked else names

    @property
    def _other(self) -> int:
        """The number of the option for the person's own words."""
        return len(self.ask.question.options)

    def on_choices_marked(self) -> None:
        super().on_choices_marked()
        choices = self.query_one(Choices)
        if choices.has_focus and choices.pointer == self._other and self._other in choices.marked:
            # What is typed next is the answer, not a key of the screen.
            self.query_one("#words").focus()

    def on_input_changed(self) -> None:
        self._mark_other()

    def on_descendant_focus(self) -> None:
        if self._focuses("words"):
            self._mark_other()

    def _mark_other(self) -> None:
        """Mark the option of the words that are written, because Enter sends them."""
        if self.read_words().strip() and self._focuses("words") and not self.ask.question.multiple:
            self.query_one(Choices).mark(self._other)
        self.border_subtitle = self.describe_marked()

    def action_leave_words(self) -> None:
        """Go from the words to the option above them."""
        choices = self.query_one(Choices)
        if self._focuses("words"):
            choices.focus()
            choices.action_step(0 if self.ask.question.multiple else -1)

    def enter(self) -> bool:
        is_other = self.query_one(Choices).one == self._other
        if self._focuses("options") and is_other and not self.read_words().strip():
            self.query_one("#words").focus()
            return False
        return True

    def read(self) -> Given:
        options, marked = self.ask.question.options, self.query_one(Choices).marked
        words = self.read_words()
        chosen: list[Any] = [options[index] for index in sorted(marked - {self._other})]
        if self._other in marked and not words.strip():
            raise NotReady("Write your own words, or choose another option.")
        if self.ask.question.multiple:
            # Words that are written are part of the answer, marked or not.
            chosen += [{"other": words}] if words.strip() else []
            if not chosen:
                raise NotReady("Nothing is chosen yet: press a number, or Space.")
            return Given(chosen)
        if self._other in marked:
            return Given({"other": words})
        if not chosen:
            raise NotReady("Nothing is chosen yet: press a number, ↑ or ↓.")
        return Given(chosen[0])


class TextFields(Fields):
    """Words."""

    def build(self) -> Iterable[Widget]:
        yield TextArea(self.begun, id="words", compact=True)

    def read(self) -> Given:
        if not (words := self.read_words()).strip():
            raise NotReady(_EMPTY)
        return Given(words)


class SecretFields(Fields):
    """A secret: it is not shown, and not kept as a draft."""

    keys = (("Enter", "Send"),)

    def build(self) -> Iterable[Widget]:
        yield Line(placeholder="Not shown, not kept", password=True, id="words", compact=True)

    def read_draft(self) -> str:
        return ""

    def read(self) -> Given:
        if not (words := self.read_words()):
            raise NotReady(_EMPTY)
        return Given(words)


class FormFields(Fields):
    """One field for each property of a flat form."""

    shows_answers = True
    # The first one is named on the smallest screen, too.
    keys = (("Ctrl+S", "Send"), ("Enter", "Next"))

    def build(self) -> Iterable[Widget]:
        schema = self.ask.question.schema or {}
        self._properties: dict[str, dict[str, Any]] = schema["properties"]
        self._defaults = {
            name: field["default"]
            for name, field in self._properties.items()
            if "default" in field and not field.get("writeOnly")
        }
        draft = parse_draft(self.begun) if self.begun else self._defaults
        required = schema.get("required", [])
        for number, (name, field) in enumerate(self._properties.items()):
            label = describe_field(name, field, required=name in required)
            yield Static(inert_line(label, 300), markup=False)
            yield self._build_field(f"field-{number}", field, draft.get(name))

    def _build_field(self, name: str, field: dict[str, Any], begun: Any) -> Widget:
        if values := _list_values(field):
            marked = values.index(begun) if begun in values and begun is not None else None
            return Choices([(_describe(value), "") for value in values], name=name, marked=marked)
        text = "" if begun is None else begun if isinstance(begun, str) else json.dumps(begun)
        return Line(text, password=bool(field.get("writeOnly")), id=name, compact=True)

    def watch_scroll_y(self, old: float, new: float) -> None:
        """Show the name of the field in use above it, also where the form is cut."""
        super().watch_scroll_y(old, new)
        children, field = list(self.children), self.screen.focused
        if field in children:
            first = children[children.index(field) - 1].virtual_region.y
            self.scroll_y = min(self.scroll_y, first)

    def on_descendant_focus(self) -> None:
        self.keys = (("Ctrl+S", "Send"), ("Enter", "Send" if self._is_at_end() else "Next"))

    def _is_at_end(self) -> bool:
        return self._focuses(f"field-{len(self._properties) - 1}")

    def enter(self) -> bool:
        if self._is_at_end():
            return True
        self.screen.focus_next()
        return False

    def read_draft(self) -> str:
        value = self._read_value(with_hidden=False)
        return json.dumps(value) if value not in ({}, self._defaults) else ""

    def _read_value(self, *, with_hidden: bool) -> dict[str, Any]:
        value: dict[str, Any] = {}
        for number, (name, field) in enumerate(self._properties.items()):
            widget = self.query_one(f"#field-{number}")
            if isinstance(widget, Choices):
                value |= {} if widget.one is None else {name: _list_values(field)[widget.one]}
            elif (
                isinstance(widget, Input)
                and widget.value
                and (with_hidden or not field.get("writeOnly"))
            ):
                value[name] = parse_field(widget.value, field)
        return value

    def read(self) -> Given:
        if not (value := self._read_value(with_hidden=True)):
            raise NotReady(_EMPTY_FORM)
        return Given(value)


def _list_values(field: dict[str, Any]) -> list[Any]:
    """Return the values of a field with few of them."""
    if isinstance(given := field.get("enum"), list):
        return given
    return [True, False] if field.get("type") == "boolean" else []


def _describe(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value if isinstance(value, str) else json.dumps(value)


class JsonFields(Fields):
    """The JSON of a form that is not flat."""

    def build(self) -> Iterable[Widget]:
        yield TextArea(self.begun or "{\n  \n}", id="words", compact=True)

    def read_draft(self) -> str:
        words = self.read_words()
        return words if words.strip("{} \n") else ""

    def read(self) -> Given:
        if not self.read_draft():
            raise NotReady(_EMPTY_FORM)
        try:
            return Given(json.loads(self.read_words()))
        except (ValueError, RecursionError) as error:
            raise NotReady(f"This is not JSON yet: {error}") from None


class NoFields(Fields):
    """A session: it is opened, not answered here."""

    keys = (("Enter", "gate continue"),)

    def build(self) -> Iterable[Widget]:
        yield Static("Press Enter to run gate continue in this terminal.", markup=False)

    def read(self) -> Given:
        raise NotReady("Press Enter to open the session, or Ctrl+T to answer.")


def build_fields(ask: Ask, draft: str, suggested: dict[str, Any] | None = None) -> Fields:
    """Return the fields that an ask needs; `suggested` as in `ApprovalFields`."""
    question = ask.question
    if question.kind == AskKind.SESSION:
        return NoFields(ask, "")
    if question.kind == AskKind.APPROVAL:
        return ApprovalFields(ask, draft, suggested)
    if question.kind == AskKind.CHOICE:
        return ChoiceFields(ask, draft)
    if question.kind == AskKind.FORM:
        return (FormFields if is_flat(question.schema or {}) else JsonFields)(ask, draft)
    return SecretFields(ask, "") if question.secret else TextFields(ask, draft)
