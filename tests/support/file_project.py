"""A project whose agents ask by files, with a collector that can be restarted."""

from __future__ import annotations

import json
import os
import uuid

from gatebell.domain.asks.answers import Given
from gatebell.file_protocol.collector import Collector
from gatebell.file_protocol.folders import Helpers
from gatebell.services.asks import answer_ask
from tests.support.people import a_person


class Project:
    """A project with folders, a store, agents, and a collector that can be restarted."""

    def __init__(self, folder, store):
        self.path = str(folder)
        self.store = store
        self.clock = store.clock
        os.mkdir(folder / ".helpers", 0o700)
        for name in ("questions", "answers", "agents", "queue"):
            os.mkdir(folder / ".helpers" / name, 0o700)
        self.told = []
        self.start()

    def start(self):
        """Start again as after a kill: only the store and the files are known."""
        self.helpers = Helpers(self.path)
        self.helpers.remove_temporary()
        self.collector = Collector(self.store, self.helpers, a_person("ada"), self.told.append)
        return self

    def look(self, seconds=0.0):
        self.clock.advance(seconds)
        self.collector.look()

    def at(self, *parts):
        return os.path.join(self.path, ".helpers", *parts)

    def write(self, name, content, where="questions"):
        beside = self.at(where, ".tmp.test")
        with open(beside, "wb") as file:
            file.write(content if isinstance(content, bytes) else json.dumps(content).encode())
        os.rename(beside, self.at(where, name))
        return name

    def ask(self, content="Which database?", agent="agent_1", **fields):
        """Ask as an agent; return the name of the file."""
        key = fields.pop("id", str(uuid.uuid4()))
        at = fields.pop("timestamp", int(self.store.now().timestamp()))
        question = {
            "id": key,
            "agent_id": agent,
            "agent_name": f"Claude-{agent}",
            "working_dir": "/w",
            "timestamp": at,
            "type": "text",
            "content": content,
            "answered": False,
            "timeout": 300,
        }
        return self.write(f"q_{agent}_{at}_{key}.json", question | fields)

    def read(self, *parts):
        with open(self.at(*parts), encoding="utf-8") as file:
            return json.load(file)

    def answer_of(self, question):
        """Return the answer that the asker finds, if any."""
        if not os.path.exists(self.at("answers", f"a_{question[2:]}")):
            return None
        return self.read("answers", f"a_{question[2:]}")

    def read_answer(self, question):
        answer = self.answer_of(question)
        return answer and (answer["status"], answer["content"])

    def fetch(self, question):
        """Fetch as the script does: read, remove the answer, then the question."""
        answer = self.read_answer(question)
        os.unlink(self.at("answers", f"a_{question[2:]}"))
        os.unlink(self.at("questions", question))
        return answer

    @property
    def pending(self):
        return self.store.asks.pending(100)

    def say(self, value, ask=None):
        ask = ask or self.pending[0]
        answer_ask.answer(self.store, ask.id, a_person("ada"), Given(value))
        return ask.id

    def words(self, what):
        return [one.words for one in self.told if one.what == what]
