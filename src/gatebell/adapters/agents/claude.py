"""Claude Code, driven through its stream of JSON lines: one process a turn, one session a role."""

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
# The name under which `gate install` writes it: ours then takes the place of that one.
_SERVER = "gatebell"
_TOOLS = ("ask_human", "notify_human", "inbox_status", "signal", "decide")
# What was installed under the old name may run beside it.
_ASKING = tuple(
    f"mcp__{server}__{tool}" for server in (_SERVER, OLD_NAME) for tool in ("ask_human", "approve")
)
_DAY_MILLISECONDS = "86400000"
_ENVIRONMENT = {
    # Beyond its limit a shell command is ended; a question in a shell is taken up again before.
    "BASH_DEFAULT_TIMEOUT_MS": "600000",
    "BASH_MAX_TIMEOUT_MS": "600000",
    "GATE_AGENT_WAIT_SECONDS": "540",
    # A late answer that arrives as background news has no authority.
    "CLAUDE_CODE_MCP_AUTO_BACKGROUND_MS": "0",
    "MCP_TOOL_TIMEOUT": _DAY_MILLISECONDS,
}
# With nobody at the screen, nothing may go on after the last words: it would end with the turn.
_ALONE = {"CLAUDE_CODE_DISABLE_BACKGROUND_TASKS": "1"}
_NEVER = ("bypassPermissions", "dangerously-skip-permissions")
_GONE = "No conversation found with session ID"
_LOG_IS_LATE_SECONDS = 2.0
_POLL_SECONDS = 0.01
_MAX_SAID = 1_000


class ClaudeDriver:
    """Talks to `claude`. Edits in its folder pass; what else it would do is asked for."""

    takes_edits = True

    def new_session(self) -> str:
        return str(uuid4())

    def was_turn_sent(self, session: str, turn_id: str) -> bool:
        for record in _records(session_logs.find(AgentCli.CLAUDE, session, os.environ), turn_id):
            if record.get("type") == "user" and turn_id in json.dumps(record.get("message")):
                return True
        return False

    def knows(self, session: str) -> bool:
        return session_logs.is_kept(AgentCli.CLAUDE, session, os.environ)

    def run(self, order: Order, events: Events) -> Ended:
        words = [*_command(order), *_STREAM, *_words(order, _ENVIRONMENT | _ALONE)]
        if order.schema is not None:
            words += ["--json-schema", json.dumps(order.schema)]
        result: dict[str, Any] | None = None
        open_questions: set[str] = set()
        with agent_process.launch_agent(words, order, events) as agent:
            agent.send(_line({"type": "user", "message": {"role": "user", "content": order.text}}))
            for message in _messages(agent):
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
        return [*_command(order), *_words(order, _ENVIRONMENT)]


def _command(order: Order) -> list[str]:
    return [
        agent_process.program("claude", order, _REMEDY),
        *_add_allowed_tools(order.role.arguments),
    ]


def _add_allowed_tools(arguments: tuple[str, ...]) -> tuple[str, ...]:
    for word in arguments:
        if any(never in word for never in _NEVER):
            raise UsageError(
                f"{word} in a role's arguments would let the agent do everything unasked: "
                "take it out; what the agent may do is decided in the inbox"
            )
    return arguments


def _words(order: Order, environment: dict[str, str]) -> list[str]:
    """What a turn and a person's own session in a terminal have in common."""
    told = {name: text for name, text in order.environ.items() if name.startswith("GATE_")}
    server = {
        "command": sys.executable,
        # -P: the folder it runs in is the agent's, and nothing may be imported from there.
        "args": ["-P", "-m", "gatebell", "mcp"],
        "env": told | {agent_process.MARK: order.turn_id},
        # Otherwise the model sees the tools' names only.
        "alwaysLoad": True,
        "timeout": int(_DAY_MILLISECONDS),
    }
    words = [
        *_session(order),
        *("--mcp-config", json.dumps({"mcpServers": {_SERVER: server}})),
        *("--settings", json.dumps({"env": environment})),
        *("--allowedTools", *(f"mcp__{_SERVER}__{tool}" for tool in _TOOLS)),
        *("--permission-mode", "acceptEdits"),
    ]
    if order.role.model:
        words += ["--model", order.role.model]
    if order.role.tools:
        # A tool of a server is there because its server is, and cannot be named here.
        names = [name.partition("(")[0] for name in order.role.tools if name[:5] != "mcp__"]
        words += ["--tools", ",".join(names)]
    return words


