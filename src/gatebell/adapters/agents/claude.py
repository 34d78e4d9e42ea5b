"""Drive Claude Code through a stream of JSON lines: one process per turn, one session per role."""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from gatebell.adapters.agents import agent_process, session_logs
from gatebell.adapters.system.folders import OLD_NAME
from gatebell.domain.enums import AgentCli
from gatebell.domain.permissions.calls import Call
from gatebell.errors import UsageError
from gatebell.ports.agents import Ended

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gatebell.adapters.agents.agent_process import Agent
    from gatebell.ports.agents import Events, Order

_REMEDY = (
    "install Claude Code (npm install -g @anthropic-ai/claude-code), or put the folder it is in "
    "on the PATH"
)
_STREAM = (
    *("-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose"),
    *("--permission-prompt-tool", "stdio"),
)
# The name that `gate install` uses: this server then replaces the installed one.
_SERVER = "gatebell"
_TOOLS = ("ask_human", "notify_human", "inbox_status", "signal", "decide")
# A server that was installed under the old name may run beside it.
_ASKING = tuple(
    f"mcp__{server}__{tool}" for server in (_SERVER, OLD_NAME) for tool in ("ask_human", "approve")
)
_DAY_MILLISECONDS = "86400000"
_ENVIRONMENT = {
    # Claude Code ends a shell command at its limit; a question in a shell stops waiting before.
    "BASH_DEFAULT_TIMEOUT_MS": "600000",
    "BASH_MAX_TIMEOUT_MS": "600000",
    "GATE_AGENT_WAIT_SECONDS": "540",
    # An answer that arrives later as background news has no authority.
    "CLAUDE_CODE_MCP_AUTO_BACKGROUND_MS": "0",
    "MCP_TOOL_TIMEOUT": _DAY_MILLISECONDS,
}
# Without a person at the screen, a background task would end with the turn.
_ALONE = {"CLAUDE_CODE_DISABLE_BACKGROUND_TASKS": "1"}
_NEVER = ("bypassPermissions", "dangerously-skip-permissions")
_GONE = "No conversation found with session ID"
_LOG_IS_LATE_SECONDS = 2.0
_POLL_SECONDS = 0.01
_MAX_SAID = 1_000


class ClaudeDriver:
    """Runs `claude`. Edits in its folder are allowed; it asks for permission for other actions."""

    takes_edits = True
    asks_about_edits = False

    def new_session(self) -> str:
        return str(uuid4())

    def was_turn_sent(self, session: str, turn_id: str) -> bool:
        for record in _find_records(
            session_logs.find(AgentCli.CLAUDE, session, os.environ), turn_id
        ):
            if record.get("type") == "user" and turn_id in json.dumps(record.get("message")):
                return True
        return False

    def knows(self, session: str) -> bool:
        return session_logs.is_kept(AgentCli.CLAUDE, session, os.environ)

    def run(self, order: Order, events: Events) -> Ended:
        words = [*_build_command(order), *_STREAM, *_build_arguments(order, _ENVIRONMENT | _ALONE)]
        if order.schema is not None:
            words += ["--json-schema", json.dumps(order.schema)]
        result: dict[str, Any] | None = None
        open_questions: set[str] = set()
        with agent_process.launch_agent(words, order, events) as agent:
            agent.send(
                _encode_line({"type": "user", "message": {"role": "user", "content": order.text}})
            )
            for message in _read_messages(agent):
                if message.get("type") == "control_request":
                    _Request(message, order, events, agent).start()
                elif message.get("type") == "result":
                    result = message
                    agent.dismiss()
                elif message.get("type") in ("assistant", "user"):
                    _tell(message, events)
                    _keep_time(message, open_questions, agent)
        return _build_end(result, agent.problem())

    def join(self, order: Order) -> list[str]:
        return [*_build_command(order), *_build_arguments(order, _ENVIRONMENT)]


def _build_command(order: Order) -> list[str]:
    return [
        agent_process.find_program("claude", order, _REMEDY),
        *_add_allowed_tools(order.role.arguments),
    ]


def _add_allowed_tools(arguments: tuple[str, ...]) -> tuple[str, ...]:
    for word in arguments:
        if any(never in word for never in _NEVER):
            raise UsageError(
                f"{word} in a role's arguments lets the agent do everything without asking: "
                "remove it; people decide in the inbox about the agent's actions"
            )
    return arguments


def _build_arguments(order: Order, environment: dict[str, str]) -> list[str]:
    """Return the arguments that a turn and a person's own session have in common."""
    told = {name: text for name, text in order.environ.items() if name.startswith("GATE_")}
    server = {
        "command": sys.executable,
        # -P: the agent controls the current folder, so nothing may be imported from it.
        "args": ["-P", "-m", "gatebell", "mcp"],
        "env": told | {agent_process.MARK: order.turn_id},
        # Otherwise the model sees only the names of the tools.
        "alwaysLoad": True,
        "timeout": int(_DAY_MILLISECONDS),
    }
    words = [
        *_build_session_arguments(order),
        *("--mcp-config", json.dumps({"mcpServers": {_SERVER: server}})),
        *("--settings", json.dumps({"env": environment})),
        *("--allowedTools", *(f"mcp__{_SERVER}__{tool}" for tool in _TOOLS)),
        *("--permission-mode", "acceptEdits"),
    ]
    if order.role.model:
        words += ["--model", order.role.model]
    if order.role.tools:
        # Tools of MCP servers come with their server, and cannot be listed here.
        names = [name.partition("(")[0] for name in order.role.tools if name[:5] != "mcp__"]
        words += ["--tools", ",".join(names)]
    return words


