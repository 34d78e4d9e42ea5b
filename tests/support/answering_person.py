"""Answers to asks while the code of a page waits for them."""

from __future__ import annotations

import threading

from gatebell.app.wiring import open_throwaway_store
from gatebell.domain.asks.answers import Given
from gatebell.services.asks import answer_ask
from tests.support.people import a_person


class AnsweringPerson(threading.Thread):
    """Answers by the first word of each question, until the end of a `with` block."""

    def __init__(self, path, values):
        super().__init__(daemon=True)
        self.path, self.values, self.over = path, values, threading.Event()

    def run(self):
        store = open_throwaway_store(self.path)
        while not self.over.wait(0.01):
            for ask in store.asks.pending(10):
                value = self.values.get(ask.question.prompt.split()[0])
                if value is not None:
                    person = a_person("ada", verified=True)
                    answer_ask.answer(store, ask.id, person, Given(value))
        store.close()

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.join(10)
