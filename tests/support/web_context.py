"""A separate screen (Xvfb) and a controller (xdotool), for tests of dialogs."""

from __future__ import annotations

import ctypes
import importlib.util
import os
import subprocess
import threading
from contextlib import contextmanager

import pytest

from gatebell.adapters.dialogs import discovery
from tests.support.programs import find_program
from tests.support.waiting import eventually

_DEADLINE_SECONDS = 15.0
_STILL_SECONDS = 0.65


class WebContext:
    """A screen that shows dialogs, and acts on them as a person does."""

    def __init__(self, home, display):
        keep = {k: v for k, v in os.environ.items() if k in ("PATH", "LANG", "PYTHONPATH")}
        self.environ = keep | {"HOME": str(home), "DISPLAY": display, "LC_ALL": "C.UTF-8"}
        self.environ["NO_AT_BRIDGE"] = "1"
        self.window = ""

    def ask(self, showing, tool="tkinter", **environ):
        return Asked(self, discovery.build_dialog(tool, self.environ | environ), showing)

    def hands(self, *words):
        return subprocess.run(
            ["xdotool", *words], env=self.environ, capture_output=True, text=True, check=False
        )  # fmt: skip

    def windows(self):
        return self.hands("search", "--onlyvisible", "--name", "^gate: ").stdout.split()

    def size(self):
        shell = self.hands("getwindowgeometry", "--shell", self.window).stdout
        found = dict(line.split("=") for line in shell.split())
        return tuple(int(found[key]) for key in ("X", "Y", "WIDTH", "HEIGHT"))

    def appear(self):
        """Wait for the window, and give it the keyboard focus."""
        self.window = eventually(self.windows, what="a window")[-1]
        self.hands("windowfocus", "--sync", self.window)
        return self

    def be_still(self):
        # The window waits for a pause of the input, which is not visible.
        threading.Event().wait(_STILL_SECONDS)
        return self

    def keys(self, *names):
        self.hands("key", "--delay", "30", *names)

    def type(self, text):
        self.hands("type", "--delay", "15", text)

    @contextmanager
    def busy(self, *words):
        """Simulate input that started before the window and continues for a while."""
        process = subprocess.Popen(["xdotool", *words], env=self.environ)
        yield
        process.wait(_DEADLINE_SECONDS)

    def click(self, x, y):
        self.point(x, y)
        self.hands("click", "1")

    def point(self, x, y):
        """Point at a place in the window; negative numbers count from the right or the bottom."""
        left, top, width, height = self.size()
        x, y = left + x + (width if x < 0 else 0), top + y + (height if y < 0 else 0)
        self.hands("mousemove", str(x), str(y))

    def close_window(self):
        """Close the window as a window manager does."""
        _send_delete(self.environ["DISPLAY"].encode(), int(self.window))


class Asked:
    """A shown dialog."""

    def __init__(self, desk, dialog, showing):
        self.desk, self.dialog = desk, dialog
        self._replies = []
        self._thread = threading.Thread(target=self._ask, args=(showing,), daemon=True)
        self._thread.start()

    def _ask(self, showing):
        self._replies.append(self.dialog.ask(showing))

    @property
    def is_open(self):
        return not self._replies

    @property
    def pid(self):
        return self.dialog._process.pid

    def reply(self):
        self._thread.join(_DEADLINE_SECONDS)
        assert self._replies, "the dialog is still open"
        return self._replies[0]


class _ClientMessage(ctypes.Structure):
    _fields_ = (
        ("type", ctypes.c_int),
        ("serial", ctypes.c_ulong),
        ("sent", ctypes.c_int),
        ("display", ctypes.c_void_p),
        ("window", ctypes.c_ulong),
        ("message", ctypes.c_ulong),
        ("format", ctypes.c_int),
        ("data", ctypes.c_long * 5),
        ("rest", ctypes.c_long * 24),
    )


def _send_delete(display, window):
    # It needs no window manager, and xdotool has no command for it.
    x11 = ctypes.CDLL("libX11.so.6")
    pointer, number, text = ctypes.c_void_p, ctypes.c_long, ctypes.c_char_p
    x11.XOpenDisplay.restype, x11.XInternAtom.restype = pointer, ctypes.c_ulong
    x11.XInternAtom.argtypes = [pointer, text, ctypes.c_int]
    x11.XSendEvent.argtypes = [pointer, ctypes.c_ulong, ctypes.c_int, number, pointer]
    x11.XCloseDisplay.argtypes = [pointer]
    connection = x11.XOpenDisplay(display)
    message = _ClientMessage(type=33, window=window, format=32)
    message.message = x11.XInternAtom(connection, b"WM_PROTOCOLS", 0)
    message.data[0] = x11.XInternAtom(connection, b"WM_DELETE_WINDOW", 0)
    x11.XSendEvent(connection, window, 0, 0, ctypes.byref(message))
    x11.XCloseDisplay(connection)


@pytest.fixture(scope="module")
def display():
    """Return the name of a screen that only this test uses."""
    for program in ("Xvfb", "xdotool"):
        find_program(program, "no window was tried")
    if importlib.util.find_spec("_tkinter") is None:
        pytest.skip("tkinter is not installed: no window was tried")
    reading, writing = os.pipe()
    server = subprocess.Popen(
        ["Xvfb", "-displayfd", str(writing), "-noreset", "-screen", "0", "1280x800x24",
         "-nolisten", "tcp"],
        pass_fds=[writing], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    os.close(writing)
    with os.fdopen(reading) as told:
        number = told.readline().strip()
    yield f":{number}"
    server.terminate()
    server.wait()


@pytest.fixture
def desk(display, tmp_path):
    made = WebContext(tmp_path, display)
    yield made
    assert made.windows() == [], "a window was left on the screen"
