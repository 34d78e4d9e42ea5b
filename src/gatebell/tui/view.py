"""What the screens read and do: on a store of this machine, or on a server."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gatebell.domain.asks.asks import Ask
    from gatebell.domain.people.principals import Caller
    from gatebell.domain.runs.runs import Run
    from gatebell.tui.run_rows import Listed, Session


class RunDetails(NamedTuple):
    """One run as its screen shows it."""

    title: str
    lines: Sequence[str]
    calls: Sequence[str]
    keys: Sequence[tuple[str, str]]
    """The keys that have an effect on this run now."""


class View(Protocol):
    """The runs, their asks and their sessions. A face's errors are those of `errors.py`."""

    is_slow: bool
    """Whether looking may take a while; the screens then look on a thread."""

    def list_runs(self) -> list[Listed]:
        """Return active runs, then ended runs, newest first."""
        ...

    def list_asks(self) -> list[Ask]:
        """Return the pending asks without a run, even if many asks of runs are more urgent."""
        ...

    def show_run(self, number: int, width: int) -> RunDetails:
        """Return the lines of one run."""
        ...

    def asks_of_run(self, number: int) -> list[Ask]:
        """Return the pending asks of a run."""
        ...

    def get_session(self, ask: Ask) -> Session:
        """Return the session of an ask, or raise an error with the reason why there is none."""
        ...

    def get_folder(self, number: int) -> str:
        """Return the folder of a run, or raise an error if this machine does not have it."""
        ...

    def stop_run(self, number: int, who: Caller, reason: str) -> Run:
        """End a run, its agents and its asks."""
        ...

    def changes(self) -> Iterator[object]:
        """Yield when something may have changed, until `stop`."""
        ...

    def stop(self) -> None:
        """Make `changes` end at its next look; may be called from another thread."""
        ...
