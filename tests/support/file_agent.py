"""Agents that ask by files, with the protocol of scripts/ask-human.sh."""

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
    """An agent that has only a shell."""

    def __init__(self, project: str, agent_id: str, name: str = "") -> None:
        self._folder = os.path.join(project, ".helpers")
        self._id, self._name = agent_id, name or agent_id

    def ask(self, content: str, **fields: Any) -> str:
        """Ask a question; return the name of its file."""
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
        """Return (status, content) of the answer, if there is one; leave the file."""
        try:
            with open(self._path("answers", f"a_{question[2:]}"), encoding="utf-8") as file:
                answer = json.load(file)
        except FileNotFoundError:
            return None
        return answer["status"], answer["content"]

    def wait(self, question: str, seconds: float = 20.0) -> tuple[str, str]:
        """Wait for (status, content), then remove the answer's file and the question's."""
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
