"""A person who follows a script."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from gatebell.domain.asks.answers import Given
from gatebell.domain.people.principals import Caller, person
from gatebell.services.asks import answer_ask, ask_messages

if TYPE_CHECKING:
    from gatebell.domain.asks.asks import Ask
    from gatebell.testing.store import MemoryStore


class _Line(NamedTuple):
    """One line of the script."""

    part_of_prompt: str
    value: Any
    note: str
    asks_back: bool


class ScriptedPerson:
    """Answers what the script has an answer for, while somebody waits."""

    def __init__(self, store: MemoryStore, name: str = "tester") -> None:
        self._store = store
        self._script: list[_Line] = []
        self.caller = Caller(person(name), verified=True, via="script", agent=None, evidence={})
        store.visitors.append(self.act)

    def will_answer(self, part_of_prompt: str, value: Any, note: str = "") -> ScriptedPerson:
        """Answer the next ask whose prompt holds this."""
        self._script.append(_Line(part_of_prompt, value, note, asks_back=False))
        return self

    def will_ask_back(self, part_of_prompt: str, text: str) -> ScriptedPerson:
        """Send a message to the next asker whose prompt holds this."""
        self._script.append(_Line(part_of_prompt, text, "", asks_back=True))
        return self

    def act(self) -> bool:
        """Do one thing that the script foresees; False when there is nothing to do."""
        for ask in self._store.asks.pending(1000):
            for line in self._script:
                if line.part_of_prompt in ask.question.prompt:
                    self._script.remove(line)
                    self._do(ask, line)
                    return True
        return False

    def _do(self, ask: Ask, line: _Line) -> None:
        if line.asks_back:
            ask_messages.ask_back(self._store, ask.id, self.caller, line.value)
        else:
            answer_ask.answer(self._store, ask.id, self.caller, Given(line.value, line.note))
