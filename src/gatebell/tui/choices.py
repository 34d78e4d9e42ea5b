"""Options to choose from. The marked option is the one that is sent, and at first none is."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual.message import Message

from gatebell.domain.enums import Decision
from gatebell.domain.text.display import frame
from gatebell.tui.row_list import LineView

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.binding import BindingType
    from textual.events import Click

_MAX_LINES = 12
_MARKS = {False: ("( ) ", "(•) "), True: ("[ ] ", "[x] ")}


class Choices(LineView):
    """Options with numbers; arrows and numbers mark one, or in a list of several, switch it."""

    can_focus = True
    BINDINGS: ClassVar[list[BindingType]] = [
        ("up,k", "step(-1)", "Up"),
        ("down,j", "step(1)", "Down"),
        ("space", "mark", "Mark"),
        *((str(number), f"number({number})", "Option") for number in range(1, 10)),
        ("enter", "screen.entered", "Enter"),
    ]

    class Marked(Message):
        """Another option is marked."""

    def __init__(
        self,
        options: Sequence[tuple[str, str]],
        *,
        several: bool = False,
        name: str = "options",
        marked: int | None = None,
    ) -> None:
        super().__init__(id=name)
        self._options, self._several = options, several
        self.pointer = marked or 0
        self.marked = set() if marked is None else {marked}
        # The option of each line, and its text.
        self._lines: list[tuple[int, str]] = []
        self._drawn_width = 0

    def label(self, index: int) -> str:
        """Return the key of an option, as it is shown."""
        return f"{index + 1}. "

    @property
    def one(self) -> int | None:
        """The only marked option."""
        return next(iter(self.marked)) if len(self.marked) == 1 else None

    def mark(self, index: int) -> None:
        """Mark an option; in a list of several, switch its mark."""
        if not 0 <= index < len(self._options):
            return
        self.pointer = index
        self.marked = self.marked ^ {index} if self._several else {index}
        self._show_pointer()
        self.post_message(self.Marked())
        self.refresh()

    def on_resize(self) -> None:
        self._wrap_lines()

    def on_mount(self) -> None:
        self.styles.height = min(_MAX_LINES, max(2, len(self._options)))

    def _wrap_lines(self) -> None:
        width = self.shown_width
        if width == self._drawn_width or width < 8:
            return
        self._drawn_width, self._lines = width, []
        for index, (name, meaning) in enumerate(self._options):
            first, *more = frame(self.label(index) + name, width - 6, bar="")
            self._lines += [(index, first), *((index, f"   {line}") for line in more)]
            lines = frame(meaning, width - 9, bar="") if meaning else []
            self._lines += [(index, f"\x00{line}") for line in lines]
        self.styles.height = min(_MAX_LINES, len(self._lines))
        self.set_height(len(self._lines))

    def draw_line(self, y: int, width: int) -> Text:
        at = self.scroll_offset.y + y
        if at >= len(self._lines):
            return Text()
        index, words = self._lines[at]
        is_first = at == 0 or self._lines[at - 1][0] != index
        is_marked = index in self.marked
        pointer = "> " if is_first and index == self.pointer and self._shows_pointer else "  "
        mark = _MARKS[self._several][is_marked] if is_first else "    "
        if words.startswith("\x00"):
            line = Text(f"      {words.replace(chr(0), '   ')}", "dim")
        else:
            line = Text(f"{pointer}{mark}{words}", "bold" if is_marked else "")
        if is_marked:
            line.pad_right(max(0, width - line.cell_len))
            line.stylize("reverse")
        return line

    @property
    def _shows_pointer(self) -> bool:
        return self.has_focus

    def _show_pointer(self) -> None:
        at = next((at for at, (index, _) in enumerate(self._lines) if index == self.pointer), 0)
        first, height = self.scroll_offset.y, max(1, self.shown_height)
        if not first <= at < first + height:
            self.scroll_to(y=max(0, at - height + 1), animate=False, immediate=True, force=True)

    def action_step(self, step: int) -> None:
        index = min(max(0, self.pointer + step), len(self._options) - 1)
        if self._several:
            self.pointer = index
            self._show_pointer()
            self.refresh()
        else:
            self.mark(index)

    def action_mark(self) -> None:
        self.mark(self.pointer)

    def action_number(self, number: int) -> None:
        self.mark(number - 1)

    def on_click(self, event: Click) -> None:
        offset = event.get_content_offset(self)
        at = -1 if offset is None else self.scroll_offset.y + offset.y
        if 0 <= at < len(self._lines):
            self.mark(self._lines[at][0])


class YesOrNo(Choices):
    """A decision: y or n marks it, and Enter sends it. No other key decides.

    `offer`: what A allows for good, where that is offered.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        (key, f"decide('{key}')", word)
        for key, word in (("y", "Yes"), ("n", "No"), ("A", "Always"))
    ]

    def __init__(self, offer: str = "") -> None:
        options = [("Yes, approve it", ""), ("No, reject it", "")]
        super().__init__([*options, *([(offer, "")] if offer else [])], name="decision")

    def label(self, index: int) -> str:
        return "ynA"[index] + "  "

    @property
    def decision(self) -> Decision | None:
        if self.one is None:
            return None
        return Decision.REJECTED if self.one == 1 else Decision.APPROVED

    @property
    def is_always(self) -> bool:
        return self.one == 2

    @property
    def _shows_pointer(self) -> bool:
        return False

    def action_decide(self, key: str) -> None:
        self.mark("ynA".index(key))

    def action_step(self, step: int) -> None:
        """Do nothing: an arrow key does not decide."""

    def action_mark(self) -> None:
        """Do nothing: the space bar does not decide."""

    def action_number(self, number: int) -> None:
        """Do nothing: a number does not decide."""
