"""A local model with the APIs of gemini, opencode and copilot: one tool call, then a text.

The call is in the prompt: `call<<{"name": …, "input": …}>>call`.
"""

from __future__ import annotations

import json
import re
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

_CALL = re.compile(r"call<<(.*?)>>call", re.DOTALL)


def build_prompt(name: str, tool_input: dict[str, Any]) -> str:
    return f"call<<{json.dumps({'name': name, 'input': tool_input})}>>call"


class OneCallModel(ThreadingHTTPServer):
    """Listens on a free local port while the `with` block runs."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.results = []
        """What the agents were told about their calls."""

    def __enter__(self):
        Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_):
        self.shutdown()
        self.server_close()


def _read_texts(request):
    """Yield the texts of the user, and the results of calls."""
    for message in request.get("messages", ()):
        content = message.get("content") or ""
        parts = content if isinstance(content, list) else [{"text": content}]
        words = "".join(part.get("text", "") for part in parts)
        if message["role"] in ("user", "tool"):
            yield message["role"], words
    for message in request.get("contents", ()):
        for part in message.get("parts", ()):
            if "functionResponse" in part:
                yield "tool", json.dumps(part["functionResponse"].get("response"))
            elif message.get("role") == "user" and "text" in part:
                yield "user", part["text"]


class _Handler(BaseHTTPRequestHandler):
    server: OneCallModel

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        texts = list(_read_texts(request))
        results = [words for role, words in texts if role == "tool"]
        found = [hit for role, words in texts if role == "user" for hit in _CALL.findall(words)]
        self.server.results += results
        # opencode writes the prompt with more backslashes.
        call = json.loads(found[-1].replace('\\"', '"')) if found and not results else None
        if "GenerateContent" in self.path or "generateContent" in self.path:
            self._send(_answer_gemini(call), stream="stream" in self.path)
        elif self.path.endswith("/chat/completions"):
            self._send(_answer_chat(call, stream=request.get("stream")), request.get("stream"))
        else:
            self.send_error(404)

    def do_GET(self):
        self.send_error(404)

    def _send(self, chunks, stream):
        self.send_response(200)
        self.send_header("content-type", "text/event-stream" if stream else "application/json")
        self.end_headers()
        for chunk in chunks if stream else chunks[-1:]:
            line = chunk if isinstance(chunk, str) else json.dumps(chunk)
            self.wfile.write((f"data: {line}\n\n" if stream else line).encode())

    def log_message(self, *_):
        """Print nothing."""


def _answer_gemini(call):
    part = {"functionCall": {"name": call["name"], "args": call["input"]}} if call else None
    content = {"role": "model", "parts": [part or {"text": "done"}]}
    usage = {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}
    return [
        {
            "candidates": [{"content": content, "finishReason": "STOP", "index": 0}],
            "usageMetadata": usage,
        }
    ]


def _answer_chat(call, stream):
    said: dict[str, Any] = {"role": "assistant", "content": None if call else "done"}
    if call:
        function = {"name": call["name"], "arguments": json.dumps(call["input"])}
        said["tool_calls"] = [
            {"index": 0, "id": "call_1", "type": "function", "function": function}
        ]
    end = "tool_calls" if call else "stop"
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    base = {"id": "c", "object": "chat.completion.chunk", "created": 0, "model": "script"}
    if not stream:
        choice = {"index": 0, "message": said, "finish_reason": end}
        return [{**base, "object": "chat.completion", "choices": [choice], "usage": usage}]
    return [
        {**base, "choices": [{"index": 0, "delta": said, "finish_reason": None}]},
        {**base, "choices": [{"index": 0, "delta": {}, "finish_reason": end}], "usage": usage},
        "[DONE]",
    ]
