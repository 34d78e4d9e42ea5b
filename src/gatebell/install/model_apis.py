"""The APIs of gemini (generateContent) and of opencode and copilot (chat completions)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from gatebell.domain.enums import StrEnum

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    Api = Callable[[str, list[dict[str, str]], bool], list[str]]


class TurnKind(StrEnum):
    """The source of a part of a conversation."""

    USER = "user"
    MODEL = "model"
    CALLED = "called"
    RESULT = "result"


_GEMINI_USAGE = {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}
_CHAT_USAGE = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}


def read_contents(contents: Iterable[Mapping[str, Any]]) -> Iterator[tuple[TurnKind, str]]:
    """Yield the texts, the tool calls and the tool results of a conversation with gemini."""
    number = 0
    for message in contents:
        parts = message.get("parts", ())
        if any("functionCall" in part for part in parts):
            # It does not keep the ids of calls, so the steps are counted.
            yield TurnKind.CALLED, f"_step{number}_"
            number += 1
        for part in parts:
            if "functionResponse" in part:
                yield TurnKind.RESULT, json.dumps(part["functionResponse"].get("response"))
            elif "text" in part:
                is_user = message.get("role") == "user"
                yield TurnKind.USER if is_user else TurnKind.MODEL, part["text"]


def flatten_tools(tools: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield each offered tool with its name at the top."""
    for offer in tools:
        if "function" in offer:
            yield offer["function"]
        elif "functionDeclarations" in offer:
            yield from offer["functionDeclarations"]
        else:
            yield offer


def find_api(path: str) -> Api | None:
    """Return the API of a path."""
    if path.endswith("/chat/completions"):
        return _answer_chat
    return _answer_gemini if path.endswith("enerateContent") else None


def is_streamed(path: str, request: Mapping[str, Any]) -> bool:
    """Return whether the answer is a stream of events."""
    return bool(request.get("stream")) or path.endswith(":streamGenerateContent")


def _answer_gemini(words: str, calls: list[dict[str, str]], is_streamed: bool) -> list[str]:
    parts: list[dict[str, Any]] = [
        {"functionCall": {"name": call["name"], "args": json.loads(call["input"])}}
        for call in calls
    ]
    content = {"role": "model", "parts": parts or [{"text": words}]}
    document = {
        "candidates": [{"content": content, "finishReason": "STOP", "index": 0}],
        "usageMetadata": _GEMINI_USAGE,
    }
    return [f"data: {json.dumps(document)}" if is_streamed else json.dumps(document)]


def _answer_chat(words: str, calls: list[dict[str, str]], is_streamed: bool) -> list[str]:
    said: dict[str, Any] = {"role": "assistant", "content": None if calls else words}
    if calls:
        said["tool_calls"] = [
            {
                "index": index,
                "id": call["id"],
                "type": "function",
                "function": {"name": call["name"], "arguments": call["input"]},
            }
            for index, call in enumerate(calls)
        ]
    end = "tool_calls" if calls else "stop"
    base = {"id": "c", "created": 0, "model": "script"}
    if not is_streamed:
        choice = {"index": 0, "message": said, "finish_reason": end}
        whole = base | {"object": "chat.completion", "choices": [choice], "usage": _CHAT_USAGE}
        return [json.dumps(whole)]
    base["object"] = "chat.completion.chunk"
    first = base | {"choices": [{"index": 0, "delta": said, "finish_reason": None}]}
    last = base | {"choices": [{"index": 0, "delta": {}, "finish_reason": end}]}
    last["usage"] = _CHAT_USAGE
    return [f"data: {json.dumps(first)}", f"data: {json.dumps(last)}", "data: [DONE]"]
