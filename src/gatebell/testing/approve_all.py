"""A handler that says yes to everything, for tests of workflows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gatebell.domain.people.principals import Caller, person
from gatebell.errors import RefusedError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gatebell.ports.store import Store


def auto_approve() -> AutoApprove:
    """Return a handler that approves, and takes the first option.

    It works only in a store that was made for tests.

    Example:
        assert workflow.run("go", auto_approve(), store=MemoryStore()).approved
    """
    return AutoApprove()


class AutoApprove:
    """Decides without a person, so it counts only in a test."""

    def caller_in(self, store: Store) -> Caller:
        """Return the person of the test; a RefusedError in any other store."""
        if not store.throwaway:
            raise RefusedError(
                "auto_approve() works in tests only: run the workflow with store=MemoryStore() of "
                "gatebell.testing, or with a handler that asks a person"
            )
        return Caller(person("tester"), verified=True, via="auto_approve", agent=None, evidence={})

    def approval(self, prompt: str, ask_id: str) -> bool:
        """Approve."""
        return True

    def choice(self, prompt: str, options: Sequence[str], ask_id: str) -> str:
        """Choose the first option."""
        return options[0]
