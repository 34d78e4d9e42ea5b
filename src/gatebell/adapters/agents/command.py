"""Run any program as an agent: it reads its turn from stdin and prints its reply."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import uuid4

from gatebell.adapters.agents import agent_process
from gatebell.ports.agents import Ended

if TYPE_CHECKING:
    from gatebell.ports.agents import Events, Order

_MAX_WORDS_BYTES = 1_000_000
_MAX_LINE_BYTES = 1_000_000


class CommandDriver:
    """Runs a role's command in its folder, with the turn's text on its standard input.

    GATE_SESSION stays the same over a role's turns. GATE_FRESH is 1 in the first turn and 0 later.
    """

    takes_edits = True
    asks_about_edits = False

    def new_session(self) -> str:
        return str(uuid4())

    def was_turn_sent(self, session: str, turn_id: str) -> bool:
        """Return False: a command has no log, so an interrupted turn is sent again."""
        return False

    def knows(self, session: str) -> bool:
        """Return True: a command keeps its sessions itself."""
        return True

    def run(self, order: Order, events: Events) -> Ended:
        name, *words = order.role.command
        found = agent_process.find_program(
            name, order, f"it is the command of the role {order.role.name}"
        )
        output = bytearray()
        with agent_process.launch_agent([found, *words], _add_environment(order), events) as agent:
            agent.send(order.text.encode(errors="replace"))
            agent.finish()
            for line in agent.lines(_MAX_LINE_BYTES):
                output += line
                del output[:-_MAX_WORDS_BYTES]
                events.said(line.decode(errors="replace").rstrip("\n"))
        problem = agent.problem()
        return Ended(not problem, output.decode(errors="replace").strip(), problem)

    def join(self, order: Order) -> list[str]:
        name, *words = order.role.get_join()
        found = agent_process.find_program(
            name, order, f"it is the `join` of the role {order.role.name}"
        )
        told = [f"{name}={text}" for name, text in _add_environment(order).environ.items()]
        return ["/usr/bin/env", *told, found, *words]


def _add_environment(order: Order) -> Order:
    # AI_AGENT: calls of gate in its shells come from this agent, not from a person.
    told = {
        "GATE_SESSION": order.session,
        "GATE_FRESH": "1" if order.fresh else "0",
        "AI_AGENT": order.session,
    }
    return order._replace(environ={**order.environ, **told})
