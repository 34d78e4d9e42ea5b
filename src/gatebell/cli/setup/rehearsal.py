"""Test the hosts' gates with a scripted person who answers in a throwaway store."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from gatebell.app import environment, wiring
from gatebell.domain.asks.answers import Given
from gatebell.install.checks import installations
from gatebell.install.rehearsal import rehearse
from gatebell.services.asks import answer_ask
from gatebell.services.people import manage_people
from gatebell.services.permissions import manage_rules

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

_NAME = "rehearsal"
_POLL_SECONDS = 1.0


class ScriptedPerson:
    """Answers every ask in one store with the given answer, and sets its gates."""

    def __init__(self, path: str) -> None:
        self._store = wiring.open_throwaway_store(path)
        # Not through wiring: a token in the environment belongs to another store.
        token = manage_people.add(self._store, environment.caller(os.environ, "cli"), _NAME)
        self._caller = wiring.caller(self._store, "cli", token)

    def set_gates(self, patterns: Sequence[str]) -> None:
        manage_rules.set_gates(self._store, self._caller, "", patterns)

    def answer(self, yes: bool, while_: Callable[[], bool]) -> bool:
        bell, asked = self._store.bell(), False
        try:
            while while_():
                for ask in self._store.asks.pending(1):
                    given = Given("yes" if yes else "no", "a rehearsal")
                    answer_ask.answer(self._store, ask.id, self._caller, given)
                    asked = True
                bell.wait(_POLL_SECONDS)
            return asked
        finally:
            bell.close()


def try_hosts(cwd: str) -> Iterator[tuple[bool | None, str]]:
    """Test every gate that is installed for this user and in this project."""
    for installed in installations(os.environ, cwd):
        if not isinstance(installed, str):
            yield from rehearse(installed, os.environ, ScriptedPerson)
