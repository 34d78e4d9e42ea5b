"""Drive any agent that speaks the agent client protocol: one process per turn, JSON-RPC by lines.

The program must ask before it acts, so its mode is checked before anything is sent. Its permission
requests and its forms go to people; a yes always covers one call.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from gatebell.adapters.agents import acp_calls, acp_programs, agent_process
from gatebell.adapters.agents.codex_calls import describe_changed_call
from gatebell.adapters.agents.command import CommandDriver
from gatebell.errors import UsageError
from gatebell.ports.agents import Ended

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gatebell.adapters.agents.acp_programs import AcpProgram
    from gatebell.adapters.agents.agent_process import Agent
    from gatebell.ports.agents import Events, Order

_VERSION = 1
_INITIALIZE = {
    "protocolVersion": _VERSION,
    "clientCapabilities": {
        "fs": {"readTextFile": False, "writeTextFile": False},
        "terminal": False,
        "elicitation": {"form": {}},
    },
    "clientInfo": {"name": "gatebell", "title": "gatebell", "version": "1"},
}
# An agent may give its servers a small environment.
_FOR_OUR_SERVER = ("GATE_STORE", "GATE_URL", "XDG_DATA_HOME", "XDG_CONFIG_HOME")
_NOT_ANSWERED = {"code": -32601, "message": "gate cannot answer this request"}
_INVALID = {"code": -32602, "message": "gate cannot read this request"}
_NOT_SHOWN = "This call was refused, because the request does not describe it."
_ENDED = ("completed", "failed")


class AcpDriver:
    """Runs gemini, opencode, copilot, or a role's own program with the protocol."""

    takes_edits = False
    asks_about_edits = True

    def __init__(self, cli: str) -> None:
        self._program = acp_programs.find_program(cli)

    def new_session(self) -> str:
        """Return "": the agent chooses the id, and reports it before anything is sent."""
        return ""

    def was_turn_sent(self, session: str, turn_id: str) -> bool:
        """Return False: the protocol shows no log, so an interrupted turn is sent again."""
        return False

    def knows(self, session: str) -> bool:
        """Return whether it can load sessions at all; one that it lost ends the turn as `gone`."""
        return self._program.loads

    def run(self, order: Order, events: Events) -> Ended:
        words = acp_programs.build_command(order)
        order = order._replace(environ=acp_programs.build_environ(order))
        with agent_process.launch_agent(words, order, events) as agent:
            return _Turn(agent, order, events, self._program).run()

    def join(self, order: Order) -> list[str]:
        return CommandDriver().join(order)


class _TurnError(Exception):
    """The reason why the turn cannot go on, as a sentence."""


class _MalformedError(_TurnError):
    """A message is not as the protocol has it."""


@contextmanager
def _reading() -> Iterator[None]:
    """Turn an error that a part of another type causes into one sentence."""
    try:
        yield
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise _MalformedError(
            f"it sent a message that is not of the agent client protocol ({error!r})"
        ) from error


class _GoneError(_TurnError):
    """The agent cannot go on with the session; nothing was sent."""


