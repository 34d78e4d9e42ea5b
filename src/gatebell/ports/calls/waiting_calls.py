"""The port to the host of a tool call, while the call waits for a decision."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from gatebell.domain.records import NamedTuple

if TYPE_CHECKING:
    from gatebell.domain.asks.asks import Ask, Origin
    from gatebell.domain.permissions.calls import Call

# The rest of the time limit is for passing the decision to the host.
_SHARE_OF_PATIENCE = 0.9


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

    def note_wait(self) -> None:
        """Take note that the call waits from now on, within the time limit of the host."""
        ...

    def find_call_id(self) -> str:
        """Find the id of this call where the host did not give it; empty: not found.

        It may take a moment, so it is called only when a person must decide.
        """
        ...


class Permission(NamedTuple):
    """The decision for the host. `allow` is None if nothing was decided."""

    allow: bool | None
    message: str = ""
    """Sent to the agent unchanged."""
    input: dict[str, Any] | None = None
    """Replaces the input of the call."""
    to_take: tuple[Ask, ...] = ()
    """Answers to record as taken after the decision was passed to the host."""
    edited_by: str = ""
    """The id of the ask in whose answer a person wrote that input."""
    again: bool = False
    """The call got this edited input before, so nothing is made of it a second time."""


class Held(NamedTuple):
    """A call that waits for a decision."""

    call: Call
    origin: Origin
    limit_seconds: float
    """How long the host waits."""
    host: CallHost
    guess: str = ""
    """The id that `host` found. It may belong to another call, so no answer is bound to it."""
    project: str = ""
    """The folder outside of which the host asks, if it is not the project of the origin."""
    folders: tuple[str, ...] = ()
    """Other folders of the session: gates of projects in them apply too."""
    remind_every_seconds: float | None = None
    is_harmless: bool = False
    """The parser of this machine proved that no default gate applies to the command."""
    runs_ungated: bool = False
    """The host would run the call without a question if no default gate held it."""

    @property
    def user(self) -> str:
        """Return the name that takes the answer: this call, and no other of its session."""
        return f"agent:{self.origin.session}#{self.origin.tool_use_id}"

    @property
    def shown_origin(self) -> Origin:
        """Return the origin with the guessed id, so that people and logs find the call."""
        return self.origin._replace(tool_use_id=self.origin.tool_use_id or self.guess)

    @property
    def patience_seconds(self) -> float:
        return self.limit_seconds * _SHARE_OF_PATIENCE