def _session(order: Order) -> list[str]:
    # A turn that was killed may have begun the session, and then it cannot be begun again.
    if not order.fresh or session_logs.find(AgentCli.CLAUDE, order.session, os.environ):
        return ["--resume", order.session]
    begun = ["--session-id", order.session]
    return ["--resume", order.fork_of, "--fork-session", *begun] if order.fork_of else begun


def _line(message: dict[str, Any]) -> bytes:
    return json.dumps(message).encode() + b"\n"


def _messages(agent: Agent) -> Iterator[dict[str, Any]]:
    for line in agent.whole_lines():
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(message, dict):
            yield message


class _Request(threading.Thread):
    """A request for permission; it waits on a thread of its own, while others go on."""

    def __init__(self, message: dict[str, Any], order: Order, events: Events, agent: Agent) -> None:
        super().__init__(daemon=True)
        self._id = message.get("request_id")
        self._request: dict[str, Any] = message.get("request") or {}
        self._order, self._events, self._agent = order, events, agent

    def run(self) -> None:
        try:
            self._agent.send(_line({"type": "control_response", "response": self._response()}))
        except BaseException as error:  # whatever it is, it is raised where the agent was launched
            self._agent.stop(error)

    def _response(self) -> dict[str, Any]:
        about = {"request_id": self._id}
        if self._request.get("subtype") != "can_use_tool":
            return about | {"subtype": "error", "error": "nobody is here to answer this"}
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
        """What runs must stand in the log: killed before, nobody would know of it afterwards."""
        until = time.monotonic() + _LOG_IS_LATE_SECONDS
        while time.monotonic() < until:
            log = session_logs.find(AgentCli.CLAUDE, self._order.session, os.environ)
            if any(_records(log, call)):
                return
            time.sleep(_POLL_SECONDS)


def _blocks(message: dict[str, Any]) -> list[dict[str, Any]]:
    content = (message.get("message") or {}).get("content")
    return [block for block in content if isinstance(block, dict)] if content else []


def _tell(message: dict[str, Any], events: Events) -> None:
    for block in _blocks(message):
        if message["type"] == "assistant" and block.get("type") == "text":
            events.said(str(block.get("text")))
        elif block.get("type") == "tool_use":
            call = Call(str(block.get("name")), block.get("input") or {})
            events.said(call.pattern[:_MAX_SAID])


def _keep_time(message: dict[str, Any], open_questions: set[str], agent: Agent) -> None:
    """While a person is asked through our own tools, the agent does not work."""
    for block in _blocks(message):
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
    # An error of the model's service is called a success there, too [seen].
    if result.get("is_error") or result.get("subtype") != "success":
        why = "; ".join(map(str, result.get("errors") or [])) or words
        kind = result.get("terminal_reason") or result.get("subtype")
        return Ended(False, words, f"Claude Code stopped ({kind}): {why}", gone=_GONE in why)
    return Ended(not problem, words, problem, result.get("structured_output"))


def _records(path: str, words: str) -> Iterator[dict[str, Any]]:
    """The whole records of a log that hold these words."""
    with suppress(OSError), open(path, "rb") as file:
        for line in file:
            if words.encode() in line:
                with suppress(ValueError, RecursionError):
                    record = json.loads(line)
                    if isinstance(record, dict):
                        yield record
