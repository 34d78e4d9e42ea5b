"""The desktop of whoever sits at this machine: notify-send, or osascript on a Mac."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

from gatebell.domain.enums import Priority
from gatebell.errors import DeliveryError

if TYPE_CHECKING:
    from gatebell.domain.notifications.messages import Letter

_LIMIT_SECONDS = 10.0
_URGENCY = {Priority.URGENT: "critical", Priority.LOW: "low", Priority.BACKLOG: "low"}
_SCRIPT = "on run argv\ndisplay notification (item 2 of argv) with title (item 1 of argv)\nend run"


class DesktopChannel:
    def __init__(self, platform: str = sys.platform, limit_seconds: float = _LIMIT_SECONDS) -> None:
        self._platform = platform
        self._limit_seconds = limit_seconds

    def send(self, letter: Letter) -> None:
        words = _mac(letter) if self._platform == "darwin" else _linux(letter)
        try:
            ended = subprocess.run(
                words,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=self._limit_seconds,
                check=False,
            )
        except OSError:
            raise DeliveryError(
                f"{words[0]} is not installed, so there is no desktop to tell"
            ) from None
        except subprocess.TimeoutExpired:
            raise DeliveryError(f"{words[0]} took too long") from None
        if ended.returncode:
            raise DeliveryError(
                f"{words[0]} ended with exit code {ended.returncode}: is there a desktop here?"
            )


def _body(letter: Letter) -> str:
    return f"{letter.body}\n{letter.link}" if letter.link else letter.body


def _linux(letter: Letter) -> list[str]:
    urgency = _URGENCY.get(letter.priority, "normal")
    # The body is markup, the title is not.
    body = _body(letter).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    options = ["--app-name=gatebell", f"--urgency={urgency}"]
    return ["notify-send", *options, "--", letter.title, body]


def _mac(letter: Letter) -> list[str]:
    return ["osascript", "-e", _SCRIPT, "--", letter.title, _body(letter)]
