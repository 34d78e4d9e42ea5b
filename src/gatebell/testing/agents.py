"""An agent that follows a script."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from gatebell.errors import UsageError
from gatebell.ports.agents import Ended

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from gatebell.ports.agents import Events, Order

_sessions = itertools.count(1)
# Of an earlier boot: a process that takes a run over finds nothing to end.
_PROCESS = "an-earlier-boot/1/1"


class ScriptedAgent:
    """Takes the place of an agent's program: the next line of the script answers each turn.

    A line is a dict (the agent's signal), a text (its last words), an `Ended`, an exception that
    is raised, or a function of the order and the events that returns one of these.

    Args:
        script: a list of lines, or one function for all turns

    Example:
        coder = ScriptedAgent([{"status": "NEEDS_HUMAN", "question": "Why?"}, {"status": "DONE"}])
    """

    takes_edits = True
    asks_about_edits = False

    def __init__(self, script: Iterable[Any] | Callable[[Order, Events], Any]) -> None:
        if isinstance(script, str | Mapping):
            raise UsageError(
                f"a script is a list of lines, one for each turn: ScriptedAgent([{script!r}])"
            )
        self._line = script if callable(script) else None
        self._script = [] if callable(script) else list(script)
        self.orders: list[Order] = []
        """The orders of all turns so far."""

    @property
    def sent(self) -> list[str]:
        """The texts of all turns so far."""
        return [order.text for order in self.orders]

    def new_session(self) -> str:
        """Return the id of a new session."""
        return f"session-{next(_sessions)}"

    def was_turn_sent(self, session: str, turn_id: str) -> bool:
        """Tell whether it got this turn."""
        return any(order.turn_id == turn_id for order in self.orders)

    def knows(self, session: str) -> bool:
        """Return True: it knows every session."""
        return True

    def run(self, order: Order, events: Events) -> Ended:
        """Answer a turn by the next line of the script."""
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
                f"the script of {order.role.name} has no line for this turn: add one. It got:\n{order.text}"
            )
        return self._script.pop(0)

    def join(self, order: Order) -> list[str]:
        """Refuse: a script has no screen."""
        raise UsageError("a scripted agent has no session that a person could join")
