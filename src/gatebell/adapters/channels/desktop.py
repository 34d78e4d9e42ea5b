"""Show notifications on the desktop of this machine: notify-send, or osascript on a Mac."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

from gatebell.domain.enums import Priority
from gatebell.errors import DeliveryError

if TYPE_CHECKING:
    from gatebell.domain.notifications.messages import NotificationMessage

_LIMIT_SECONDS = 10.0
_URGENCY = {Priority.URGENT: "critical", Priority.LOW: "low", Priority.BACKLOG: "low"}
_SCRIPT = "on run argv\ndisplay notification (item 2 of argv) with title (item 1 of argv)\nend run"


class DesktopChannel:
    def __init__(self, platform: str = sys.platform, limit_seconds: float = _LIMIT_SECONDS) -> None:
        self._platform = platform
        self._limit_seconds = limit_seconds

    def send(self, message: NotificationMessage) -> None:
        words = (
            _build_mac_command(message)
            if self._platform == "darwin"
            else _build_linux_command(message)
        )
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
                f"{words[0]} is not installed: install it, or remove the desktop route"
            ) from None
        except subprocess.TimeoutExpired:
            raise DeliveryError(f"{words[0]} took too long") from None
        if ended.returncode:
            raise DeliveryError(
                f"{words[0]} ended with exit code {ended.returncode}: is there a desktop here?"
            )


def _build_body(message: NotificationMessage) -> str:
    return f"{message.body}\n{message.link}" if message.link else message.body


def _build_linux_command(message: NotificationMessage) -> list[str]:
    urgency = _URGENCY.get(message.priority, "normal")
    # The body is markup; the title is not.
    body = _build_body(message).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    options = ["--app-name=gatebell", f"--urgency={urgency}"]
    return ["notify-send", *options, "--", message.title, body]


def _build_mac_command(message: NotificationMessage) -> list[str]:
    return ["osascript", "-e", _SCRIPT, "--", message.title, _build_body(message)]
