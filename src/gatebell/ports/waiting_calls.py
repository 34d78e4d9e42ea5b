"""The port to the host of a tool call, while the call waits for a decision."""

from __future__ import annotations

from typing import Protocol


class CallHost(Protocol):
    """Knows the session of one tool call. A wait asks it whether the call still needs a decision."""

    def describe_activity(self) -> str:
        """Describe the agent's last work, for the person who decides."""
        ...

    def find_reason_to_stop(self) -> str:
        """Say why this call needs no decision any more; empty: it still needs one.

        A wait calls this before it begins, and about every second.
        """
        ...

    def has_result(self, call_id: str) -> bool:
        """Tell whether the session has a result for the call of this id."""
        ...

    def note_ask(self, ask_id: str) -> None:
        """Take note of an ask that this call waits for."""
        ...

    def find_call_id(self) -> str:
        """Find the id of this call where the host did not give it; empty: not found.

        It may take a moment, so it is called only when a person must decide.
        """
        ...
