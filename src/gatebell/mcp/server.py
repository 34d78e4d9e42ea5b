"""JSON-RPC over two streams: one line per message, one thread per call.

It supports three revisions: 2025-06-18 and 2025-11-25, which begin with `initialize`, and
2026-07-28, which begins with `server/discover` or without a first message.
"""

from __future__ import annotations

import json
import threading
from contextlib import suppress
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from gatebell import __version__
from gatebell.errors import GateError, UsageError
from gatebell.mcp.decision_form import Form
from gatebell.mcp.forms import Forms
from gatebell.mcp.schemas import PROPERTIES, TOOLS
from gatebell.mcp.tools import Tools, Work

if TYPE_CHECKING:
    from collections.abc import Callable

    from gatebell.mcp.tools import Text

_HANDSHAKES = ("2025-11-25", "2025-06-18")
_DISCOVERED = "2026-07-28"
_INFO = {"name": "gatebell", "version": __version__}
_META = {"io.modelcontextprotocol/serverInfo": _INFO}
_INSTRUCTIONS = (
    "A person answers through these tools. Ask with ask_human when only a person can know or "
    "decide; wait for the answer; take a no as final."
)
_ENDS_WITHIN_SECONDS = 2.0
_MAX_LINE_LENGTH = 16_000_000
_PARSE_ERROR, _INVALID, _NO_METHOD, _BAD_PARAMS = -32700, -32600, -32601, -32602


class Progress(NamedTuple):
    """Reports to the client that a call is still alive, if the client asked for it."""

    token: Any
    send: Callable[[dict[str, Any]], None]

    def tell(self, seconds: float, message: str) -> None:
        if self.token is not None:
            params = {"progressToken": self.token, "progress": seconds, "message": message}
            self.send({"method": "notifications/progress", "params": params})


