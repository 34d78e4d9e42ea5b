"""Everything that Apprise knows: ntfy, mail, Slack and a hundred others, each by its address."""

from __future__ import annotations

import logging
import re
from typing import TYPE_CHECKING, Any

from gatebell.domain.enums import Priority
from gatebell.errors import DeliveryError

if TYPE_CHECKING:
    from gatebell.domain.notifications.messages import NotificationMessage


class AppriseChannel:
    def __init__(self, url: str) -> None:
        self._url = url

    def send(self, message: NotificationMessage) -> None:
        try:
            # Imported here: it takes as long as everything else together, and is an extra.
            import apprise
        except ImportError:
            raise DeliveryError("this road needs Apprise: pip install 'gatebell[notify]'") from None
        # Its words may hold the address, and this process may keep a log.
        logging.getLogger("apprise").propagate = False
        # Its own limit ends nothing, and the thread it leaves behind keeps the process from ending.
        asset = apprise.AppriseAsset(async_mode=False, secure_logging=True, service_timeout=0)
        sender = apprise.Apprise(asset=asset)
        if not sender.add(self._url):
            raise DeliveryError(
                "Apprise cannot make out this address: compare it with Apprise's page about "
                "that service"
            )
        result = sender.notify(
            title=message.title,
            body=f"{message.body}\n{message.link}" if message.link else message.body,
            body_format=apprise.NotifyFormat.TEXT,
            notify_type="warning" if message.priority <= Priority.HIGH else "info",
        )
        if not result:
            raise DeliveryError(_problem(result))


def _problem(result: Any) -> str:
    """What Apprise complained of, without its words: they may hold the address."""
    said = " ".join(entry.message for entry in result.logs())
    if code := re.search(r"error=(\d{3})\b", said):
        return f"the service answered {code[1]}"
    if "onnection error" in said:
        return "the service cannot be reached, or did not answer in time"
    return "Apprise could not send it: check the address, and what the service says of it"