class _Turn:
    """One turn, from the first line to the last."""

    def __init__(self, agent: Agent, order: Order, events: Events, program: AcpProgram) -> None:
        self._agent = agent
        self._order = order
        self._events = events
        self._program = program
        self._lines = agent.whole_lines()
        self._session = ""
        self._requests = 0
        self._calls: dict[str, dict[str, Any]] = {}
        """Everything that the agent said about each of its calls, by call id."""
        self._waiting: set[str] = set()
        """The calls of our own tool in which a person is asked."""
        self._words, self._speaks = "", False
        self._refusals: list[str] = []
        self._lock = threading.Lock()

    def run(self) -> Ended:
        try:
            self._open()
            stopped = self._prompt(self._order.text)
            while told := self._take_refusals():
                stopped = self._prompt(told)
        except _TurnError as error:
            return Ended(False, self._words, str(error), gone=isinstance(error, _GoneError))
        self._agent.dismiss()
        for _ in self._lines:
            pass
        ok = stopped == "end_turn"
        return Ended(ok, self._words, "" if ok else f"It ended its turn early: {stopped}")

    def _open(self) -> None:
        """Open a session; report its id before anything is sent."""
        agent = self._call("initialize", _INITIALIZE)
        if agent.get("protocolVersion") != _VERSION:
            raise _TurnError(f"it does not speak version {_VERSION} of the agent client protocol")
        order = self._order
        params = {"cwd": order.cwd, "mcpServers": [self._describe_server()]}
        if old := order.session or order.fork_of:
            loads = (agent.get("agentCapabilities") or {}).get("loadSession")
            if not loads or not order.session or not self._program.loads:
                raise _GoneError("it cannot go on with a session")
            try:
                opened = self._call("session/load", {"sessionId": old, **params})
            except _RefusedError as error:
                raise _GoneError(str(error)) from None
            self._session = old
        else:
            opened = self._call("session/new", params)
            self._session = opened["sessionId"]
        mode = acp_calls.find_unasked_mode(opened or {})
        with _reading():
            asking = acp_calls.choose_mode(opened or {})
        if mode or asking is None:
            raise _TurnError(
                f"it would act without asking (its mode is {mode or 'a review by a model'}), so "
                "nothing was sent: choose another mode in its settings"
            )
        if asking:
            self._call("session/set_mode", {"sessionId": self._session, "modeId": asking})
        if self._session != order.session:
            self._events.met(self._session)

    def _describe_server(self) -> dict[str, Any]:
        told = {name: os.environ[name] for name in _FOR_OUR_SERVER if name in os.environ}
        told |= {**self._order.environ, agent_process.MARK: self._order.turn_id}
        return {
            "name": acp_programs.SERVER,
            "command": sys.executable,
            "args": ["-P", "-m", "gatebell", "mcp"],
            "env": [{"name": name, "value": value} for name, value in told.items()],
        }

    def _prompt(self, text: str) -> str:
        """Send words, wait for the end of the agent's work, and return why it stopped."""
        self._words, self._speaks = "", False
        words = [{"type": "text", "text": text}]
        ended = self._call("session/prompt", {"sessionId": self._session, "prompt": words})
        self._end_message()
        return str(ended.get("stopReason"))

    def _call(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Send a request and return the result; handle the messages that come before it."""
        self._requests += 1
        number = self._requests
        self._send({"id": number, "method": method, "params": params})
        while True:
            message = self._hear()
            if message.get("id") == number and "method" not in message:
                if "error" in message:
                    with _reading():
                        refused = _RefusedError(method, message["error"] or {})
                    raise refused
                with _reading():
                    return dict(message.get("result") or {})

    def _send(self, message: dict[str, Any]) -> None:
        self._agent.send(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    def _hear(self) -> dict[str, Any]:
        message = self._next()
        method, params = message.get("method"), message.get("params") or {}
        if method and "id" in message:
            if method == "session/request_permission":
                with _reading():
                    # The request may leave out parts that the agent said before.
                    params["toolCall"] = dict(self._add_call(params["toolCall"]))
            # On another thread: a person may take hours, and other calls go on.
            threading.Thread(target=self._answer, args=(message,), daemon=True).start()
        elif method == "session/update":
            with _reading():
                update, session = params["update"], params.get("sessionId")
                self._note(dict(update), session)
        return message

    def _next(self) -> dict[str, Any]:
        for line in self._lines:
            # Ignore lines that are incomplete or not of the protocol.
            with suppress(ValueError, RecursionError):
                message = json.loads(line)
                if isinstance(message, dict):
                    return message
        raise _TurnError(self._agent.problem() or "It ended in the middle of its turn.")

    def _note(self, update: dict[str, Any], session: str | None) -> None:
        told = update.get("sessionUpdate")
        if not self._session:
            # A session that is being loaded repeats its old messages and calls.
            return
        if told == "agent_message_chunk" and session == self._session:
            # Words after an action are a new message.
            self._words = self._words if self._speaks else ""
            self._speaks = True
            self._words += update["content"].get("text", "")
        elif told in ("tool_call", "tool_call_update"):
            self._end_message()
            if told == "tool_call":
                self._calls.pop(str(update.get("toolCallId")), None)
                self._events.said(f"{update.get('kind', 'tool')}: {update.get('title', '')}")
            self._keep_time(self._add_call(update))
        elif told == "current_mode_update" and acp_calls.is_unasked(str(update["currentModeId"])):
            raise _TurnError(f"it changed to a mode without questions: {update['currentModeId']}")

    def _end_message(self) -> None:
        if self._speaks:
            self._events.said(self._words)
        self._speaks = False

    def _add_call(self, told: dict[str, Any]) -> dict[str, Any]:
        known = self._calls.setdefault(str(told.get("toolCallId")), {})
        known |= {name: part for name, part in told.items() if part is not None}
        return known

    def _keep_time(self, call: dict[str, Any]) -> None:
        """Stop the clock while our own tool asks a person."""
        call_id, over = str(call.get("toolCallId")), call.get("status") in _ENDED
        if over and call_id in self._waiting:
            self._waiting.remove(call_id)
            self._agent.go_on()
        elif not over and call_id not in self._waiting and _is_our_question(call):
            self._waiting.add(call_id)
            self._agent.pause()

    def _answer(self, request: dict[str, Any]) -> None:
        """Have a person or a rule decide a request; runs on its own thread."""
        try:
            params: Any = request.get("params")
            answers = {
                "session/request_permission": self._decide,
                "elicitation/create": self._fill_form,
            }
            answer = answers.get(str(request["method"])) if isinstance(params, dict) else None
            if answer is None:
                self._send({"id": request["id"], "error": _NOT_ANSWERED})
                return
            self._agent.pause()
            try:
                reply = {"result": answer(params)}
            except _MalformedError:
                reply = {"error": _INVALID}
            finally:
                self._agent.go_on()
            self._send({"id": request["id"], **reply})
        except BaseException as error:  # any error is raised where the agent was launched
            self._agent.stop(error)

    def _decide(self, params: dict[str, Any]) -> dict[str, Any]:
        asked = params["toolCall"]
        with _reading():
            yes, no = (
                acp_calls.build_reply(params.get("options") or [], allow=allow)
                for allow in (True, False)
            )
        refused = self._describe_refusal(asked)
        if refused is None:
            if yes != acp_calls.CANCELLED:
                return yes
            refused = "It was allowed once, but the agent offers only a lasting permission."
        with self._lock:
            self._refusals.append(f"{asked.get('title') or 'a call'}: {refused}")
        return no

    def _describe_refusal(self, asked: dict[str, Any]) -> str | None:
        """Return the message for the agent, unless every call may run unchanged."""
        named = self._program.names_commands
        with _reading():
            calls = acp_calls.list_calls(asked, self._order.cwd, names_commands=named)
        if not calls:
            return _NOT_SHOWN
        for tool, given, call_id in calls:
            try:
                ruling = self._events.permit(tool, given, call_id)
            except UsageError as error:
                return str(error)
            if not ruling.allow:
                return ruling.message or "No person allowed this"
            if ruling.input is not None and ruling.input != given:
                return describe_changed_call(tool, ruling)
        return None

    def _fill_form(self, params: dict[str, Any]) -> dict[str, Any]:
        """Ask people the questions of a form; what cannot be asked is declined."""
        with _reading():
            call = acp_calls.build_questions(params)
        if params.get("mode", "form") != "form" or not call[1]["questions"]:
            return acp_calls.DECLINED
        try:
            ruling = self._events.permit(*call)
        except UsageError:
            return acp_calls.DECLINED
        with _reading():
            content = acp_calls.build_content(params, ruling.input or {}) if ruling.allow else None
        return acp_calls.DECLINED if content is None else {"action": "accept", "content": content}

    def _take_refusals(self) -> str:
        """Return the words for the agent: a refusal in the protocol has no field for them."""
        with self._lock:
            told, self._refusals = self._refusals, []
        if not told:
            return ""
        lines = "\n".join(f"- {one}" for one in told)
        return (
            f"These calls were refused and did not run:\n{lines}\n"
            "Go on with your turn without them, and end it with your signal."
        )


class _RefusedError(_TurnError):
    """The agent answered a request with an error."""

    def __init__(self, method: str, error: dict[str, Any]) -> None:
        details = (error.get("data") or {}) if isinstance(error.get("data"), dict) else {}
        said = details.get("details") or error.get("message")
        super().__init__(f"the agent refused {method}: {said}")


def _is_our_question(call: dict[str, Any]) -> bool:
    named = str(call.get("title"))
    return acp_programs.SERVER in named and "ask_human" in named
