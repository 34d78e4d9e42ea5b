"""The door to the store: a transaction maker with a door per noun.

Every mutating verb is one transaction, audit events included, and returns after its
commit is synced. A verb on an ask is conditional: it carries the version it was decided
on and answers `Done` or `Conflict`, and the service decides again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager
    from datetime import datetime

    from gatebell.domain.asks.asks import Notice
    from gatebell.domain.audit.events import Entry, Event, Head
    from gatebell.domain.audit.trails import Columns, Row
    from gatebell.domain.notifications.messages import Delivery, Posted
    from gatebell.domain.notifications.notes import Note
    from gatebell.domain.people.logins import Login, Token
    from gatebell.domain.people.principals import Person
    from gatebell.domain.permissions.rules import Rule
    from gatebell.ports.asks import Asks
    from gatebell.ports.machine import Machine
    from gatebell.ports.runs import Runs
    from gatebell.ports.tasks import Tasks


class People(Protocol):
    """People, their tokens (only digests of them) and their groups."""

    def add(self, name: str, events: Sequence[Event]) -> bool:
        """False when there is somebody of that name already."""
        ...

    def remove(self, name: str, events: Sequence[Event]) -> bool: ...

    def all(self) -> list[Person]: ...

    def add_token(self, token: Token, token_digest: str, events: Sequence[Event]) -> bool:
        """False when there is nobody of that name."""
        ...

    def by_token(self, token_digest: str) -> Token | None: ...

    def tokens(self) -> list[Token]: ...

    def remove_token(self, token_id: str, events: Sequence[Event]) -> bool:
        """With the logins that were made with it. False when there is none of that id."""
        ...

    def set_group(self, name: str, members: Sequence[str], events: Sequence[Event]) -> None:
        """No members: the group is gone."""
        ...

    def groups(self) -> dict[str, tuple[str, ...]]: ...


class Logins(Protocol):
    """Links into the web inbox, and the logins they are exchanged for; only digests of them."""

    def add_link(self, digest: str, login: Login, events: Sequence[Event]) -> bool:
        """False when the token it was made with is gone."""
        ...

    def link(self, digest: str) -> Login | None:
        """Whom an unused link lets in."""
        ...

    def enter(self, digest: str, login: Login, link: str, events: Sequence[Event]) -> bool:
        """Write a login; with a link, only if that was not used before.

        False also when the token it was made with is gone.
        """
        ...

    def get(self, digest: str) -> Login | None:
        """A login that has neither expired nor been ended."""
        ...

    def end(self, digest: str, events: Sequence[Event]) -> None: ...


class Rules(Protocol):
    """Rules about tool calls: gates, denials and grants."""

    def add(self, rules: Sequence[Rule], events: Sequence[Event]) -> None: ...

    def in_force(self) -> list[Rule]:
        """Neither ended nor expired nor used up."""
        ...

    def had_gates(self) -> bool:
        """Whether there ever was a gate or a denial, in force or ended."""
        ...

    def use(self, rule_id: str, events: Sequence[Event]) -> bool:
        """Count one use of a grant; False when it is no longer in force."""
        ...

    def end(self, rule_id: str, events: Sequence[Event]) -> bool:
        """False when it has ended already, or never was."""
        ...


class Notes(Protocol):
    """What agents told people without waiting for an answer."""

    def add(self, note: Note, events: Sequence[Event], notices: Sequence[Notice]) -> None: ...

    def newest(self, limit: int) -> list[Note]: ...


class Outbox(Protocol):
    """Notices waiting for a channel to send them, and their deliveries: one for each road.

    Of an ask's reminders one waits at most, here and on each road; others are left out.
    """

    def waiting(self, limit: int) -> list[Notice]: ...

    def list_posted(self, limit: int) -> list[Posted]:
        """Notices that were not spread yet, oldest first."""
        ...

    def spread(self, deliveries: Mapping[Posted, Sequence[Delivery]]) -> None:
        """Put each notice's deliveries (none is allowed) in its place, unless somebody did before.

        Deliveries that were written more than 7 days ago are forgotten.
        """
        ...

    def claim(self, route: str) -> Delivery | None:
        """The first delivery due on a road, for 60 seconds: after that others may claim it.

        Only one, so that every claim outlives its sending.
        """
        ...

    def sent(self, delivery: Delivery) -> None: ...

    def record_failure(self, delivery: Delivery, problem: str, again_at: datetime | None) -> None:
        """To be tried again then; None: given up. Nothing happens once others have claimed it."""
        ...

    def put_off(self, delivery: Delivery, until: datetime) -> None:
        """It is not to be sent before then; this was no attempt."""
        ...

    def drop(self, delivery: Delivery) -> None:
        """Nobody needs it any more."""
        ...

    def problems(self, limit: int) -> list[Delivery]:
        """What could not be sent so far, given up or not, newest first."""
        ...

    def next_due(self, route: str) -> datetime | None:
        """When something can be claimed on a road; None: nothing waits there."""
        ...

    def try_again(self) -> int:
        """What was given up is due again; says how many."""
        ...


class Audit(Protocol):
    """The chain of events. Writing happens inside the other verbs' transactions."""

    def entries(self, after: int | None = None) -> Iterator[Entry]:
        """All, or those after a number. Oldest first, in pages; no cursor stays open in between."""
        ...

    def snapshot(self) -> AbstractContextManager[Any]:
        """While it is open, the store is seen as it is now, whatever others write."""
        ...

    def list_compared_columns(self) -> dict[str, Columns]:
        """The tables that are compared with the events, and their compared columns."""
        ...

    def rows(self, table: str) -> Iterator[Row]:
        """All rows of such a table, in pages."""
        ...

    def apart(self) -> dict[str, str]:
        """What no event tells, as `table.column`, each with the reason."""
        ...

    def schema_faults(self) -> list[str]:
        """Tables, indexes, triggers and views that are not as a new store has them."""
        ...

    def of_subject(self, subject: str) -> list[Entry]: ...

    def newest(self, limit: int) -> list[Entry]:
        """The newest entries, oldest first."""
        ...

    def head(self) -> Head: ...

    def changed_since(self, seq: int) -> tuple[int, frozenset[str]]:
        """The newest seq, and the subjects that events after the given one touched."""
        ...


