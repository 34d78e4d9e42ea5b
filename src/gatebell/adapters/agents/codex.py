"""Codex, spoken to through its app server: a process per turn, and lines of JSON both ways.

What its sandbox holds inside the worktree passes without asking; everything else is asked.
"""

from __future__ import annotations

import json
import os
import re
import sys
import tempfile
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from gatebell.adapters.agents import agent_process, session_logs
from gatebell.adapters.agents.codex_calls import (
    calls_of,
    instead,
    reply,
    tool_of,
    unwrap_shell,
)
from gatebell.adapters.system.folders import OLD_NAME
from gatebell.domain.enums import AgentCli
from gatebell.domain.permissions.calls import WRITERS
from gatebell.errors import UsageError
from gatebell.ports.agents import Ended

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gatebell.adapters.agents.agent_process import Agent
    from gatebell.ports.agents import Events, Order

_REMEDY = "install Codex (npm install -g @openai/codex), or put the folder it is in on the PATH"
_DAY_SECONDS = 86_400
# Codex hands its servers next to nothing of its environment [seen with 0.166.0].
_FOR_OUR_SERVER = ("GATE_STORE", "GATE_URL", "XDG_DATA_HOME", "XDG_CONFIG_HOME")
# The name under which `gate install` writes it: ours then takes the place of that one.
_SERVER = "gatebell"
# What was installed under the old name may run beside it.
_ASKING = tuple(
    f"mcp__{server}__{tool}" for server in (_SERVER, OLD_NAME) for tool in ("ask_human", "approve")
)
_POLICY = "on-request"
_NEVER = ("danger", "yolo")
_CHANGING_TOOLS = frozenset([*WRITERS, "Bash"])
_GONE = re.compile(r"no rollout found for thread id|failed to read session metadata")
_NOT_ANSWERED = {"code": -32601, "message": "nobody is asked about this here"}


class CodexDriver:
    """Talks to `codex`. What it would do beyond its folder is asked for."""

    takes_edits = False

    def new_session(self) -> str:
        """Nothing: codex itself chooses the id, and tells it before anything is sent."""
        return ""

    def was_turn_sent(self, session: str, turn_id: str) -> bool:
        path = session_logs.find(AgentCli.CODEX, session, os.environ)
        return bool(path) and any(_is_sent(line, turn_id) for line in _lines(path))

    def knows(self, session: str) -> bool:
        return session_logs.is_kept(AgentCli.CODEX, session, os.environ)

    def run(self, order: Order, events: Events) -> Ended:
        # The sandbox lets $TMPDIR be written; the system's own may hold other people's worktrees.
        with tempfile.TemporaryDirectory(prefix="gate-", ignore_cleanup_errors=True) as scratch:
            order = order._replace(environ={**order.environ, "TMPDIR": scratch})
            words = [*_command(order, "app-server"), *_settings(order)]
            with agent_process.launch_agent(words, order, events) as agent:
                return _Turn(agent, order, events).run()

    def join(self, order: Order) -> list[str]:
        resumed = [order.session] if order.session else []
        # A daemon would hold the session beyond the person's terminal.
        words = [*_command(order, *["resume" for _ in resumed]), "--disable", "daemon_auto_start"]
        words += ["--ask-for-approval", _POLICY, *_settings(order)]
        words += ["--model", model] if (model := _model(order)) else []
        return [*words, *resumed]


def _command(order: Order, *subcommand: str) -> list[str]:
    for word in order.role.arguments:
        if any(never in word for never in _NEVER):
            raise UsageError(
                f"{word} in a role's arguments would let the agent do everything unasked: "
                "take it out; what the agent may do is decided in the inbox"
            )
    return [agent_process.program("codex", order, _REMEDY), *subcommand, *order.role.arguments]


def _model(order: Order) -> str:
    return "" if order.role.model == "inherit" else order.role.model


def _lines(path: str) -> Iterator[bytes]:
    try:
        with open(path, "rb") as file:
            yield from file
    except OSError:
        return


def _is_sent(line: bytes, turn_id: str) -> bool:
    """Whether a record of a session log is what a user said, with this turn's id in it."""
    if turn_id.encode() not in line:
        return False
    try:
        item = json.loads(line)["payload"]
        return bool(item["type"] == "message" and item["role"] == "user")
    except (ValueError, TypeError, KeyError):
        return False


