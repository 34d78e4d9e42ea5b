"""The window of one ask: a process that reads one line of JSON and prints the reply as one.

It accepts no answer until keyboard and mouse were still for half a second. A person who was typing
into another window when it opened has answered nothing.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
import tkinter as tk
from functools import partial
from tkinter import font, ttk
from typing import Any

from gatebell.adapters.dialogs import texts
from gatebell.adapters.dialogs.replies import CLOSED, CLOSED_BY_US, YES_OR_NO
from gatebell.domain.enums import AskKind
from gatebell.domain.text.display import inert
from gatebell.ports.dialogs import LATER, NOTHING, TERMINAL, VALUE, Showing

_STILL_MILLISECONDS = 500
_TICK_MILLISECONDS = 100
_MAX_CHARACTERS = 20_000
_WIDTH, _COLUMNS, _PROMPT_COLUMNS = 760, 92, 60
_MAX_BUTTONS, _BUTTON_CHARACTERS = 4, 48
_PROMPT_LINES, _CONTEXT_LINES, _ACTIVITY_LINES, _OPTION_LINES = 12, 6, 8, 7
_ANSWER_LINES = 3
_PAD = 12


class Window:
    """One ask on the screen, until the person is done with it."""

    def __init__(self, root: tk.Tk, nonce: str, showing: Showing) -> None:
        self._root, self._nonce, self._showing = root, nonce, showing
        self._reply: dict[str, Any] | None = None
        self._field: tk.Text | None = None
        self._begun = ""
        self._choice = tk.IntVar(root, 0)
        self._answers: list[ttk.Button] = []
        self._others: list[ttk.Button] = []
        self._is_ready = False
        self._still: str | None = None
        self._closes_at = (
            None if showing.left_seconds is None else time.monotonic() + showing.left_seconds
        )
        root.title(texts.build_title(showing))
        root.protocol("WM_DELETE_WINDOW", lambda: self._end(NOTHING, CLOSED))
        self._fill()
        self._place()

    def show(self) -> dict[str, Any]:
        """Wait for the person, and return the reply."""
        root = self._root
        root.bind("<KeyPress>", self._on_press)
        root.bind("<ButtonPress>", self._on_press)
        root.bind("<Escape>", self._escape)
        root.deiconify()
        root.lift()
        root.attributes("-topmost", True)
        root.wait_visibility()
        self._prompt.focus_set()
        self._wait_for_stillness()
        signal.signal(signal.SIGTERM, lambda *_: self._end(NOTHING, CLOSED_BY_US))
        self._tick()
        root.createfilehandler(
            sys.stdin, tk.READABLE, lambda *_: self._end(NOTHING, "the asker is gone")
        )
        root.mainloop()
        return self._reply or {}

    def _fill(self) -> None:
        showing, frame = self._showing, ttk.Frame(self._root, padding=_PAD)
        frame.pack(fill="both", expand=True)
        # Pack from below: when there is too little room, the question scrolls.
        row = self._bottom(frame)
        answer = self._answer_part(frame)
        ttk.Label(frame, text=texts.build_heading(showing), wraplength=_WIDTH - 2 * _PAD).pack(
            fill="x", pady=(0, 6)
        )
        prompt = _cut(showing.prompt)
        self._prompt = self._add_scrolled_text(
            frame, prompt, _PROMPT_LINES, _PROMPT_COLUMNS, grows=True
        )
        # People must see the question first. Tk keeps no reference to the font.
        self._prompt["font"] = self._prompt_font = _build_large_font(self._root)
        if showing.context:
            ttk.Label(frame, text="Context").pack(anchor="w", pady=(8, 2))
            self._add_scrolled_text(frame, _cut(showing.context), _CONTEXT_LINES)
        if showing.activity:
            self._activity(frame)
        # Tab follows the stacking order of widgets: from the top to the answers, the first option
        # first, then the other buttons.
        for part in (answer, row, *reversed(self._answers), *self._others):
            if part:
                part.lift()

    def _activity(self, frame: ttk.Frame) -> None:
        holder = ttk.Frame(frame)
        button = ttk.Button(frame, text="▸ Activity")

        def turn() -> None:
            if holder.winfo_ismapped():
                holder.pack_forget()
            else:
                holder.pack(fill="both", after=button)
            button["text"] = ("▾" if holder.winfo_manager() else "▸") + " Activity"
            self._place()

        button["command"] = turn
        button.pack(anchor="w", pady=(8, 2))
        self._add_scrolled_text(holder, _cut(self._showing.activity), _ACTIVITY_LINES)

    def _add_scrolled_text(
        self,
        parent: ttk.Frame,
        text: str,
        most_lines: int,
        columns: int = _COLUMNS,
        *,
        grows: bool = False,
    ) -> tk.Text:
        holder = ttk.Frame(parent)
        lines = sum(1 + len(line) // columns for line in text.split("\n"))
        shown = tk.Text(
            holder, wrap="word", width=columns, height=min(most_lines, lines), relief="flat",
            padx=8, pady=6, font="TkTextFont", takefocus=True,
        )  # fmt: skip
        shown.insert("1.0", text)
        shown["state"] = "disabled"
        _add_bar(holder, shown)
        holder.pack(fill="both", expand=grows)
        return shown

    def _answer_part(self, frame: ttk.Frame) -> ttk.Frame | None:
        if self._showing.kind != AskKind.CHOICE:
            return self._typed_part(frame)
        return None if self._is_short() else self._listed_part(frame)

    def _typed_part(self, frame: ttk.Frame) -> ttk.Frame:
        holder = ttk.Frame(frame)
        lines = 1 if self._showing.kind == AskKind.APPROVAL else _ANSWER_LINES
        field = self._field = tk.Text(
            holder, height=lines, width=_COLUMNS, wrap="word", padx=8, pady=6, undo=True,
            font="TkTextFont",
        )  # fmt: skip
        if self._showing.kind == AskKind.TEXT:
            field.insert("1.0", self._showing.typed)
            ttk.Label(frame, text="Enter answers, Shift+Enter begins a new line").pack(
                side="bottom", anchor="e"
            )
        self._begun = self._text()
        _add_bar(holder, field)
        holder.pack(side="bottom", fill="x")
        ttk.Label(frame, text=texts.choose_hint(self._showing)).pack(
            side="bottom", anchor="w", pady=(8, 2)
        )
        field["state"] = "disabled"
        for key in ("<Return>", "<KP_Enter>"):
            field.bind(key, self._on_enter)
        field.bind("<Tab>", _focus_next_widget)
        field.bind("<<Modified>>", lambda _: self._enable())
        return holder

    def _listed_part(self, frame: ttk.Frame) -> ttk.Frame:
        holder = ttk.Frame(frame)
        # Inside a text widget, so that it scrolls.
        listed = tk.Text(
            holder, height=min(_OPTION_LINES, len(self._showing.options)) * 2, cursor="arrow",
            width=_COLUMNS, takefocus=False,
        )  # fmt: skip
        for number, option in enumerate(self._showing.options, 1):
            one = tk.Radiobutton(
                listed, text=_cut(option), variable=self._choice, value=number, justify="left",
                wraplength=_WIDTH - 90, anchor="w", command=self._enable, bg=listed["bg"],
                activebackground=listed["bg"], highlightbackground=listed["bg"], font="TkTextFont",
            )  # fmt: skip
            listed.window_create("end", window=one)
            listed.insert("end", "\n")
        listed["state"] = "disabled"
        _add_bar(holder, listed)
        holder.pack(side="bottom", fill="x", pady=(8, 0))
        return holder

    def _bottom(self, frame: ttk.Frame) -> ttk.Frame:
        row = ttk.Frame(frame)
        row.pack(side="bottom", fill="x", pady=(_PAD, 0))
        self._countdown = ttk.Label(row)
        self._countdown.pack(side="left")
        if self._is_short():
            for number in range(len(self._showing.options), 0, -1):
                label = inert(self._showing.options[number - 1])
                self._answer_button(row, label, partial(self._choose, number))
        else:
            self._answer_button(row, texts.ANSWER, self._answer)
        ttk.Separator(row, orient="vertical").pack(side="right", fill="y", padx=8)
        for label, outcome in ((texts.LATER_LABEL, LATER), (texts.TERMINAL_LABEL, TERMINAL)):
            other = ttk.Button(row, text=label, command=partial(self._end, outcome))
            other.pack(side="right", padx=2)
            self._others.append(other)
        return row

    def _answer_button(self, row: ttk.Frame, label: str, command: Any) -> None:
        button = ttk.Button(row, text=label, command=command)
        button.pack(side="right", padx=2)
        self._answers.append(button)

    def _is_short(self) -> bool:
        """Return whether the options fit on buttons."""
        options = self._showing.options
        length = sum(len(inert(one)) for one in options)
        one_line = not any("\n" in one for one in options)
        is_apart = not any(map(texts.is_like_ours, options))
        few = 0 < len(options) <= _MAX_BUTTONS and length <= _BUTTON_CHARACTERS
        return few and one_line and is_apart

    def _place(self) -> None:
        root = self._root
        root.update_idletasks()
        width = max(_WIDTH, root.winfo_reqwidth())
        height = min(root.winfo_reqheight(), int(root.winfo_screenheight() * 0.85))
        left = max(0, (root.winfo_screenwidth() - width) // 2)
        top = max(0, (root.winfo_screenheight() - height) // 3)
        root.geometry(f"{width}x{height}+{left}+{top}")
        root.minsize(480, 240)

    def _wait_for_stillness(self) -> None:
        if self._still:
            self._root.after_cancel(self._still)
        self._still = self._root.after(_STILL_MILLISECONDS, self._get_ready)
        for button in (*self._answers, *self._others):
            button.state(["disabled"])

    def _on_press(self, _: Any) -> None:
        if not self._is_ready:
            self._wait_for_stillness()

    def _get_ready(self) -> None:
        self._is_ready = True
        # It has been seen, so other windows may cover it again.
        self._root.attributes("-topmost", False)
        for button in self._others:
            button.state(["!disabled"])
        if self._field:
            self._field["state"] = "normal"
            self._field.focus_set()
        self._enable()

    def _enable(self) -> None:
        """Enable the answer buttons once there is an answer."""
        if self._field:
            self._field.edit_modified(False)
        for button in self._answers:
            button.state(["!disabled" if self._is_answerable() else "disabled"])

    def _is_answerable(self) -> bool:
        showing = self._showing
        if not self._is_ready:
            return False
        if showing.kind == AskKind.CHOICE:
            return self._is_short() or self._choice.get() > 0
        if showing.kind == AskKind.APPROVAL:
            shown_whole = len(showing.prompt + showing.context) <= _MAX_CHARACTERS
            return shown_whole and self._text().strip().lower() in YES_OR_NO
        return bool(self._text().strip())

    def _on_enter(self, event: tk.Event[tk.Text]) -> str | None:
        if isinstance(event.state, int) and event.state & 1:
            return None
        # A restored draft was not typed into this window.
        if self._text() != self._begun:
            self._answer()
        return "break"

    def _text(self) -> str:
        return self._field.get("1.0", "end-1c").strip("\n") if self._field else ""

    def _choose(self, number: int) -> None:
        self._choice.set(number)
        self._answer()

    def _answer(self) -> None:
        if self._is_answerable():
            self._end(VALUE)

    def _escape(self, event: Any) -> None:
        if self._is_ready:
            self._end(NOTHING, CLOSED)
        else:
            self._on_press(event)

    def _tick(self) -> None:
        """Count down; Python handles signals only between these calls."""
        self._root.after(_TICK_MILLISECONDS, self._tick)
        if self._closes_at is None:
            return
        left = self._closes_at - time.monotonic()
        self._countdown["text"] = texts.format_time_left(left)
        if left <= 0:
            self._end(NOTHING, "the time is over")

    def _end(self, outcome: str, why: str = "") -> None:
        if self._reply is None:
            self._reply = {
                "nonce": self._nonce,
                "outcome": outcome,
                "number": self._choice.get(),
                "typed": self._text(),
                "why": why,
            }
            self._root.quit()


def _build_large_font(root: tk.Tk) -> font.Font:
    large = font.nametofont("TkTextFont", root).copy()
    large.configure(size=large.cget("size") * 4 // 3, weight="bold")
    return large


def _add_bar(holder: ttk.Frame, text: tk.Text) -> None:
    bar = ttk.Scrollbar(holder, command=text.yview)

    def move_bar(first: str, last: str) -> None:
        # Show the bar only if there is something to scroll.
        if float(first) <= 0 and float(last) >= 1:
            bar.pack_forget()
        else:
            bar.pack(side="right", fill="y", before=text)
        bar.set(first, last)

    text["yscrollcommand"] = move_bar
    text.pack(side="left", fill="both", expand=True)


def _focus_next_widget(event: tk.Event[tk.Text]) -> str:
    following = event.widget.tk_focusNext()
    if following:
        following.focus_set()
    return "break"


def _cut(text: str) -> str:
    if len(text) <= _MAX_CHARACTERS:
        return inert(text)
    more = len(text) - _MAX_CHARACTERS
    return f"{inert(text[:_MAX_CHARACTERS])}\n… {more} more characters: {texts.TERMINAL_LABEL}"


def main() -> int:
    """Show the ask from standard input; with `--try`, only check whether a window can open."""
    try:
        root = tk.Tk(className="gate")
    except tk.TclError as error:
        print(error, file=sys.stderr)
        return 1
    root.withdraw()
    if sys.argv[1:] == ["--try"]:
        return 0
    if "clam" in ttk.Style(root).theme_names() and root.tk.call("tk", "windowingsystem") == "x11":
        ttk.Style(root).theme_use("clam")
    line = b""
    # Read no byte after the line: later input means that the asker is gone.
    while not line.endswith(b"\n"):
        if not (part := os.read(0, 65536)):
            return 1
        line += part
    told = json.loads(line)
    nonce = told.pop("nonce")
    told["options"], told["kind"] = tuple(told["options"]), AskKind(told["kind"])
    print(json.dumps(Window(root, nonce, Showing(**told)).show()), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
