"""The port to dialogs: a window shows one ask, and may return an answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from gatebell.domain.enums import AskKind

VALUE, LATER, TERMINAL, NOTHING = "value", "later", "open_in_terminal", "nothing"


class Showing(NamedTuple):
    """The content of a window. Its texts are raw, and made inert where they are shown."""

    kind: AskKind
    """`text`, `choice` (yes and no included) or `approval`."""
    prompt: str
    options: tuple[str, ...] = ()
    context: str = ""
    activity: str = ""
    agent: str = ""
    project: str = ""
    """The folder of the project."""
    position: str = ""
    """`2/5` for the second of five waiting asks."""
    left_seconds: float | None = None
    """The time until the asker stops waiting; then the window closes."""
    digest: str = ""
    typed: str = ""
    """The text that the person had typed when they left the window the last time."""


class Reply(NamedTuple):
    """The result of a window. Only `value` is an answer; otherwise the ask is still waiting."""

    outcome: str
    """`value`, `later`, `open_in_terminal` or `nothing`."""
    value: str = ""
    why: str = ""
    """The reason for `nothing`, in words."""
    typed: str = ""
    """Typed text that is not an answer; it is kept as a draft."""
    digest: str = ""
    """The digest of the question that was shown, for an answer."""
    is_other: bool = False
    """The value is the person's own words, where `Other…` was offered."""


class Dialog(Protocol):
    """Shows one ask, once."""

    tool: str
    """The program that shows it."""

    def ask(self, showing: Showing) -> Reply:
        """Show an ask; return when the person is done or the window is gone.

        It raises no error: a failure is the outcome `nothing`, with a reason.
        """
        ...

    def close(self) -> None:
        """Close the window, from any thread, even before it opens; its outcome is then `nothing`."""
        ...


class Found(NamedTuple):
    """A program that can show dialogs, or the reason why it cannot."""

    tool: str
    problem: str
    """Why it cannot show dialogs here; empty if it can."""