def _settings(order: Order) -> list[str]:
    """Words that hold over what the user's and the project's settings say."""
    server = {
        "command": sys.executable,
        "args": ["-P", "-m", "gatebell", "mcp"],
        "env_vars": sorted({agent_process.MARK, *order.environ, *_FOR_OUR_SERVER}),
        "required": True,
        "tool_timeout_sec": _DAY_SECONDS,
        "default_tools_approval_mode": "approve",
    }
    sandbox = {
        "exclude_slash_tmp": True,
        "network_access": False,
        "writable_roots": _signal_folders(order),
    }
    said = {f"mcp_servers.{_SERVER}.{name}": value for name, value in server.items()}
    said |= {f"sandbox_workspace_write.{name}": value for name, value in sandbox.items()}
    # Searching happens at the model's provider, where nobody can be asked.
    said |= {"sandbox_mode": _sandbox(order), "web_search": "disabled"}
    # What JSON writes for these values is TOML, too.
    return [word for name, value in said.items() for word in ("-c", f"{name}={json.dumps(value)}")]


def _sandbox(order: Order) -> str:
    """A role whose tools can change nothing has a sandbox in which nothing can be changed."""
    tools = {tool.partition("(")[0] for tool in order.role.tools}
    return "read-only" if tools and not tools & _CHANGING_TOOLS else "workspace-write"


def _signal_folders(order: Order) -> list[str]:
    """Where the signal is written, made here: codex protects the folder that it lies in."""
    named = order.environ.get("GATE_SIGNAL_FILE")
    if not named or not os.path.isdir(order.cwd):
        return []
    within = os.path.relpath(os.path.join(order.cwd, named), order.cwd)
    folder = os.path.dirname(os.path.join(os.path.realpath(order.cwd), within))
    # A link in the worktree must not open a folder outside of it.
    if os.path.realpath(folder) != folder:
        return []
    os.makedirs(folder, exist_ok=True)
    return [folder]


class _TurnError(Exception):
    """Why the turn cannot go on, as a sentence."""


