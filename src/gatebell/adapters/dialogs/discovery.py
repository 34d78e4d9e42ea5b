"""Find the programs that can show dialogs here, best first, and why others cannot."""

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


def build_dialog(tool: str, environ: Mapping[str, str]) -> ProgramDialog:
    return ProgramDialog(_BY_NAME[tool], environ)


def find_first(environ: Mapping[str, str]) -> str:
    """Return the best program that works here, or ""."""
    for tool in TOOLS:
        if not find_problem(tool, environ):
            return tool.name
    return ""


def find_tools(environ: Mapping[str, str]) -> list[Found]:
    return [Found(tool.name, find_problem(tool, environ)) for tool in TOOLS]


def find_problem(tool: Tool, environ: Mapping[str, str]) -> str:
    """Return why this program cannot be used here, or ""."""
    if not shutil.which(tool.program, path=environ.get("PATH")):
        return f"{tool.program} is not installed"
    if tool is OSASCRIPT:
        return ""
    if tool is DIALOG:
        return "" if os.isatty(0) and os.isatty(1) else "this is not a terminal"
    if tool is TKINTER:
        return _find_tkinter_problem(environ)
    return _find_display_problem(environ)


def _find_display_problem(environ: Mapping[str, str]) -> str:
    """Return why the display cannot be used, or ""; DISPLAY may name a closed one."""
    display = environ.get("DISPLAY", "")
    # For Wayland, and for a path (XQuartz), the program itself checks.
    if environ.get("WAYLAND_DISPLAY") or display.startswith("/"):
        return ""
    host, _, screen = display.rpartition(":")
    number = screen.partition(".")[0]
    if not number.isdecimal() or len(number) > _MAX_DIGITS:
        return "there is no display: DISPLAY is not set to one"
    try:
        _try_display(host, int(number))
    except (OSError, OverflowError, UnicodeError) as error:
        return f"the display {inert_line(display, 40)} cannot be reached: {error}"
    return ""


def _try_display(host: str, number: int) -> None:
    if host not in ("", "unix"):
        socket.create_connection((host, _FIRST_PORT + number), _KNOCK_SECONDS).close()
        return
    with socket.socket(socket.AF_UNIX) as one:
        one.settimeout(_KNOCK_SECONDS)
        path = f"/tmp/.X11-unix/X{number}"  # noqa: S108 - the fixed path of X servers
        # With a private /tmp, Linux also offers the socket under an abstract name.
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
        return "no window opened in time"
    if not tried.returncode:
        return ""
    said = tried.stderr.decode("utf-8", "replace").strip().splitlines() or [""]
    if said[-1].startswith("ModuleNotFoundError") and "tkinter" in said[-1]:
        return "this Python has no tkinter (python3-tk)"
    return inert_line(said[-1], 200) or f"it ended with exit code {tried.returncode}"
