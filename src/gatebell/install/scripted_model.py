"""A local model that follows a script, to try real agent CLIs.

It speaks the Messages API (claude), the Responses API (codex), and those of model_apis.py (gemini,
opencode, copilot). The script is in the prompt, and the current step is in the ids of the tool
calls. So resumed and parallel sessions work.

with ScriptedModel() as model:
    prompt = script([tool("Bash", command="ls"), text("It printed: {{result}}")])
"""

from __future__ import annotations

import json
import re
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import TYPE_CHECKING, Any, Self
from uuid import uuid4

from gatebell.install import model_apis
from gatebell.install.model_apis import TurnKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

_SCRIPT = re.compile(r"\bscript<<(.*?)>>script\b", re.DOTALL)
_STEP = re.compile(r"_step(\d+)_")
_RESULT = re.compile(r"\{\{result(?::(.+?))?\}\}")


_SPEAKERS = {"user": TurnKind.USER, "assistant": TurnKind.MODEL, "tool": TurnKind.RESULT}
# The text that claude adds as the model's reply after a crash.
_NOT_SAID = ("No response requested.",)
_USAGE = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}


def text(words: str) -> dict[str, Any]:
    """Reply with this text and end the turn.

    Here and in the input of tools, {{result}} means the latest tool result, and
    {{result:PATTERN}} the part of it that matches.
    """
    return {"text": words}


def tool(name: str, /, **arguments: Any) -> dict[str, Any]:
    """Call one tool; the host's prefix of its name (`mcp__server__`) may be omitted."""
    return tools((name, arguments))


