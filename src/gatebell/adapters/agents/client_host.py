"""The host of a call that a client of the MCP server asks about."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from gatebell.adapters.agents import session_logs
from gatebell.adapters.agents.activity import AgentActivity
from gatebell.domain.runs.session_log import has_result

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gatebell.domain.asks.asks import Origin


class ClientHost:
    """Keeps the asks of a call for the thread that may cancel it, and sees its cancellation.

    Either may come first. The other thread writes its reason to `cancelled` before it reads `asks`.
    A wait reads `cancelled` after it has added its ask.
    """

    def __init__(self, origin: Origin, asks: list[str], cancelled: Sequence[str]) -> None:
        self._origin = origin
        self._asks = asks
        self._cancelled = cancelled

    def describe_activity(self) -> str:
        return AgentActivity().summary(self._origin)

    def find_reason_to_stop(self) -> str:
        return self._cancelled[0] if self._cancelled else ""

    def has_result(self, call_id: str) -> bool:
        cli, _, session = self._origin.session.partition("/")
        log = session_logs.find(cli, session, os.environ)
        return has_result(session_logs.read(cli, log), call_id)

    def note_ask(self, ask_id: str) -> None:
        self._asks.append(ask_id)

    def note_wait(self) -> None:
        pass

    def find_call_id(self) -> str:
        return ""
