"""The agents that ask by files, written to files for programs that watch: agents and queue."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from gatebell.domain.asks.file_questions import document, shorten
from gatebell.domain.enums import StrEnum
from gatebell.file_protocol.folders import OddFileError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from gatebell.domain.asks.file_questions import FileQuestion
    from gatebell.file_protocol.folders import Folder, Helpers

ALL, QUEUE = "active_sessions.json", "question_queue.json"
_IDLE_SECONDS = 60
_FORGOTTEN_SECONDS = 30 * 60
_MAX_AGENTS = 1_000
_HIGHEST = 2**53
"""The largest number that every JSON reader can hold."""


class AgentStatus(StrEnum):
    """The activity of an agent that asks by files."""

    WAITING = "waiting"
    ACTIVE = "active"
    IDLE = "idle"


class Agent(NamedTuple):
    """One agent, as its questions show it."""

    agent_id: str
    name: str
    working_dir: str
    started_at: int
    last_seen: int
    questions_asked: int = 0
    waiting: bool = False
    pid: int | None = None

    def status(self, now: int) -> AgentStatus:
        if self.waiting:
            return AgentStatus.WAITING
        return AgentStatus.IDLE if now - self.last_seen >= _IDLE_SECONDS else AgentStatus.ACTIVE

    def document(self, now: int) -> dict[str, Any]:
        return {
            "agent_id": self.agent_id,
            "pid": self.pid,
            "name": self.name,
            "working_dir": self.working_dir,
            "started_at": self.started_at,
            "last_seen": self.last_seen,
            "questions_asked": self.questions_asked,
            "status": self.status(now),
        }


class Registry:
    """The agents of one project. Complete entries of earlier files are kept."""

    def __init__(self, helpers: Helpers) -> None:
        self._helpers = helpers
        self.agents: dict[str, Agent] = {}
        self._written: dict[str, bytes] = {}
        for file in helpers.agents.names()[:_MAX_AGENTS]:
            if (agent_id := file.removesuffix(".json")) != file and (agent := self._read(agent_id)):
                self.agents[agent_id] = agent

    def record_question(self, question: FileQuestion, now: datetime, *, is_new: bool) -> None:
        """Record a question of an agent; a repeated one is not counted again."""
        now_at, agent_id = int(now.timestamp()), question.name.agent
        at = now_at if is_new else min(now_at, question.name.timestamp)
        known = self.agents.get(agent_id)
        known = known or Agent(agent_id, question.agent_name, question.folder, at, at)
        self.agents[agent_id] = known._replace(
            name=question.agent_name,
            working_dir=question.folder,
            last_seen=max(known.last_seen, at),
            questions_asked=known.questions_asked + is_new,
            pid=question.pid,
        )

    def _read(self, agent_id: str) -> Agent | None:
        try:
            given = json.loads(self._helpers.agents.read(f"{agent_id}.json"))
            if given["agent_id"] != agent_id:
                return None
            numbers = [given[name] for name in ("started_at", "last_seen", "questions_asked")]
            texts = [given[name] for name in ("name", "working_dir")]
            are_counts = all(type(one) is int and 0 <= one < _HIGHEST for one in numbers)
            if are_counts and all(type(one) is str for one in texts):
                pid = given["pid"] if type(given["pid"]) is int else None
                return Agent(agent_id, *texts, *numbers)._replace(pid=pid)
        except (OSError, OddFileError, ValueError, KeyError, TypeError, RecursionError):
            pass
        return None

    def record_answer(self, agent_id: str, at: datetime) -> None:
        """Record that an agent got an answer, so it was alive then."""
        if known := self.agents.get(agent_id):
            last_seen = max(known.last_seen, int(at.timestamp()))
            self.agents[agent_id] = known._replace(last_seen=last_seen)

    def write(self, waiting: Sequence[FileQuestion], now: datetime) -> None:
        """Update the files; agents that were silent for half an hour are removed."""
        at, asking = int(now.timestamp()), {question.name.agent for question in waiting}
        newest = sorted(self.agents.values(), key=lambda agent: agent.last_seen, reverse=True)
        for number, agent in enumerate(newest):
            is_asking = agent.agent_id in asking
            is_gone = abs(at - agent.last_seen) >= _FORGOTTEN_SECONDS or number >= _MAX_AGENTS
            if is_gone and not is_asking:
                self._forget(agent.agent_id)
            else:
                self.agents[agent.agent_id] = agent._replace(waiting=is_asking)
        told = {agent_id: agent.document(at) for agent_id, agent in sorted(self.agents.items())}
        for agent_id, one in told.items():
            self._put(self._helpers.agents, f"{agent_id}.json", one)
        self._put(self._helpers.agents, ALL, {"sessions": list(told.values())})
        self._put(self._helpers.queue, QUEUE, _queue(waiting, self.active(at)))

    def active(self, at: int) -> int:
        """Return the number of active agents."""
        return sum(agent.status(at) != AgentStatus.IDLE for agent in self.agents.values())

    def clear(self) -> None:
        """Remove the agents' files and empty the queue when the listener ends."""
        for agent_id in list(self.agents):
            self._forget(agent_id)
        self._put(self._helpers.agents, ALL, {"sessions": []})
        self._put(self._helpers.queue, QUEUE, _queue([], 0))

    def _forget(self, agent_id: str) -> None:
        del self.agents[agent_id]
        self._helpers.agents.remove(f"{agent_id}.json")
        self._written.pop(f"{agent_id}.json", None)

    def _put(self, folder: Folder, name: str, value: Any) -> None:
        content = document(value)
        # For watchers only: an error here must not delay an answer.
        with suppress(OSError):
            if self._written.get(name) != content:
                folder.write(name, content)
                self._written[name] = content


def _queue(waiting: Sequence[FileQuestion], active: int) -> dict[str, Any]:
    return {
        "total_questions": len(waiting),
        "active_agents": active,
        "queue": [
            {
                "agent_name": one.agent_name,
                "content": shorten(one.content),
                "timestamp": one.name.timestamp,
                "type": one.type,
            }
            for one in waiting
        ],
    }
