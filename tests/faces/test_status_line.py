"""The line at the bottom of a terminal: a spinner while a command works."""

from __future__ import annotations

import io
import os
import pty
import threading
from contextlib import redirect_stderr

import pytest

from gatebell.cli import status_line
from gatebell.cli.status_line import StatusLine, show_progress


class Screen(io.StringIO):
    """A terminal that keeps what was drawn on it."""

    def __init__(self, terminal):
        super().__init__()
        self._terminal = terminal

    def isatty(self):
        return True

    def fileno(self):
        return self._terminal


@pytest.fixture
def screen(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    outer, inner = pty.openpty()
    yield Screen(inner)
    os.close(inner)
    os.close(outer)


@pytest.mark.proves("CLI-32")
def test_short_work_shows_nothing(screen):
    with redirect_stderr(screen), show_progress("Checking"):
        pass
    assert screen.getvalue() == ""


@pytest.mark.proves("CLI-32")
def test_long_work_shows_a_spinner_until_it_ends(screen, monkeypatch):
    monkeypatch.setattr(status_line, "_SHOWN_AFTER_SECONDS", 0)
    drawn = threading.Event()
    monkeypatch.setattr(status_line, "age", lambda _: drawn.set() or "2s")
    with redirect_stderr(screen), show_progress("Checking"):
        assert drawn.wait(20)
    seen = screen.getvalue()
    assert " Checking, 2s" in seen and seen.endswith("\r\x1b[2K")


@pytest.mark.proves("CLI-32")
@pytest.mark.parametrize("name", ["NO_COLOR", "TERM"])
def test_plain_outputs_get_no_spinner(screen, monkeypatch, name):
    monkeypatch.setenv(name, "dumb")
    pipe = io.StringIO()
    for out in (screen, pipe):
        StatusLine(out).put("Checking", is_busy=True)
    assert screen.getvalue() == pipe.getvalue() == ""


@pytest.mark.proves("CLI-32", "LAW-8")
def test_hostile_words_stay_in_the_line(screen):
    StatusLine(screen).put("a\nb\x1b[2J" + "x" * 500, is_busy=False)
    seen = screen.getvalue().removeprefix("\r\x1b[2K")
    assert seen.startswith("… a") and "\n" not in seen and "\x1b" not in seen and len(seen) < 100
