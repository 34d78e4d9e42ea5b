"""Show notifications on the desktop of this machine: notify-send, or osascript on a Mac."""

from __future__ import annotations

import subprocess
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

from gatebell.domain.enums import Priority
from gatebell.errors import DeliveryError

if TYPE_CHECKING:
    from gatebell.domain.notifications.messages import NotificationMessage
    from gatebell.ports.channels import Withdrawal

_LIMIT_SECONDS = 10.0
_URGENCY = {Priority.URGENT: "critical", Priority.LOW: "low", Priority.BACKLOG: "low"}
_NOTIFICATIONS = "org.freedesktop.Notifications"
_CALL_BUS = [
    *("gdbus", "call", "--session", "--timeout", "5", "--dest", "org.freedesktop.DBus"),
    *("--object-path", "/org/freedesktop/DBus", "--method"),
]
_CALL = [
    *("gdbus", "call", "--session", "--timeout", "5", "--dest", _NOTIFICATIONS),
    *("--object-path", "/org/freedesktop/Notifications", "--method"),
]
_SCRIPT = "on run argv\ndisplay notification (item 2 of argv) with title (item 1 of argv)\nend run"


class DesktopChannel:
    def __init__(self, platform: str = sys.platform, limit_seconds: float = _LIMIT_SECONDS) -> None:
        self._platform = platform
        self._limit_seconds = limit_seconds

    def send(self, message: NotificationMessage) -> str:
        if self._platform == "darwin":
            self._run(_build_mac_command(message))
            return ""
        bus = self._find_bus()
        words = _build_linux_command(message)
        if bus:
            try:
                # Its number lets us close it. notify-send before 0.8 does not know the option.
                number = self._run([words[0], "--print-id", *words[1:]]).strip()
                return f"{bus} {number}" if number.isdecimal() else ""
            except _UnknownOptionError:
                pass
        self._run(words)
        return ""

    def withdraw(self, withdrawal: Withdrawal) -> None:
        """Close a notification when all its asks are settled; a change would pop up again."""
        bus, _, number = withdrawal.receipt.rpartition(" ")
        # The numbers begin again with each desktop session: never close one of another program.
        if withdrawal.rest or not number or bus != self._find_bus():
            return
        with suppress(DeliveryError):
            self._run([*_CALL, f"{_NOTIFICATIONS}.CloseNotification", number])

    def _find_bus(self) -> str:
        """Return the name of the notification service of this desktop session; empty without one."""
        try:
            bus = self._run([*_CALL_BUS, "org.freedesktop.DBus.GetId"])
            service = [*_CALL_BUS, "org.freedesktop.DBus.GetNameOwner", _NOTIFICATIONS]
            owner = self._run(service)
        except DeliveryError:
            return ""
        return f"{bus.strip()}{owner.strip()}".replace(" ", "")

    def _run(self, words: list[str]) -> str:
        """Run a program and return its output."""
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
        if b"Unknown option" in ended.stderr:
            raise _UnknownOptionError("notify-send does not know an option")
        if ended.returncode:
            raise DeliveryError(
                f"{words[0]} ended with exit code {ended.returncode}: is there a desktop here?"
            )
        return ended.stdout.decode(errors="replace")


class _UnknownOptionError(DeliveryError):
    """An older program does not know an option."""


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
