"""A handler that says yes to everything, for tests of workflows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gatebell.domain.people.principals import Caller, person
from gatebell.errors import RefusedError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gatebell.ports.store import Store


def auto_approve() -> AutoApprove:
    """Approves, and takes the first option; only in a store that was made for tests."""
    return AutoApprove()


class AutoApprove:
    """Nobody's decision, so it counts nowhere but in a test."""

    def caller_in(self, store: Store) -> Caller:
        if not store.throwaway:
            raise RefusedError(
                "auto_approve() works in tests only: run the workflow with store=MemoryStore() of "
                "gatebell.testing, or with a handler that asks a person"
            )
        return Caller(person("tester"), verified=True, via="auto_approve", agent=None, evidence={})

    def approval(self, prompt: str, ask_id: str) -> bool:
        return True

    def choice(self, prompt: str, options: Sequence[str], ask_id: str) -> str:
        return options[0]
