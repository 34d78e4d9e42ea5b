"""Agents that ask by files, for tests: they follow the protocol as scripts/ask-human.sh does."""

from __future__ import annotations

import json
import os
import threading
import time
import uuid
from typing import Any

_POLL_SECONDS = 0.01


def set_up(project: str) -> None:
    """The folders that gate init makes."""
    for name in ("", "questions", "answers", "agents", "queue"):
        os.mkdir(os.path.join(project, ".helpers", name), 0o700)


class Agent:
    """An agent that has nothing but a shell."""

    def __init__(self, project: str, agent_id: str, name: str = "") -> None:
        self._folder = os.path.join(project, ".helpers")
        self._id, self._name = agent_id, name or agent_id

    def ask(self, content: str, **fields: Any) -> str:
        """Put a question; returns the name of its file."""
        key, now = str(uuid.uuid4()), int(time.time())
        question = {
            "id": key,
            "agent_id": self._id,
            "agent_name": self._name,
            "working_dir": os.path.dirname(self._folder),
            "timestamp": now,
            "type": "text",
            "content": content,
            "priority": "normal",
            "answered": False,
            "timeout": 300,
        }
        name, beside = f"q_{self._id}_{now}_{key}.json", self._path("questions", f".tmp.{key}")
        with open(beside, "w", encoding="utf-8") as file:
            json.dump(question | fields, file)
        os.rename(beside, self._path("questions", name))
        return name

    def answer(self, question: str) -> tuple[str, str] | None:
        """(status, content) of the answer, if it is there; it stays there."""
        try:
            with open(self._path("answers", f"a_{question[2:]}"), encoding="utf-8") as file:
                answer = json.load(file)
        except FileNotFoundError:
            return None
        return answer["status"], answer["content"]

    def wait(self, question: str, seconds: float = 20.0) -> tuple[str, str]:
        """(status, content) once it is there; then the answer's file goes, and the question's."""
        until, pause = time.monotonic() + seconds, threading.Event()
        while (found := self.answer(question)) is None:
            if time.monotonic() > until:
                raise AssertionError(f"nobody answered {question} within {seconds} s")
            pause.wait(_POLL_SECONDS)
        os.unlink(self._path("answers", f"a_{question[2:]}"))
        os.unlink(self._path("questions", question))
        return found

    def _path(self, *parts: str) -> str:
        return os.path.join(self._folder, *parts)