def _build_session_arguments(order: Order) -> list[str]:
    # A turn that was killed may have created the session, which cannot be created twice.
    if not order.fresh or session_logs.find(AgentCli.CLAUDE, order.session, os.environ):
        return ["--resume", order.session]
    begun = ["--session-id", order.session]
    return ["--resume", order.fork_of, "--fork-session", *begun] if order.fork_of else begun


def _encode_line(message: dict[str, Any]) -> bytes:
    return json.dumps(message).encode() + b"\n"


def _read_messages(agent: Agent) -> Iterator[dict[str, Any]]:
    for line in agent.whole_lines():
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(message, dict):
            yield message


class _Request(threading.Thread):
    """A request for permission; it waits on its own thread, so that others go on."""

    def __init__(self, message: dict[str, Any], order: Order, events: Events, agent: Agent) -> None:
        super().__init__(daemon=True)
        self._id = message.get("request_id")
        self._request: dict[str, Any] = message.get("request") or {}
        self._order, self._events, self._agent = order, events, agent

    def run(self) -> None:
        try:
            self._agent.send(
                _encode_line({"type": "control_response", "response": self._response()})
            )
        except BaseException as error:  # any error is raised where the agent was launched
            self._agent.stop(error)

    def _response(self) -> dict[str, Any]:
        about = {"request_id": self._id}
        if self._request.get("subtype") != "can_use_tool":
            return about | {"subtype": "error", "error": "gate cannot answer this request"}
        tool_input, call = self._request["input"], self._request["tool_use_id"]
        self._agent.pause()
        try:
            ruling = self._events.permit(self._request["tool_name"], tool_input, call)
        finally:
            self._agent.go_on()
        if not ruling.allow:
            denied = {"behavior": "deny", "message": ruling.message or "This was not allowed."}
            return about | {"subtype": "success", "response": denied}
        self._await_log(call)
        given = tool_input if ruling.input is None else ruling.input
        allowed = {"behavior": "allow", "updatedInput": given}
        return about | {"subtype": "success", "response": allowed}

    def _await_log(self, call: str) -> None:
        """Wait until the log has the call: after a kill, only the log shows that it ran."""
        until = time.monotonic() + _LOG_IS_LATE_SECONDS
        while time.monotonic() < until:
            log = session_logs.find(AgentCli.CLAUDE, self._order.session, os.environ)
            if any(_find_records(log, call)):
                return
            time.sleep(_POLL_SECONDS)


def _list_blocks(message: dict[str, Any]) -> list[dict[str, Any]]:
    content = (message.get("message") or {}).get("content")
    return [block for block in content if isinstance(block, dict)] if content else []


def _tell(message: dict[str, Any], events: Events) -> None:
    for block in _list_blocks(message):
        if message["type"] == "assistant" and block.get("type") == "text":
            events.said(str(block.get("text")))
        elif block.get("type") == "tool_use":
            call = Call(str(block.get("name")), block.get("input") or {})
            events.said(call.pattern[:_MAX_SAID])


def _keep_time(message: dict[str, Any], open_questions: set[str], agent: Agent) -> None:
    """Stop the clock while a person is asked through our own tools."""
    for block in _list_blocks(message):
        if block.get("type") == "tool_use" and block.get("name") in _ASKING:
            open_questions.add(str(block.get("id")))
            agent.pause()
        elif block.get("type") == "tool_result" and block.get("tool_use_id") in open_questions:
            open_questions.remove(block["tool_use_id"])
            agent.go_on()


def _build_end(result: dict[str, Any] | None, problem: str) -> Ended:
    if result is None:
        return Ended(False, "", problem or "It ended without a result: its output is cut off.")
    words = str(result.get("result") or "")
    # Errors of the model's service also have the subtype "success" [seen].
    if result.get("is_error") or result.get("subtype") != "success":
        why = "; ".join(map(str, result.get("errors") or [])) or words
        kind = result.get("terminal_reason") or result.get("subtype")
        return Ended(False, words, f"Claude Code stopped ({kind}): {why}", gone=_GONE in why)
    return Ended(not problem, words, problem, result.get("structured_output"))


def _find_records(path: str, words: str) -> Iterator[dict[str, Any]]:
    """Return the complete records of a log that contain these words."""
    with suppress(OSError), open(path, "rb") as file:
        for line in file:
            if words.encode() in line:
                with suppress(ValueError, RecursionError):
                    record = json.loads(line)
                    if isinstance(record, dict):
                        yield record
