"""Drive Codex through its app server: one process per turn, with JSON lines both ways.

Actions that its sandbox keeps inside the worktree need no permission; all others do.
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
    build_reply,
    describe_changed_call,
    list_calls,
    name_tool,
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
# Codex passes almost none of its environment to its servers [seen with 0.166.0].
_FOR_OUR_SERVER = ("GATE_STORE", "GATE_URL", "XDG_DATA_HOME", "XDG_CONFIG_HOME")
# The name that `gate install` uses: this server then replaces the installed one.
_SERVER = "gatebell"
# A server that was installed under the old name may run beside it.
_ASKING = tuple(
    f"mcp__{server}__{tool}" for server in (_SERVER, OLD_NAME) for tool in ("ask_human", "approve")
)
_POLICY = "on-request"
_NEVER = ("danger", "yolo")
_CHANGING_TOOLS = frozenset([*WRITERS, "Bash"])
_GONE = re.compile(r"no rollout found for thread id|failed to read session metadata")
_NOT_ANSWERED = {"code": -32601, "message": "gate cannot answer this request"}


class CodexDriver:
    """Runs `codex`. It asks for permission for actions outside of its folder."""

    takes_edits = False
    asks_about_edits = False

    def new_session(self) -> str:
        """Return "": codex chooses the id, and reports it before anything is sent."""
        return ""

    def was_turn_sent(self, session: str, turn_id: str) -> bool:
        path = session_logs.find(AgentCli.CODEX, session, os.environ)
        return bool(path) and any(_is_sent(line, turn_id) for line in _read_lines(path))

    def knows(self, session: str) -> bool:
        return session_logs.is_kept(AgentCli.CODEX, session, os.environ)

    def run(self, order: Order, events: Events) -> Ended:
        # The sandbox allows writes to $TMPDIR; the system's own may contain other people's
        # worktrees.
        with tempfile.TemporaryDirectory(prefix="gate-", ignore_cleanup_errors=True) as scratch:
            order = order._replace(environ={**order.environ, "TMPDIR": scratch})
            words = [*_build_command(order, "app-server"), *_build_settings(order)]
            with agent_process.launch_agent(words, order, events) as agent:
                return _Turn(agent, order, events).run()

    def join(self, order: Order) -> list[str]:
        resumed = [order.session] if order.session else []
        # A daemon would keep the session open after the person's terminal closed.
        words = [
            *_build_command(order, *["resume" for _ in resumed]),
            "--disable",
            "daemon_auto_start",
        ]
        words += ["--ask-for-approval", _POLICY, *_build_settings(order)]
        words += ["--model", model] if (model := _choose_model(order)) else []
        return [*words, *resumed]


def _build_command(order: Order, *subcommand: str) -> list[str]:
    for word in order.role.arguments:
        if any(never in word for never in _NEVER):
            raise UsageError(
                f"{word} in a role's arguments lets the agent do everything without asking: "
                "remove it; people decide in the inbox about the agent's actions"
            )
    return [agent_process.find_program("codex", order, _REMEDY), *subcommand, *order.role.arguments]


def _choose_model(order: Order) -> str:
    return "" if order.role.model == "inherit" else order.role.model


def _read_lines(path: str) -> Iterator[bytes]:
    try:
        with open(path, "rb") as file:
            yield from file
    except OSError:
        return


def _is_sent(line: bytes, turn_id: str) -> bool:
    """Return whether a log record is a message of the user that contains this turn's id."""
    if turn_id.encode() not in line:
        return False
    try:
        item = json.loads(line)["payload"]
        return bool(item["type"] == "message" and item["role"] == "user")
    except (ValueError, TypeError, KeyError):
        return False


def _build_settings(order: Order) -> list[str]:
    """Return options that win over the settings of the user and the project."""
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
        "writable_roots": _make_signal_folders(order),
    }
    said = {f"mcp_servers.{_SERVER}.{name}": value for name, value in server.items()}
    said |= {f"sandbox_workspace_write.{name}": value for name, value in sandbox.items()}
    # The model's provider does the search, where gate cannot ask a person.
    said |= {"sandbox_mode": _choose_sandbox(order), "web_search": "disabled"}
    # For these values, JSON is also valid TOML.
    return [word for name, value in said.items() for word in ("-c", f"{name}={json.dumps(value)}")]


def _choose_sandbox(order: Order) -> str:
    """Return the sandbox mode: read-only if none of the role's tools can change files."""
    tools = {tool.partition("(")[0] for tool in order.role.tools}
    return "read-only" if tools and not tools & _CHANGING_TOOLS else "workspace-write"


