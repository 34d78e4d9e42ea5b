"""An agent that follows a script."""

from __future__ import annotations

import itertools
import json
from typing import TYPE_CHECKING, Any

from gatebell.errors import UsageError
from gatebell.ports.agents import Ended

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from gatebell.ports.agents import Events, Order

_sessions = itertools.count(1)
# Of a boot that is over: whoever takes a run over finds nothing of it to be ended.
_PROCESS = "an-earlier-boot/1/1"


class ScriptedAgent:
    """Takes the place of an agent's program: each turn is answered by the next line of the script.

    A line is a dict (the agent's signal), a text (its last words), an `Ended`, an exception that
    is raised, or a function of the order and the events that gives one of these. The script is
    a list of lines, or one function for all turns. `orders` keeps what was sent.
    """

    takes_edits = True

    def __init__(self, script: Iterable[Any] | Callable[[Order, Events], Any]) -> None:
        self._line = script if callable(script) else None
        self._script = [] if callable(script) else list(script)
        self.orders: list[Order] = []

    @property
    def sent(self) -> list[str]:
        """The texts of all turns so far."""
        return [order.text for order in self.orders]

    def new_session(self) -> str:
        return f"session-{next(_sessions)}"

    def was_turn_sent(self, session: str, turn_id: str) -> bool:
        """It remembers every turn that it was sent."""
        return any(order.turn_id == turn_id for order in self.orders)

    def knows(self, session: str) -> bool:
        """It forgets no session."""
        return True

    def run(self, order: Order, events: Events) -> Ended:
        events.starting(_PROCESS)
        self.orders.append(order)
        line: Any = self._line or self._next(order)
        while callable(line):
            line = line(order, events)
        if isinstance(line, BaseException):
            raise line
        if isinstance(line, Ended):
            return line
        return Ended(ok=True, words=line if isinstance(line, str) else json.dumps(line))

    def _next(self, order: Order) -> Any:
        if not self._script:
            raise AssertionError(
                f"the script of {order.role.name} is over, and it was sent:\n{order.text}"
            )
        return self._script.pop(0)

    def join(self, order: Order) -> list[str]:
        raise UsageError("a scripted agent has no session that a person could join")
