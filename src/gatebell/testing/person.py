"""A person who follows a script."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from gatebell.domain.asks.answers import Given
from gatebell.domain.people.principals import Caller, person
from gatebell.errors import UsageError
from gatebell.services.asks import answer_ask, ask_messages
from gatebell.testing.store import MemoryStore

if TYPE_CHECKING:
    from gatebell.domain.asks.asks import Ask


class _Line(NamedTuple):
    """One line of the script."""

    part_of_prompt: str
    value: Any
    note: str
    asks_back: bool


class ScriptedPerson:
    """A person who answers by a script while your code waits.

    Args:
        store: the store of the test; `run_flow` gives one to a person without
        name: the name of the person

    Example:
        ScriptedPerson(store).will_answer("Deploy", "yes")
        assert Gate(store).approve("Deploy?")
    """

    def __init__(self, store: MemoryStore | None = None, name: str = "tester") -> None:
        self._store: MemoryStore | None = None
        self._script: list[_Line] = []
        self.caller = Caller(person(name), verified=True, via="script", agent=None, evidence={})
        if store is not None:
            self.join(store)

    def join(self, store: MemoryStore | None = None) -> MemoryStore:
        """Answer in this store, otherwise in a new one; return the store of the person.

        Raises:
            UsageError: The person has another store already.
        """
        if self._store is None:
            self._store = store or MemoryStore()
            self._store.visitors.append(self.act)
        elif store is not None and store is not self._store:
            raise UsageError("this ScriptedPerson has another store: make one for each store")
        return self._store

    def will_answer(self, part_of_prompt: str, value: Any, note: str = "") -> ScriptedPerson:
        """Answer the next ask whose prompt contains this text; return the person."""
        self._script.append(_Line(part_of_prompt, value, note, asks_back=False))
        return self

    def will_ask_back(self, part_of_prompt: str, text: str) -> ScriptedPerson:
        """Ask back about the next ask whose prompt contains this text; return the person."""
        self._script.append(_Line(part_of_prompt, text, "", asks_back=True))
        return self

    def act(self) -> bool:
        """Do one thing of the script; False if no line fits a pending ask."""
        store = self.join()
        for ask in store.asks.pending(1000):
            for line in self._script:
                if line.part_of_prompt in ask.question.prompt:
                    self._script.remove(line)
                    self._do(store, ask, line)
                    return True
        return False

    def _do(self, store: MemoryStore, ask: Ask, line: _Line) -> None:
        if line.asks_back:
            ask_messages.ask_back(store, ask.id, self.caller, line.value)
        else:
            answer_ask.answer(store, ask.id, self.caller, Given(line.value, line.note))
