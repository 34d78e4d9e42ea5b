"""Run Python functions in place of an agent's program."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from gatebell.domain.enums import SignalStatus
from gatebell.errors import StoreError, UsageError
from gatebell.ports.agents import Ended
from gatebell.services.runs.error_lines import describe

if TYPE_CHECKING:
    from gatebell.ports.agents import AgentFunction, Events, Order


class PythonDriver:
    """Calls a function with the prompt; it returns a signal, words or a value."""

    takes_edits = True
    asks_about_edits = False

    def __init__(self, work: AgentFunction) -> None:
        self._work = work

    def new_session(self) -> str:
        return ""

    def was_turn_sent(self, session: str, turn_id: str) -> bool:
        """Return False: a function has no log, so an interrupted one is called again."""
        return False

    def knows(self, session: str) -> bool:
        """Return True: a function has no session that could be lost."""
        return True

    def run(self, order: Order, events: Events) -> Ended:
        try:
            given = self._work(order.text)
            if not isinstance(given, str):
                signal = given if isinstance(given, dict) and "status" in given else None
                given = json.dumps(
                    signal or {"status": SignalStatus.DONE, "value": given}, allow_nan=False
                )
        except StoreError:
            # That says nothing about the function: it is called again, as after a crash.
            raise
        except Exception as error:  # the flow decides about any other error
            return Ended(ok=False, words="", problem=describe(error))
        return Ended(ok=True, words=given)

    def join(self, order: Order) -> list[str]:
        raise UsageError("a Python function has no session to join: answer with gate answer")
