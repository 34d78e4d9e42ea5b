"""Permissions for tool calls of a run's agent, decided by rules or people."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple

from gatebell.domain.asks.owners import owner_of
from gatebell.domain.permissions.calls import WRITERS
from gatebell.domain.permissions.rules import leaves
from gatebell.domain.runs.signals import SIGNAL_FOLDER
from gatebell.ports.agents import Ruling
from gatebell.services import freezes
from gatebell.services.permissions import permit_call
from gatebell.services.permissions.permit_call import Held
from gatebell.services.runs.run_journal import Closing

if TYPE_CHECKING:
    from gatebell.domain.asks.asks import Origin
    from gatebell.domain.runs.runs import Turn
    from gatebell.services.runs.agent_call.turn import Agent
    from gatebell.services.runs.run_journal import Drive

# The agent's process waits for a permission, so the wait has a limit even if asks have none.
_MAX_SECONDS = 365 * 86_400.0


def permit(agent: Agent, turn: Turn, tool: str, given: dict[str, Any], call_id: str) -> Ruling:
    """Return whether a tool call may run; wait for a person if no rule decides."""
    drive = agent.drive
    expires, reminds = drive.terms.find_times(None, None)
    origin = agent.origin(turn)._replace(tool_use_id=call_id)
    held = Held(
        call=drive.needs.activity.tool_call(tool, given, drive.run.folder),
        origin=origin,
        limit_seconds=expires or _MAX_SECONDS,
        host=TurnHost(drive, turn.id, origin),
        remind_every_seconds=reminds,
    )
    if agent.driver.asks_about_edits and _is_ordinary_edit(drive, held):
        return Ruling(True)
    permission = permit_call.decide(drive.store, held, agent.caller(turn))
    if permission.edited_by and not agent.driver.takes_edits:
        edited = drive.needs.activity.tool_call(tool, permission.input, drive.run.folder)
        permission = permit_call.instead(drive.store, permission.edited_by, held, edited)
    permit_call.hand_over(drive.store, permission, held)
    message = permission.message or ("" if permission.allow else "No person allowed this")
    return Ruling(bool(permission.allow), message, permission.input)


def _is_ordinary_edit(drive: Drive, held: Held) -> bool:
    """Return whether a call edits a plain file of the run's folder, and no gate or freeze holds it.

    Programs read their settings from hidden files, so a person decides about those.
    """
    call, folder = held.call, os.path.realpath(drive.run.folder)
    if call.tool not in WRITERS or leaves(call, [folder]):
        return False
    path = os.path.relpath(call.real_path, folder)
    hidden = any(part.startswith(".") for part in path.split(os.sep))
    if hidden and os.path.dirname(path) != SIGNAL_FOLDER:
        return False
    is_held = permit_call.is_gated(drive.store, call, held.origin) or freezes.find(drive.store)
    return not is_held


class TurnHost(NamedTuple):
    """The host of a call in a turn of a run. The agent's program gives the id of each call."""

    drive: Drive
    turn_id: str
    origin: Origin

    def describe_activity(self) -> str:
        return self.drive.needs.activity.summary(self.origin)

    def find_reason_to_stop(self) -> str:
        """Return why the wait ends: the turn is over. Another driver takes over open asks."""
        if self.drive.closing.is_set():
            raise Closing
        return "" if self.turn_id in self.drive.agents else "the agent's turn is over"

    def has_result(self, call_id: str) -> bool:
        return False

    def note_ask(self, ask_id: str) -> None:
        pass

    def note_wait(self) -> None:
        pass

    def find_call_id(self) -> str:
        return ""


def withdraw(agent: Agent, turn: Turn) -> None:
    """Withdraw the agent's open permission asks after its turn."""
    store, mine = agent.drive.store, owner_of(turn.run, turn.path)
    for ask in store.asks.pending_of_run(turn.run):
        # Later asks belong to another driver: this drive may have been overtaken since then.
        late = turn.ended_at and ask.opened_at > turn.ended_at
        if ask.origin.owner == mine and ask.id != agent.call.ask_id and not late:
            permit_call.retire(store, ask, agent.drive.needs.caller, "the agent's turn is over")
