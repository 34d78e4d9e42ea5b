"""The door to a person at this desk: a window shows one ask, and may bring back an answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from gatebell.domain.enums import AskKind

VALUE, LATER, TERMINAL, NOTHING = "value", "later", "open_in_terminal", "nothing"


class Showing(NamedTuple):
    """What a window shows; its texts are raw, and made inert where they are shown."""

    kind: AskKind
    """`text`, `choice` (yes and no, too) or `approval`."""
    prompt: str
    options: tuple[str, ...] = ()
    context: str = ""
    activity: str = ""
    agent: str = ""
    project: str = ""
    """Its folder."""
    position: str = ""
    """`2/5` when it is the second of five that wait."""
    left_seconds: float | None = None
    """After that nobody waits for the answer; the window closes."""
    digest: str = ""
    typed: str = ""
    """What the person had typed when they left it the last time."""


class Reply(NamedTuple):
    """What came of it. Only `value` is an answer; after all others the ask is still waiting."""

    outcome: str
    """`value`, `later`, `open_in_terminal` or `nothing`."""
    value: str = ""
    why: str = ""
    """Of nothing: how it came to that, in words."""
    typed: str = ""
    """What was typed and is no answer: to be kept as a draft, when there is any."""
    digest: str = ""
    """Of an answer: the digest of what was shown."""
    is_other: bool = False
    """The value is the person's own words, where `Other…` was offered."""


class Dialog(Protocol):
    """Shows one ask, once."""

    tool: str
    """Which program shows it."""

    def ask(self, showing: Showing) -> Reply:
        """Return when the person is done with the window, or it has gone; raises nothing."""
        ...

    def close(self) -> None:
        """Close it, from any thread, also before it was opened: its reply is then nothing."""
        ...


class Found(NamedTuple):
    """A program that can show dialogs, or not here."""

    tool: str
    problem: str
    """Why it cannot; empty when it can."""