def tools(*calls: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    """Call several tools in one turn."""
    return {"calls": [{"name": name, "input": arguments} for name, arguments in calls]}


def script(steps: Sequence[dict[str, Any]]) -> str:
    """Return the part of a prompt with the steps for the model, in order."""
    # Escaped: a step may contain the prompt, with its own script, of a sub-agent.
    words = json.dumps(steps).replace("<<", r"\u003c\u003c").replace(">>", r"\u003e\u003e")
    return f"script<<{words}>>script"


def tool_results(request: dict[str, Any]) -> list[str]:
    """Return the tool results in a request to the model."""
    return [words for kind, words in _turns(request) if kind == TurnKind.RESULT]


class ScriptedModel(ThreadingHTTPServer):
    """Listens on a free local port while the `with` block runs."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.requests: list[dict[str, Any]] = []
        """Every request for an answer, in order."""
        self.called = 0
        """The number of tool calls that were sent to the agents."""

    def __enter__(self) -> Self:
        Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self.server_close()


def _turns(request: dict[str, Any]) -> Iterator[tuple[TurnKind, str]]:
    """Yield the texts of the user and of the model, the tool calls, and the tool results."""
    yield from model_apis.read_contents(request.get("contents", ()))
    for message in request.get("messages", ()):
        yield from ((TurnKind.CALLED, call["id"]) for call in message.get("tool_calls") or ())
        for block in _blocks(message.get("content") or ""):
            if block["type"] == "tool_use":
                yield TurnKind.CALLED, block["id"]
            elif block["type"] == "tool_result":
                yield TurnKind.RESULT, _words(block.get("content", ""))
            elif block["type"] == "text" and message["role"] in _SPEAKERS:
                yield _SPEAKERS[message["role"]], block["text"]
    for item in request.get("input", ()):
        if item["type"] == "function_call":
            yield TurnKind.CALLED, item["call_id"]
        elif item["type"] == "function_call_output":
            yield TurnKind.RESULT, _words(item["output"])
        elif item["type"] == "message" and item["role"] in _SPEAKERS:
            yield _SPEAKERS[item["role"]], _words(item["content"])


def _blocks(content: Any) -> list[dict[str, Any]]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _words(content: Any) -> str:
    return "\n".join(block["text"] for block in _blocks(content) if "text" in block)


def _next_step(request: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    """Return the next step: the one after the last step that the model has played."""
    steps, number, result, replied = [text("there is no script in this prompt")], 0, "", False
    for kind, words in _turns(request):
        if kind == TurnKind.USER and (found := _SCRIPT.findall(words)):
            steps, number, replied = _read_steps(found[-1]), 0, False
        elif kind == TurnKind.USER and replied:
            # A later turn of the same session continues the same script.
            number, replied = number + 1, False
        elif kind == TurnKind.MODEL:
            replied = words not in _NOT_SAID
        elif kind == TurnKind.CALLED and (called := _STEP.search(words)):
            number = int(called[1]) + 1
        elif kind == TurnKind.RESULT:
            result = words
    step = steps[number] if number < len(steps) else text("the script is at its end")
    return number, _fill(step, result)


def _read_steps(words: str) -> list[dict[str, Any]]:
    # opencode writes a backslash before each quote of a prompt.
    return list(json.loads(words.replace('\\"', '"') if words.startswith('[{\\"') else words))


def _fill(step: dict[str, Any], result: str) -> dict[str, Any]:
    def part(found: re.Match[str]) -> str:
        matched = re.search(found[1] or "(?s:.*)", result)
        return json.dumps(matched[0] if matched else "")[1:-1]

    return dict(json.loads(_RESULT.sub(part, json.dumps(step))))


def _answer(request: dict[str, Any]) -> tuple[str, list[dict[str, str]]]:
    """Return the text of the reply, or the tool calls."""
    number, step = _next_step(request)
    calls = []
    for call in step.get("calls", ()):
        for namespace, name in _list_offered(request.get("tools", ())):
            if name == call["name"] or name.endswith(f"__{call['name']}"):
                # Ids must also differ between two sessions that play the same script.
                made = {"id": f"call_step{number}_{uuid4().hex[:16]}", "name": name}
                calls.append(made | {"namespace": namespace, "input": json.dumps(call["input"])})
                break
        else:
            return f"the tool {call['name']} is not offered", []
    return step.get("text", ""), calls


def _list_offered(tools: Iterable[dict[str, Any]]) -> Iterator[tuple[str, str]]:
    """Yield namespace and name of each tool; only the Responses API has namespaces."""
    for offer in model_apis.flatten_tools(tools):
        if offer.get("type") == "namespace":
            yield from ((offer["name"], name) for _, name in _list_offered(offer["tools"]))
        elif "name" in offer:
            yield "", offer["name"]


def _message_events(words: str, calls: list[dict[str, str]]) -> Iterator[dict[str, Any]]:
    """Yield the events of an answer in the Messages API."""
    message = {"id": f"msg_{uuid4().hex}", "role": "assistant", "model": "script", "content": []}
    yield {"type": "message_start", "message": {"type": "message", "usage": _USAGE} | message}
    blocks: list[tuple[dict[str, Any], dict[str, Any]]] = [
        (
            {"type": "tool_use", "id": call["id"], "name": call["name"], "input": {}},
            {"type": "input_json_delta", "partial_json": call["input"]},
        )
        for call in calls
    ] or [({"type": "text", "text": ""}, {"type": "text_delta", "text": words})]
    for index, (block, delta) in enumerate(blocks):
        yield {"type": "content_block_start", "index": index, "content_block": block}
        yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    reason = {"stop_reason": "tool_use" if calls else "end_turn"}
    yield {"type": "message_delta", "delta": reason, "usage": _USAGE}
    yield {"type": "message_stop"}


def _response_events(words: str, calls: list[dict[str, str]]) -> Iterator[dict[str, Any]]:
    """Yield the events of an answer in the Responses API."""
    response = {"id": f"resp_{uuid4().hex}", "usage": _USAGE}
    said = [{"type": "output_text", "text": words}]
    yield {"type": "response.created", "response": response}
    items: list[dict[str, Any]] = [
        {"type": "function_call", "call_id": call["id"], "arguments": call["input"]}
        | {key: call[key] for key in ("name", "namespace") if call[key]}
        for call in calls
    ] or [{"type": "message", "role": "assistant", "content": said}]
    for item in items:
        yield {"type": "response.output_item.done", "item": item}
    yield {"type": "response.completed", "response": response}


class _Handler(BaseHTTPRequestHandler):
    server: ScriptedModel

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        apis = {"/v1/messages": _message_events, "/v1/responses": _response_events}
        path = self.path.partition("?")[0]
        is_stream = path in apis or model_apis.is_streamed(path, request)
        words, calls = _answer(request)
        if path in apis:
            found = apis[path](words, calls)
            sent = [f"event: {one['type']}\ndata: {json.dumps(one)}" for one in found]
        elif api := model_apis.find_api(path):
            sent = api(words, calls, is_stream)
        else:
            self.send_error(404)
            return
        self.server.requests.append(request)
        self.server.called += len(calls)
        self.send_response(200)
        self.send_header("content-type", "text/event-stream" if is_stream else "application/json")
        self.end_headers()
        with suppress(ConnectionError):  # an agent may be killed in between
            for one in sent:
                self.wfile.write(f"{one}\n\n".encode())

    def log_message(self, *_: object) -> None:
        """Print nothing: only the rehearsal writes output."""
