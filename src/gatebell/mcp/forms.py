"""Forms that the host shows for us, and the way of its replies.

Up to revision 2025-11-25 the server sends a request to the host during a call. Since 2026-07-28
the call ends with the form, and the host calls again with the reply.
"""

from __future__ import annotations

import os
import threading
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from gatebell.mcp.decision_form import Form

_METHOD = "elicitation/create"
_NAME = "decision"


class Forms:
    """The open forms of one client."""

    def __init__(self, send: Callable[[dict[str, Any]], None]) -> None:
        self._send = send
        self._lock = threading.Lock()
        self._shown: dict[str, tuple[Any, SimpleQueue[Any]]] = {}
        self._kept: dict[str, Form] = {}

    def show(self, request: Any, form: Form) -> Any:
        """Wait for the host's reply to a form; None if the call was given up."""
        name, reply = os.urandom(8).hex(), SimpleQueue[Any]()
        with self._lock:
            self._shown[name] = (request, reply)
        self._send({"id": name, "method": _METHOD, "params": form.params})
        heard = reply.get()
        with self._lock:
            del self._shown[name]
        return heard

    def hear(self, message: dict[str, Any]) -> None:
        """Take a reply of the host; ignore one that no call waits for."""
        with self._lock:
            waits = self._shown.get(str(message.get("id")))
        if waits:
            waits[1].put(message.get("result"))

    def give_up(self, request: Any) -> None:
        """Forget the form of a cancelled call; a later reply is ignored."""
        with self._lock:
            waits = [reply for asked_by, reply in self._shown.values() if asked_by == request]
        for reply in waits:
            reply.put(None)

    def keep(self, form: Form) -> dict[str, Any]:
        """Build the end of a call that needs a form answered before the next call."""
        state = os.urandom(16).hex()
        with self._lock:
            self._kept[state] = form
        asked = {_NAME: {"method": _METHOD, "params": form.params}}
        return {"resultType": "input_required", "inputRequests": asked, "requestState": state}

    def take(self, state: Any, replies: Any) -> tuple[Form, Any] | None:
        """Return, once, the form that a call refers to and the reply to it."""
        with self._lock:
            form = self._kept.pop(state, None) if isinstance(state, str) else None
        return form and (form, replies.get(_NAME) if isinstance(replies, dict) else None)