class Server:
    """Serves one client until its input ends."""

    def __init__(self, reading: IO[bytes], writing: IO[bytes], limit_seconds: float) -> None:
        self._reading = reading
        self._writing = writing
        self._lock = threading.Lock()
        self._handing_over = threading.Lock()
        self._tools = Tools(limit_seconds)
        self._forms = Forms(self._send)
        self._approvals: list[threading.Thread] = []

    def serve(self) -> None:
        try:
            while line := self._reading.readline(_MAX_LINE_LENGTH):
                if line.strip():
                    self._receive(line)
        finally:
            self._tools.abandon()
            # A call that has just opened its ask withdraws it itself.
            for call in self._approvals:
                call.join(_ENDS_WITHIN_SECONDS)

    def _receive(self, line: bytes) -> None:
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            self._fail(None, _PARSE_ERROR, "this line is not JSON: send one JSON object per line")
            return
        if not isinstance(message, dict) or not isinstance(message.get("method", ""), str):
            self._fail(None, _INVALID, "a message is one JSON object with a method")
            return
        params = message.get("params")
        params = params if isinstance(params, dict) else {}
        if "method" not in message:
            self._forms.hear(message)
        elif "id" not in message:
            if message.get("method") == "notifications/cancelled":
                self._cancel(params)
        elif not _is_id(message["id"]):
            self._fail(None, _INVALID, "an id is a text or a whole number")
        elif message.get("method") == "tools/call":
            self._begin(message["id"], params)
        else:
            self._answer(message["id"], message["method"], params)

    def _cancel(self, params: dict[str, Any]) -> None:
        self._forms.give_up(params.get("requestId"))

        def cancel() -> None:
            # If the store fails now, the ask runs to its deadline.
            with suppress(GateError):
                self._tools.cancel(params["requestId"], str(params.get("reason", "")))

        if _is_id(params.get("requestId")):
            threading.Thread(target=cancel, daemon=True).start()

    def _answer(self, request: Any, method: str, params: dict[str, Any]) -> None:
        if method == "initialize":
            asked = params.get("protocolVersion")
            version = asked if asked in _HANDSHAKES else _HANDSHAKES[0]
            self._tools.meet(params.get("clientInfo"), params.get("capabilities"))
            result = {"protocolVersion": version, "serverInfo": _INFO, **_ABOUT}
        elif method == "server/discover":
            result = {"supportedVersions": [_DISCOVERED, *_HANDSHAKES], **_ABOUT}
        elif method == "ping":
            result = {}
        elif method == "tools/list":
            result = {"tools": TOOLS}
        else:
            self._fail(request, _NO_METHOD, f"there is no method {method}")
            return
        self._send({"id": request, "result": _complete(result, params)})

    def _begin(self, request: str | int, params: dict[str, Any]) -> None:
        name, given = str(params.get("name")), params.get("arguments", {})
        meta = params.get("_meta")
        meta = meta if isinstance(meta, dict) else {}
        if name not in PROPERTIES or not isinstance(given, dict):
            self._fail(request, _BAD_PARAMS, f"there is no tool {name!r} that takes this")
            return
        # Before its thread starts: a cancellation may be in the next line.
        work = self._tools.begin(
            request, name, meta, Progress(meta.get("progressToken"), self._send)
        )
        if work is None:
            self._fail(request, _INVALID, f"the id {request} is in use")
            return
        call = (request, work, name, given, params)
        thread = threading.Thread(target=self._call, args=call, daemon=True)
        if work.withdraw_always:
            alive = [one for one in self._approvals if one.is_alive()]
            self._approvals = [*alive, thread]
        thread.start()

    def _call(
        self, request: str | int, work: Work, name: str, given: dict[str, Any], params: Any
    ) -> None:
        with self._handing_over:
            # This call may reply to a result that was just sent, so record that first.
            pass
        try:
            made = self._run_call(request, work, name, given, params)
            if isinstance(made, Form):
                if self._tools.finish(request, work):
                    self._send({"id": request, "result": self._forms.keep(made) | {"_meta": _META}})
                return
            (text, handed_over), failed = made, False
        except GateError as error:
            text, handed_over, failed = str(error), None, True
        except Exception as error:
            # After any error the agent learns that nothing was decided.
            text, handed_over, failed = f"Nothing was decided: {error!r}", None, True
        result = {"content": [{"type": "text", "text": text}], "isError": failed}
        if self._tools.finish(request, work):
            with self._handing_over:
                self._send({"id": request, "result": _complete(result, params)})
                if handed_over:
                    handed_over()

    def _run_call(
        self, request: str | int, work: Work, name: str, given: dict[str, Any], params: Any
    ) -> Text | Form:
        """Return the result of a call, or the form that the host must show first."""
        if "requestState" in params:
            taken = self._forms.take(params["requestState"], params.get("inputResponses"))
            if taken is None:
                raise UsageError(
                    "this form is no longer open, so nothing was decided: propose again"
                )
            form, reply = taken
            return form.decided(reply), None
        made = self._tools.call(work, name, given)
        if not isinstance(made, Form) or _is_newest(params):
            return made
        return made.decided(self._forms.show(request, made)), None

    def _fail(self, request: Any, code: int, sentence: str) -> None:
        self._send({"id": request, "error": {"code": code, "message": sentence}})

    def _send(self, message: dict[str, Any]) -> None:
        line = json.dumps({"jsonrpc": "2.0"} | message).encode() + b"\n"
        with self._lock:
            self._writing.write(line)
            self._writing.flush()


def _is_id(given: Any) -> bool:
    return isinstance(given, str | int) and not isinstance(given, bool)


_ABOUT: dict[str, Any] = {"capabilities": {"tools": {}}, "instructions": _INSTRUCTIONS}


def _is_newest(params: dict[str, Any]) -> bool:
    meta = params.get("_meta")
    asked = meta.get("io.modelcontextprotocol/protocolVersion") if isinstance(meta, dict) else None
    return bool(asked == _DISCOVERED)


def _complete(result: dict[str, Any], params: dict[str, Any]) -> dict[str, Any]:
    """Add the fields that the newest revision requires; older clients ignore them."""
    if not _is_newest(params):
        return result
    more: dict[str, Any] = {"resultType": "complete", "_meta": _META}
    if "content" not in result:
        more |= {"ttlMs": 3_600_000, "cacheScope": "private"}
    return result | more