def _make_signal_folders(order: Order) -> list[str]:
    """Create and return the folder of the signal file, which codex would protect otherwise."""
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
    """The reason why the turn cannot go on, as a sentence."""


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
        """The items that the agent has begun and not ended, by call id."""
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
        return Ended(ok, self._words, "" if ok else _describe_failure(turn))

    def _open(self) -> None:
        """Open a thread; report its id before anything is sent."""
        us = {"name": "gatebell", "title": "gatebell", "version": "1"}
        self._call("initialize", {"clientInfo": us, "capabilities": None})
        self._send({"method": "initialized"})
        order = self._order
        # Otherwise codex may be set to have a model approve for the person.
        wanted: dict[str, Any] = {"approvalPolicy": _POLICY, "approvalsReviewer": "user"}
        wanted |= {"model": model} if (model := _choose_model(order)) else {}
        # A turn that was killed may or may not have created the session.
        begun = order.session and (
            not order.fresh or session_logs.find(AgentCli.CODEX, order.session, os.environ)
        )
        if begun or order.fork_of:
            method = "thread/resume" if begun else "thread/fork"
            old = order.session if begun else order.fork_of
            wanted |= {"threadId": old, "cwd": order.cwd, "excludeTurns": True}
        else:
            # With the folder given, codex would mark it as trusted in the user's settings.
            method = "thread/start"
        given = self._call(method, wanted)
        if given["approvalPolicy"] != _POLICY or not self._holds(given["sandbox"]):
            raise _TurnError(
                "codex would leave the worktree without asking, so nothing was sent: "
                "check the settings that your organisation enforces"
            )
        self._thread = given["thread"]["id"]
        if self._thread != order.session:
            self._events.met(self._thread)

    def _holds(self, sandbox: dict[str, Any]) -> bool:
        """Return whether this sandbox allows changes only to the worktree and the signal."""
        if sandbox["type"] == "readOnly":
            return not sandbox["networkAccess"]
        open_to = sandbox.get("networkAccess") or not sandbox.get("excludeSlashTmp")
        more = set(sandbox.get("writableRoots", ())) - set(_make_signal_folders(self._order))
        return sandbox["type"] == "workspaceWrite" and not open_to and not more

    def _call(self, method: str, params: dict[str, Any]) -> Any:
        """Send a request and return the result; handle the messages that come before it."""
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
            # On another thread: a person may take hours, and other calls go on.
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
            # Ignore lines that are incomplete or not from codex.
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
                self._events.said(f"{name_tool(item)} {json.dumps(item['arguments'])}")
                if name_tool(item) in _ASKING:
                    self._agent.pause()
            return
        self._items.pop(item["id"], None)
        if item["type"] == "mcpToolCall" and name_tool(item) in _ASKING:
            self._agent.go_on()
        if item["type"] == "fileChange":
            self._events.said("\n".join(f"changed {change['path']}" for change in item["changes"]))
        elif item["type"] == "agentMessage":
            self._events.said(item["text"])
            # Helpers that the agent starts write in their own threads.
            if params["threadId"] == self._thread:
                self._words = item["text"]

    def _answer(self, request: dict[str, Any]) -> None:
        """Have a person or a rule decide a request; runs on its own thread."""
        try:
            params, method = request["params"], request["method"]
            calls = list(list_calls(request, self._items, self._order.cwd))
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
            self._send({"id": request["id"], "result": build_reply(method, refused is None)})
        except BaseException as error:  # any error is raised where the agent was launched
            self._agent.stop(error)

    def _describe_refusal(self, calls: list[tuple[str, Any, str]]) -> str | None:
        """Return the message for the agent, unless every call may run unchanged."""
        for tool, given, call_id in calls:
            ruling = self._events.permit(tool, given, call_id)
            if not ruling.allow:
                return ruling.message
            if ruling.input is not None and ruling.input != given:
                # Codex does not accept an edited call.
                return describe_changed_call(tool, ruling)
        return None

    def _tell(self, params: dict[str, Any], words: str) -> None:
        """Send a message beside a refusal, which has no field for one."""
        if words and params.get("turnId"):
            text = {"type": "text", "text": words, "text_elements": []}
            turn = {"threadId": params["threadId"], "expectedTurnId": params["turnId"]}
            # The reply is ignored: its id is not the id of a request of ours.
            self._send({"id": "tell", "method": "turn/steer", "params": turn | {"input": [text]}})


def _describe_failure(turn: dict[str, Any]) -> str:
    if turn["status"] == "interrupted":
        return "codex was interrupted before it had ended its turn"
    error = turn.get("error") or {}
    details = error.get("additionalDetails")
    return f"codex: {error.get('message', turn['status'])}{f' ({details})' if details else ''}"
