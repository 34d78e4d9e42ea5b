"""Send to a topic of an ntfy server, and take messages back there (from ntfy 2.16 on)."""

from __future__ import annotations

import json
from base64 import b64encode
from http import HTTPStatus
from typing import TYPE_CHECKING
from urllib.request import Request

from gatebell.adapters.system.short_requests import send_request
from gatebell.domain.enums import Priority
from gatebell.errors import DeliveryError

if TYPE_CHECKING:
    from gatebell.domain.notifications.messages import NotificationMessage
    from gatebell.domain.notifications.ntfy_topics import Topic
    from gatebell.ports.channels import Withdrawal

_LIMIT_SECONDS = 10.0
_PRIORITIES = {
    Priority.URGENT: 5, Priority.HIGH: 4, Priority.NORMAL: 3, Priority.LOW: 2, Priority.BACKLOG: 1
}  # fmt: skip
# Older servers know no such request.
_CANNOT = (HTTPStatus.NOT_FOUND, HTTPStatus.METHOD_NOT_ALLOWED)


class NtfyChannel:
    def __init__(self, topic: Topic, limit_seconds: float = _LIMIT_SECONDS) -> None:
        self._topic = topic
        self._limit_seconds = limit_seconds

    def send(self, message: NotificationMessage) -> None:
        # The sequence is the message's own id, so that it can be found without a receipt.
        told = {
            "topic": self._topic.name,
            "title": message.title,
            "message": message.body,
            "priority": _PRIORITIES[message.priority],
            "sequence_id": message.id,
        }
        if message.link:
            told["click"] = message.link
        # To the server, not the topic: only there the body is read as JSON.
        self._request("POST", "/", json.dumps(told).encode())

    def withdraw(self, withdrawal: Withdrawal) -> None:
        if withdrawal.rest:
            self.send(withdrawal.rest)
        else:
            path = f"/{self._topic.name}/{withdrawal.message_id}"
            self._request("DELETE", path, None, _CANNOT)

    def _request(
        self, method: str, path: str, body: bytes | None, ignored: tuple[int, ...] = ()
    ) -> None:
        headers = {"content-type": "application/json", "user-agent": "gatebell"}
        if self._topic.token:
            headers["authorization"] = f"Bearer {self._topic.token}"
        elif self._topic.user:
            login = f"{self._topic.user}:{self._topic.password}".encode()
            headers["authorization"] = f"Basic {b64encode(login).decode()}"
        request = Request(self._topic.server + path, body, headers, method=method)  # noqa: S310 - parse_topic makes http and https only
        status = send_request(request, self._limit_seconds, "the service")
        if not 200 <= status < 300 and status not in ignored:
            raise DeliveryError(f"the service answered {status}")
