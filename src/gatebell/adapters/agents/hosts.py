"""Open the agents' own programs for a person with a question: claude, codex, any command."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from gatebell.adapters.agents import agent_process, session_logs
from gatebell.adapters.agents.claude import ClaudeDriver
from gatebell.adapters.agents.codex import CodexDriver
from gatebell.domain.enums import AgentCli
from gatebell.domain.runs.roles import Role
from gatebell.domain.runs.session_log import StepKind
from gatebell.domain.sessions.proposals import AGENT, PERSON, Said
from gatebell.errors import MissingAgentError, UsageError
from gatebell.ports.agents import Order, Talk

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gatebell.ports.agents import Opening

_SPEAKERS = {StepKind.PROMPT: PERSON, StepKind.WORDS: AGENT}
_MAX_LOG_BYTES = 16_000_000
_MAX_LOGS = 50
_CLAUDES = ("sonnet", "opus", "haiku", "claude", "inherit", "default")


class ClaudeHost:
    """Claude Code. We choose the session's id, so it is known before the first message."""

    def new_session(self) -> str:
        return str(uuid4())

    def knows(self, session: str) -> bool:
        return bool(session_logs.find(AgentCli.CLAUDE, session, os.environ))

    def open_session(self, opening: Opening) -> list[str]:
        order = _build_order(opening, AgentCli.CLAUDE, opening.model)
        if not opening.fresh and not self.knows(opening.session):
            raise _build_missing_error(opening.session)
        words = ClaudeDriver().join(order)
        # The asker wrote the first message: the person must see its tool calls before they run.
        # With --add-dir, newer versions ask first whether the person trusts that folder.
        words += ["--allowedTools", f"Read(/{opening.files_folder}/**)"]
        words += ["--permission-mode", "default"]
        words += ["--mcp-config", opening.mcp_config] if opening.mcp_config else []
        words += ["--append-system-prompt-file", opening.system_file] if opening.system_file else []
        return [*words, *_build_prompt_arguments(opening)]

    def found_session(self, mark: str, since: datetime) -> str:
        return ""

    def was_told(self, session: str, mark: str) -> bool:
        return ClaudeDriver().was_turn_sent(session, mark)

    def talk(self, session: str, since: datetime) -> Talk:
        return _read_talk(AgentCli.CLAUDE, session, since)


class CodexHost:
    """Codex. It chooses the session's id; we find it in its log by the first message."""

    def new_session(self) -> str:
        return ""

    def knows(self, session: str) -> bool:
        return bool(session_logs.find(AgentCli.CODEX, session, os.environ))

    def open_session(self, opening: Opening) -> list[str]:
        if opening.mcp_config:
            raise UsageError(
                "codex takes no mcp_config: open it with --with claude, or name the servers in "
                "codex's own settings"
            )
        if opening.session and not self.knows(opening.session):
            raise _build_missing_error(opening.session)
        model = "" if opening.model.startswith(_CLAUDES) else opening.model
        words = CodexDriver().join(_build_order(opening, AgentCli.CODEX, model))
        if opening.system_file:
            told = f"Follow {opening.system_file}: read it before anything else."
            words += ["-c", f"developer_instructions={json.dumps(told)}"]
        return [*words, *_build_prompt_arguments(opening)]

    def found_session(self, mark: str, since: datetime) -> str:
        for path in session_logs.list_codex_logs(os.environ, _MAX_LOGS):
            if os.path.getmtime(path) < since.timestamp():
                break
            session = _read_codex_session(path)
            if session and self.was_told(session, mark):
                return session
        return ""

    def was_told(self, session: str, mark: str) -> bool:
        return CodexDriver().was_turn_sent(session, mark)

    def talk(self, session: str, since: datetime) -> Talk:
        return _read_talk(AgentCli.CODEX, session, since)


class CommandHost:
    """A command of the user; `{prompt_file}` in it is replaced by the file with the question.

    GATE_SESSION stays the same over the visits of one ask.
    """

    def __init__(self, words: Sequence[str]) -> None:
        self._words = words

    def new_session(self) -> str:
        return str(uuid4())

    def knows(self, session: str) -> bool:
        return True

    def open_session(self, opening: Opening) -> list[str]:
        order = _build_order(opening, AgentCli.COMMAND, opening.model)
        name, *words = (word.replace("{prompt_file}", opening.prompt_file) for word in self._words)
        found = agent_process.find_program(
            name, order, "it is the session_command of your settings"
        )
        # AI_AGENT: calls of gate in its shells come from this agent, not from a person.
        told = {
            "AI_AGENT": opening.session,
            "GATE_SESSION": opening.session,
            "GATE_PROMPT_FILE": opening.prompt_file,
            "GATE_SYSTEM_FILE": opening.system_file,
        }
        return ["/usr/bin/env", *(f"{key}={text}" for key, text in told.items()), found, *words]

    def found_session(self, mark: str, since: datetime) -> str:
        return ""

    def was_told(self, session: str, mark: str) -> bool:
        return False

    def talk(self, session: str, since: datetime) -> None:
        return None


def _build_order(opening: Opening, cli: str, model: str) -> Order:
    return Order(
        turn_id=opening.mark,
        role=Role("session", "", cli=cli, model=model),
        session=opening.session,
        fresh=opening.fresh,
        fork_of="",
        text="",
        cwd=opening.cwd,
        environ=opening.environ,
        project=opening.project,
    )


def _build_prompt_arguments(opening: Opening) -> list[str]:
    # After "--", the prompt cannot be read as an option.
    return ["--", opening.prompt] if opening.prompt else []


def _build_missing_error(session: str) -> MissingAgentError:
    return MissingAgentError(
        f"there is no conversation {session} on this machine: it was begun elsewhere, or its log "
        "was deleted"
    )


def _read_codex_session(path: str) -> str:
    """Return the session id in the first record of a log, or ""."""
    first: Any = {}
    with suppress(OSError, ValueError, RecursionError), open(path, "rb") as file:
        first = json.loads(file.readline())
    told = first.get("payload") if isinstance(first, dict) else None
    session = told.get("id") if isinstance(told, dict) else None
    return session if isinstance(session, str) else ""


def _read_talk(cli: str, session: str, since: datetime) -> Talk:
    said: list[Said] = []
    problem = ""
    for step in session_logs.read(cli, session_logs.find(cli, session, os.environ), _MAX_LOG_BYTES):
        if not _is_since(step.at, since):
            continue
        if step.kind in _SPEAKERS:
            said.append(Said(_SPEAKERS[step.kind], step.text))
        elif step.kind == StepKind.PROBLEM:
            problem = step.text
    speaks = any(one.speaker == AGENT for one in said)
    return Talk(said, "" if speaks else problem)


def _is_since(at: str, since: datetime) -> bool:
    try:
        return datetime.fromisoformat(at) >= since
    except (ValueError, TypeError):
        return False
