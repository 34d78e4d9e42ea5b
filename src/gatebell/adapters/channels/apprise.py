"""Send through Apprise: ntfy, mail, Slack and a hundred others, each by its address."""

from __future__ import annotations

import logging
import re
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from gatebell.domain.enums import Priority
from gatebell.errors import DeliveryError

if TYPE_CHECKING:
    from gatebell.domain.notifications.messages import NotificationMessage


class AppriseChannel:
    def __init__(self, url: str) -> None:
        self._url = url

    def send(self, message: NotificationMessage) -> None:
        try:
            # Imported here: it loads as slowly as everything else together, and is an extra.
            import apprise
        except ImportError:
            raise DeliveryError(
                "this route needs Apprise: pip install 'gatebell[notify]'"
            ) from None
        # Its log messages may contain the address, and this process may keep a log.
        logging.getLogger("apprise").propagate = False
        # Its own time limit leaves a thread behind that keeps this process from ending.
        asset = apprise.AppriseAsset(async_mode=False, secure_logging=True, service_timeout=0)
        sender = apprise.Apprise(asset=asset)
        if not sender.add(_add_click(self._url, message.link)):
            raise DeliveryError(
                "Apprise does not understand this address: compare it with Apprise's page about "
                "that service"
            )
        result = sender.notify(
            title=message.title,
            body=f"{message.body}\n{message.link}" if message.link else message.body,
            body_format=apprise.NotifyFormat.TEXT,
            notify_type="warning" if message.priority <= Priority.HIGH else "info",
        )
        if not result:
            raise DeliveryError(_describe_problem(result))


def _add_click(url: str, link: str) -> str:
    """Let a tap on a notification of ntfy open the ask, unless the address names another page."""
    if not link or not re.match(r"ntfys?://", url, re.IGNORECASE) or "click=" in url:
        return url
    return f"{url}{'&' if '?' in url else '?'}click={quote(link, safe='')}"


def _describe_problem(result: Any) -> str:
    """Describe Apprise's error without its own words: they may contain the address."""
    said = " ".join(entry.message for entry in result.logs())
    if code := re.search(r"error=(\d{3})\b", said):
        return f"the service answered {code[1]}"
    if "onnection error" in said:
        return "the service cannot be reached, or did not answer in time"
    return "Apprise could not send the message: check the address, and the service's own log"