class _Turn:
    """One turn, from the first line to the last."""

    def __init__(self, agent: Agent, order: Order, events: Events) -> None:
        self._agent = agent
        self._order = order
        self._events = events
        self._lines = agent.whole_lines()
        self._thread = ""
        self._words = ""
        self._requests = 0
        self._items: dict[str, dict[str, Any]] = {}
        """What the agent has begun and not ended, by the id of the call."""
        self._ended: dict[str, dict[str, Any]] = {}

    def run(self) -> Ended:
        try:
            self._open()
            text = {"type": "text", "text": self._order.text, "text_elements": []}
            started = self._call("turn/start", {"threadId": self._thread, "input": [text]})
            while started["turn"]["id"] not in self._ended:
                self._hear()
        except _TurnError as error:
            return Ended(False, self._words, str(error), gone=bool(_GONE.search(str(error))))
        self._agent.dismiss()
        for _ in self._lines:
            pass
        turn = self._ended[started["turn"]["id"]]
        ok = turn["status"] == "completed"
        return Ended(ok, self._words, "" if ok else _why(turn))

    def _open(self) -> None:
        """Have a thread; whoever waits for its id knows it before anything is sent."""
        us = {"name": "gatebell", "title": "gatebell", "version": "1"}
        self._call("initialize", {"clientInfo": us, "capabilities": None})
        self._send({"method": "initialized"})
        order = self._order
        # A model may be set to judge in the person's place.
        wanted: dict[str, Any] = {"approvalPolicy": _POLICY, "approvalsReviewer": "user"}
        wanted |= {"model": model} if (model := _model(order)) else {}
        # A turn that was killed may have begun the session already, or never.
        begun = order.session and (
            not order.fresh or session_logs.find(AgentCli.CODEX, order.session, os.environ)
        )
        if begun or order.fork_of:
            method = "thread/resume" if begun else "thread/fork"
            old = order.session if begun else order.fork_of
            wanted |= {"threadId": old, "cwd": order.cwd, "excludeTurns": True}
        else:
            # Told the folder, it would write into the user's settings that it is trusted.
            method = "thread/start"
        given = self._call(method, wanted)
        if given["approvalPolicy"] != _POLICY or not self._holds(given["sandbox"]):
            raise _TurnError(
                "codex would not ask before it leaves the worktree, so nothing was sent: "
                "look for settings that your organisation makes for it"
            )
        self._thread = given["thread"]["id"]
        if self._thread != order.session:
            self._events.met(self._thread)

    def _holds(self, sandbox: dict[str, Any]) -> bool:
        """Whether this sandbox lets nothing be changed but the worktree and the signal."""
        if sandbox["type"] == "readOnly":
            return not sandbox["networkAccess"]
        open_to = sandbox.get("networkAccess") or not sandbox.get("excludeSlashTmp")
        more = set(sandbox.get("writableRoots", ())) - set(_signal_folders(self._order))
        return sandbox["type"] == "workspaceWrite" and not open_to and not more

    def _call(self, method: str, params: dict[str, Any]) -> Any:
        """What codex replies to a request; whatever else it says meanwhile is heard."""
        self._requests += 1
        number = self._requests
        self._send({"id": number, "method": method, "params": params})
        while True:
            message = self._hear()
            if message.get("id") == number and "method" not in message:
                if "error" in message:
                    raise _TurnError(f"codex refused {method}: {message['error'].get('message')}")
                return message["result"]

    def _send(self, message: dict[str, Any]) -> None:
        self._agent.send(json.dumps(message).encode() + b"\n")

    def _hear(self) -> dict[str, Any]:
        message = self._next()
        method, params = message.get("method"), message.get("params", {})
        if method and "id" in message:
            # Beside the reader: a person may take hours, and other calls go on.
            threading.Thread(target=self._answer, args=(message,), daemon=True).start()
        elif method in ("item/started", "item/completed"):
            self._note(method, params)
        elif method == "turn/completed":
            self._ended[params["turn"]["id"]] = params["turn"]
        elif method == "error":
            self._events.said(f"codex: {params['error']['message']}")
        return message

    def _next(self) -> dict[str, Any]:
        for line in self._lines:
            # What is torn or from somebody else on the way says nothing.
            with suppress(ValueError, RecursionError):
                message = json.loads(line)
                if isinstance(message, dict):
                    return message
        raise _TurnError(self._agent.problem() or "It ended in the middle of its turn.")

    def _note(self, method: str, params: dict[str, Any]) -> None:
        item = params["item"]
        if method == "item/started":
            self._items[item["id"]] = item
            if item["type"] == "commandExecution":
                self._events.said(f"$ {unwrap_shell(item['command'])}")
            elif item["type"] == "mcpToolCall":
                self._events.said(f"{tool_of(item)} {json.dumps(item['arguments'])}")
                if tool_of(item) in _ASKING:
                    self._agent.pause()
            return
        self._items.pop(item["id"], None)
        if item["type"] == "mcpToolCall" and tool_of(item) in _ASKING:
            self._agent.go_on()
        if item["type"] == "fileChange":
            self._events.said("\n".join(f"changed {change['path']}" for change in item["changes"]))
        elif item["type"] == "agentMessage":
            self._events.said(item["text"])
            # Helpers that the agent starts speak in threads of their own.
            if params["threadId"] == self._thread:
                self._words = item["text"]

    def _answer(self, request: dict[str, Any]) -> None:
        """Have a request decided; on a thread of its own."""
        try:
            params, method = request["params"], request["method"]
            calls = list(calls_of(request, self._items, self._order.cwd))
            if not calls:
                self._send({"id": request["id"], "error": _NOT_ANSWERED})
                return
            self._agent.pause()
            try:
                refused = self._describe_refusal(calls)
            finally:
                self._agent.go_on()
            if refused is not None:
                self._tell(params, refused)
            self._send({"id": request["id"], "result": reply(method, refused is None)})
        except BaseException as error:  # whatever it is, it is raised where the agent was launched
            self._agent.stop(error)

    def _describe_refusal(self, calls: list[tuple[str, Any, str]]) -> str | None:
        """What the agent is told, when not every call may run as it is."""
        for tool, given, call_id in calls:
            ruling = self._events.permit(tool, given, call_id)
            if not ruling.allow:
                return ruling.message
            if ruling.input is not None and ruling.input != given:
                # Codex takes no edited call.
                return instead(tool, ruling)
        return None

    def _tell(self, params: dict[str, Any], words: str) -> None:
        """Send words along with a refusal, which itself has no room for any."""
        if words and params.get("turnId"):
            text = {"type": "text", "text": words, "text_elements": []}
            turn = {"threadId": params["threadId"], "expectedTurnId": params["turnId"]}
            # Nobody waits for the reply; it has an id that no call of ours has.
            self._send({"id": "tell", "method": "turn/steer", "params": turn | {"input": [text]}})


def _why(turn: dict[str, Any]) -> str:
    if turn["status"] == "interrupted":
        return "codex was interrupted before it had ended its turn"
    error = turn.get("error") or {}
    details = error.get("additionalDetails")
    return f"codex: {error.get('message', turn['status'])}{f' ({details})' if details else ''}"