class Bell(Protocol):
    """Wakes a waiter when something in the store may have changed."""

    def wait(self, seconds: float) -> None:
        """Return when it rings, or after so long; ringing for nothing is allowed."""
        ...

    def close(self) -> None: ...


class Store(Protocol):
    """The durable record."""

    @property
    def asks(self) -> Asks: ...

    @property
    def runs(self) -> Runs: ...

    @property
    def tasks(self) -> Tasks: ...

    @property
    def people(self) -> People: ...

    @property
    def logins(self) -> Logins: ...

    @property
    def rules(self) -> Rules: ...

    @property
    def notes(self) -> Notes: ...

    @property
    def outbox(self) -> Outbox: ...

    @property
    def audit(self) -> Audit: ...

    @property
    def path(self) -> str:
        """The file it is kept in; empty when it is in memory."""
        ...

    @property
    def throwaway(self) -> bool:
        """Made for a demo or a test: people may be added from anywhere."""
        ...

    def now(self) -> datetime:
        """The time, aware and in UTC. Deadlines are compared with no other clock."""
        ...

    @property
    def machine(self) -> Machine:
        """The machine on which this process uses the store."""
        ...

    def monotonic(self) -> float: ...

    def bell(self) -> Bell:
        """A bell of the caller's own, listening from now on."""
        ...

    def problems(self) -> list[str]:
        """What is wrong with the store itself, as sentences."""
        ...

    def close(self) -> None: ...
