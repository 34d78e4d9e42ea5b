"""The ports to notes, and to notices and their deliveries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime

    from gatebell.domain.asks.asks import Notice
    from gatebell.domain.audit.events import Event
    from gatebell.domain.notifications.messages import Delivery, Posted
    from gatebell.domain.notifications.notes import Note


class Notes(Protocol):
    """Words of agents to people that need no answer."""

    def add(self, note: Note, events: Sequence[Event], notices: Sequence[Notice]) -> None:
        """Add a note, with the notices that announce it."""
        ...

    def newest(self, limit: int) -> list[Note]:
        """Return the newest notes, newest first."""
        ...


class Outbox(Protocol):
    """Notices that wait to be sent, and their deliveries: one for each route.

    At most one reminder of an ask waits here and on each route; others are left out.
    """

    def waiting(self, limit: int) -> list[Notice]:
        """Return notices that are not sent yet."""
        ...

    def list_posted(self, limit: int) -> list[Posted]:
        """Return notices without deliveries yet, oldest first."""
        ...

    def spread(self, deliveries: Mapping[Posted, Sequence[Delivery]]) -> None:
        """Replace each notice by its deliveries, unless another process did that before.

        A notice may have no deliveries. Deliveries that are older than 7 days are removed.
        """
        ...

    def claim(self, route: str) -> Delivery | None:
        """Claim the first delivery that is due on a route, for 60 seconds.

        After that other processes may claim it. It claims only one, so that each claim lasts longer than
        its sending.
        """
        ...

    def gather(self, claimed: Delivery, most: int) -> list[Delivery]:
        """Claim the other asks that are due on the route of a claimed one, for one message.

        A message that may have arrived before its sender died keeps its asks: no other joins it.

        Returns:
            The claimed delivery first, then the others. Empty if another process has claimed it.
        """
        ...

    def sent(self, *deliveries: Delivery, receipt: str = "") -> None:
        """Record that deliveries were sent, in one message; by the receipt its channel finds it."""
        ...

    def record_failure(
        self,
        delivery: Delivery,
        problem: str,
        again_at: datetime | None,
        others: Iterable[Delivery] = (),
    ) -> None:
        """Record that a delivery failed; nothing happens if another process has claimed it.

        Args:
            delivery: the delivery
            problem: why it failed
            again_at: when it is tried again; None gives it up
            others: deliveries of the same message
        """
        ...

    def last_told(self, route: str) -> datetime | None:
        """Return when a route last sent asks or reminders; None if never."""
        ...

    def list_about(self, ask_id: str) -> list[Delivery]:
        """Return the deliveries about an ask that were tried, given up ones and events left out."""
        ...

    def list_in_message(self, message: str) -> list[Delivery]:
        """Return the deliveries that went out in one message with others."""
        ...

    def put_off(self, delivery: Delivery, until: datetime) -> None:
        """Send a delivery not before then; this does not count as an attempt."""
        ...

    def drop(self, delivery: Delivery) -> None:
        """Remove a delivery that no person needs any more."""
        ...

    def problems(self, limit: int) -> list[Delivery]:
        """Return deliveries that failed so far, given up or not, newest first."""
        ...

    def next_due(self, route: str) -> datetime | None:
        """Return when a delivery can be claimed on a route; None if none waits there."""
        ...

    def try_again(self) -> int:
        """Make all deliveries due again that were given up; return how many."""
        ...
