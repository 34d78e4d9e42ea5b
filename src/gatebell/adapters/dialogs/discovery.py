"""Which programs can show dialogs here, best first, and why the others cannot."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from typing import TYPE_CHECKING

from gatebell.adapters.dialogs.dialog_process import ProgramDialog, Tool
from gatebell.adapters.dialogs.osascript import OSASCRIPT
from gatebell.adapters.dialogs.terminal import DIALOG
from gatebell.adapters.dialogs.tk_tool import TKINTER, WINDOW
from gatebell.adapters.dialogs.yad import YAD
from gatebell.adapters.dialogs.zenity import ZENITY
from gatebell.domain.text.display import inert_line
from gatebell.ports.dialogs import Found

if TYPE_CHECKING:
    from collections.abc import Mapping

TOOLS = (TKINTER, ZENITY, YAD, OSASCRIPT, DIALOG)
_BY_NAME = {tool.name: tool for tool in TOOLS}
_TRY_SECONDS = 10.0
_KNOCK_SECONDS = 1.0
_FIRST_PORT, _MAX_DIGITS = 6000, 5


def dialog(tool: str, environ: Mapping[str, str]) -> ProgramDialog:
    return ProgramDialog(_BY_NAME[tool], environ)


def first(environ: Mapping[str, str]) -> str:
    """The best one that works here; empty when none does."""
    for tool in TOOLS:
        if not problem(tool, environ):
            return tool.name
    return ""


def find_tools(environ: Mapping[str, str]) -> list[Found]:
    return [Found(tool.name, problem(tool, environ)) for tool in TOOLS]


def problem(tool: Tool, environ: Mapping[str, str]) -> str:
    """Why this one cannot be used here; empty when it can."""
    if not shutil.which(tool.program, path=environ.get("PATH")):
        return f"{tool.program} is not installed"
    if tool is OSASCRIPT:
        return ""
    if tool is DIALOG:
        return "" if os.isatty(0) and os.isatty(1) else "this is no terminal"
    if tool is TKINTER:
        return _find_tkinter_problem(environ)
    return _find_display_problem(environ)


def _find_display_problem(environ: Mapping[str, str]) -> str:
    """A terminal may remember a display that has gone."""
    display = environ.get("DISPLAY", "")
    # Of Wayland, and of a path (XQuartz), the program itself finds out.
    if environ.get("WAYLAND_DISPLAY") or display.startswith("/"):
        return ""
    host, _, screen = display.rpartition(":")
    number = screen.partition(".")[0]
    if not number.isdecimal() or len(number) > _MAX_DIGITS:
        return "there is no display: DISPLAY does not name one"
    try:
        _knock(host, int(number))
    except (OSError, OverflowError, UnicodeError) as error:
        return f"the display {inert_line(display, 40)} cannot be reached: {error}"
    return ""


def _knock(host: str, number: int) -> None:
    if host not in ("", "unix"):
        socket.create_connection((host, _FIRST_PORT + number), _KNOCK_SECONDS).close()
        return
    with socket.socket(socket.AF_UNIX) as one:
        one.settimeout(_KNOCK_SECONDS)
        path = f"/tmp/.X11-unix/X{number}"  # noqa: S108 - where every server has it
        # Where /tmp is somebody else's, Linux has it under an abstract name, too.
        try:
            one.connect(path)
        except FileNotFoundError:
            one.connect(f"\0{path}")


def _find_tkinter_problem(environ: Mapping[str, str]) -> str:
    try:
        tried = subprocess.run(
            [*WINDOW, "--try"],
            cwd=os.path.expanduser("~"),
            env=dict(environ),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_TRY_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return "no window came up in time"
    if not tried.returncode:
        return ""
    said = tried.stderr.decode("utf-8", "replace").strip().splitlines() or [""]
    if said[-1].startswith("ModuleNotFoundError") and "tkinter" in said[-1]:
        return "this Python has no tkinter (python3-tk)"
    return inert_line(said[-1], 200) or f"it ended with exit code {tried.returncode}"
