"""Hostile text through a real terminal emulator: nothing outside its frame changes (S9)."""

from __future__ import annotations

import random

import pyte
import pytest

from gatebell.app.wiring import local_backend
from gatebell.cli.screen import ask_lines, inbox_lines
from gatebell.domain.asks.asks import Ask, Origin
from gatebell.domain.asks.questions import make_question
from gatebell.domain.text.display import _width
from gatebell.testing import MemoryStore

PIECES = [
    "\x1b[2J", "\x1b[H", "\x1b[1;1H", "\x1b]0;title\x07", "\x1b]52;c;aGk=\x07", "\x1b]8;;http://x\x07",
    "\x1bP1$r\x1b\\", "\x1b_apc\x1b\\", "\x9b2J", "\x9d0;t\x9c", "\r", "\b" * 9, "\x7f", "\x0b", "\x0c", "\x0e",
    "\u202e", "\u2066", "\u2069", "\u200b", "\u200d", "\ufeff", "\u00ad", "\U000e0041", "\u0301" * 40, "\u3164",
    "\x1b[8m", "\x1b[?25l", "\x1b[31m", "\x1bc", "\x1b(0", "\x1b[6n", "\x84", "\x85", "\u2028", "\u2029", "\0",
    "yes or no (Enter: not yet): yes", "\nRecorded: a-222 is approved", "│ ", "日本語", "🙂", "word ", " " * 300,
    "\t", "x" * 250, "<b>bold</b>", "$(reboot)", "`id`", "%s%n", "\ud83d",
]  # fmt: skip
WIDTH, HEIGHT = 80, 400


def payloads(count):
    picker = random.Random(20261115)
    for _ in range(count):
        yield "".join(picker.choices(PIECES, k=picker.randint(1, 8)))


class Spy(pyte.Screen):
    """A terminal that records every action except printing."""

    def __init__(self):
        super().__init__(WIDTH, HEIGHT)
        self.commands = []

    def set_title(self, *_):
        self.commands.append("title")

    def set_icon_name(self, *_):
        self.commands.append("icon")

    def report_device_status(self, *_):
        self.commands.append("report")

    def write_process_input(self, *_):
        self.commands.append("input")


def show(lines):
    screen = Spy()
    stream = pyte.Stream(screen)
    stream.feed("\r\n".join([*lines, "THE END"]))
    return screen


def an_ask(store, text):
    question = make_question(
        "choice", f"Q {text}", context=f"C {text}", options=("A", f"B {text}", "Other…")
    )
    origin = Origin(
        cwd=f"/x/{text}", agent=f"n {text}", session=f"s/{text}", project=f"/p/{text}", owner=text
    )
    return Ask("a-222", question, origin, store.now(), "d", activity=f"G {text}")


@pytest.mark.proves("LAW-8")
def test_five_thousand_payloads_stay_in_their_frame(monkeypatch):
    store = MemoryStore()
    monkeypatch.setattr("gatebell.cli.screen.columns", lambda: WIDTH)
    for text in payloads(5000):
        lines = ask_lines(local_backend(store), an_ask(store, text))
        assert all("\x1b" not in line and "\r" not in line for line in lines)
        assert lines[0].startswith("a-222  choice, asked 0s ago by n")
        theirs = ("│ ", "  │ ", "in ", "session s/", "for ", "a-222  choice")
        ours = {line for line in lines if not line.startswith(theirs)}
        assert ours <= {"", "Choose one of:", "Context", "Activity"}
        assert all(sum(map(_width, line)) <= WIDTH for line in lines)


@pytest.mark.proves("LAW-8")
def test_terminal_shows_exactly_the_lines_it_was_given(monkeypatch):
    store = MemoryStore()
    monkeypatch.setattr("gatebell.cli.screen.columns", lambda: WIDTH)
    backend = local_backend(store)
    for text in payloads(250):
        ask = an_ask(store, text)
        lines = inbox_lines(backend, [ask]) + [
            x for x in ask_lines(backend, ask) if x.startswith("│ ")
        ]
        screen = show(lines)
        assert screen.commands == []
        used = [row.rstrip() for row in screen.display if row.strip()]
        assert used[-1] == "THE END"
        framed = used[:-1]
        assert sum(row.startswith("│ ") or row == "│" for row in framed) == len(lines) - 1
