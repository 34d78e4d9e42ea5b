"""The port to the store: one port for each noun, and transactions.

Every call that writes is one transaction, audit events included. It returns after its commit is
synced. A write to an ask is conditional: it has the version that it was decided on and returns
`Done` or `Conflict`, and after a conflict the service decides again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager
    from datetime import datetime

    from gatebell.domain.asks.asks import Notice
    from gatebell.domain.audit.events import Entry, Event, Head
    from gatebell.domain.audit.trails import Columns, Row
    from gatebell.domain.freezes import Freeze
    from gatebell.domain.members import Member
    from gatebell.domain.notifications.devices import Device
    from gatebell.domain.notifications.messages import Delivery, Posted
    from gatebell.domain.notifications.notes import Note
    from gatebell.domain.people.logins import Login, Token
    from gatebell.domain.people.principals import Person
    from gatebell.domain.permissions.rules import Rule
    from gatebell.ports.asks import Asks
    from gatebell.ports.attachments import Attachments
    from gatebell.ports.engines import Dispatches
    from gatebell.ports.machine import Machine
    from gatebell.ports.runs import Runs
    from gatebell.ports.tasks import Tasks


class People(Protocol):
    """People, their tokens (only digests of them) and their groups."""

    def add(self, name: str, events: Sequence[Event]) -> bool:
        """Add a person; False if the name is taken."""
        ...

    def remove(self, name: str, events: Sequence[Event]) -> bool:
        """Remove a person, with their tokens; False if the person does not exist."""
        ...

    def all(self) -> list[Person]:
        """Return all people."""
        ...

    def add_token(self, token: Token, token_digest: str, events: Sequence[Event]) -> bool:
        """Add a token of a person; False if the person does not exist."""
        ...

    def by_token(self, token_digest: str) -> Token | None:
        """Return the token with this digest, or None."""
        ...

    def tokens(self) -> list[Token]:
        """Return all tokens."""
        ...

    def remove_token(self, token_id: str, events: Sequence[Event]) -> bool:
        """Remove a token with the logins that were made with it; False if there is none of this id."""
        ...

    def set_group(self, name: str, members: Sequence[str], events: Sequence[Event]) -> None:
        """Set the members of a group; without members the group is removed."""
        ...

    def groups(self) -> dict[str, tuple[str, ...]]:
        """Return the members of each group."""
        ...


class Logins(Protocol):
    """Links into the web inbox, and the logins that they become; only digests of them."""

    def add_link(self, digest: str, login: Login, events: Sequence[Event]) -> bool:
        """Add a link; False if the token of its maker is gone."""
        ...

    def link(self, digest: str) -> Login | None:
        """Return the login that an unused link gives, or None."""
        ...

    def enter(self, digest: str, login: Login, link: str, events: Sequence[Event]) -> bool:
        """Write a login.

        Args:
            digest: the digest of the login's secret
            login: the person, the scopes and the end
            link: the digest of the link that was used, or an empty text
            events: its audit events

        Returns:
            False if the link was used before, or the token of its maker is gone.
        """
        ...

    def get(self, digest: str) -> Login | None:
        """Return a login that has neither expired nor ended, or None."""
        ...

    def end(self, digest: str, events: Sequence[Event]) -> None:
        """End a login."""
        ...

    def end_all(self, events: Sequence[Event]) -> int:
        """End every login and every link; return how many there were."""
        ...


class Devices(Protocol):
    """Browsers that get notifications.

    A device ends with its token, its person, and the login of its browser. When another person
    signs in to the same browser, it ends, too.
    """

    def add(self, device: Device, events: Sequence[Event]) -> bool:
        """Add a device, or replace the one of this id; False if the token of its login is gone."""
        ...

    def remove(self, device_id: str, events: Sequence[Event]) -> bool:
        """Remove a device; False if there is none of this id."""
        ...

    def get(self, device_id: str) -> Device | None:
        """Return a device, or None."""
        ...

    def all(self) -> list[Device]:
        """Return all devices."""
        ...


class Rules(Protocol):
    """Rules about tool calls: gates, denials and grants."""

    def add(self, rules: Sequence[Rule], events: Sequence[Event]) -> None:
        """Add rules, all in one transaction."""
        ...

    def in_force(self) -> list[Rule]:
        """Return the rules that have not ended, expired or been used up."""
        ...

    def had_gates(self) -> bool:
        """Tell whether there ever was a gate or a denial, in force or ended."""
        ...

    def use(self, rule_id: str, events: Sequence[Event]) -> bool:
        """Count one use of a grant; False if it has ended, or if everything is frozen."""
        ...

    def end(self, rule_id: str, events: Sequence[Event]) -> bool:
        """End a rule; False if it has ended or does not exist."""
        ...


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


class Audit(Protocol):
    """The chain of events. It is written in the transactions of the other calls."""

    def entries(self, after: int | None = None) -> Iterator[Entry]:
        """Yield entries, oldest first, in pages; no cursor stays open in between.

        Args:
            after: only entries after this number; None means all
        """
        ...

    def snapshot(self) -> AbstractContextManager[Any]:
        """See the store as it is now while this is entered, even if others write."""
        ...

    def list_compared_columns(self) -> dict[str, Columns]:
        """Return the tables that are compared with the events, with their compared columns."""
        ...

    def rows(self, table: str) -> Iterator[Row]:
        """Yield all rows of such a table, in pages."""
        ...

    def apart(self) -> dict[str, str]:
        """Return columns without events, as `table.column`, each with the reason."""
        ...

    def schema_faults(self) -> list[str]:
        """Return tables, indexes, triggers and views that differ from those of a new store."""
        ...

    def of_subject(self, subject: str) -> list[Entry]:
        """Return the entries about a subject, oldest first."""
        ...

    def newest(self, limit: int) -> list[Entry]:
        """Return the newest entries, oldest first."""
        ...

    def head(self) -> Head:
        """Return the number and the digest of the newest entry."""
        ...

    def seal(self) -> int:
        """Give numbers to events that have none yet; return how many there were.

        In SQLite every event has its number from the beginning.
        """
        ...

    def position(self) -> int:
        """Return the present place in the events, for `changed_since`."""
        ...

    def changed_since(self, position: int) -> tuple[int, frozenset[str]]:
        """Return the present place, and the subjects of the events after the given one.

        A subject may be reported twice, and is never left out.
        """
        ...


class Freezes(Protocol):
    """The times in which a person has frozen everything; at most one lasts."""

    def find(self) -> Freeze | None:
        """Return the freeze that lasts now."""
        ...

    def begin(self, freeze: Freeze, events: Sequence[Event]) -> bool:
        """Freeze everything; False if a freeze lasts.

        It waits for transactions that may not happen in a freeze and have begun before.
        """
        ...

    def lift(self, by: str, events: Sequence[Event]) -> bool:
        """Lift the freeze; False if none lasts."""
        ...


class Members(Protocol):
    """The processes that serve the store, on any host. Their reports have no audit events."""

    def join(self, member: Member) -> None:
        """Add a member, and forget those that have been silent for days."""
        ...

    def beat(self, member: Member) -> None:
        """Record that a member lives now."""
        ...

    def leave(self, member: Member) -> None:
        """Remove a member that ends."""
        ...

    def lose(self, lost: Member, others: Sequence[Member], events: Sequence[Event]) -> None:
        """Record that a host is lost, instead of its members."""
        ...

    def all(self) -> list[Member]:
        """Return all members, dead ones included, in the order in which they joined."""
        ...


class Presence(Protocol):
    """When each person was last seen at a screen of gate or of an agent. It has no audit events."""

    def see(self, people: Iterable[str]) -> None:
        """Record that these people are here now, in one write."""
        ...

    def last_seen(self, person: str) -> datetime | None:
        """Return when a person was last seen; None if never."""
        ...


class Bell(Protocol):
    """Wakes a waiter when the store may have changed."""

    def wait(self, seconds: float) -> None:
        """Return when the bell rings, or after so long. It may ring without a change."""
        ...

    def close(self) -> None:
        """Stop listening."""
        ...


class Store(Protocol):
    """The durable record."""

    @property
    def asks(self) -> Asks:
        """The port to asks."""
        ...

    @property
    def attachments(self) -> Attachments:
        """The port to the bytes of attachments."""
        ...

    @property
    def runs(self) -> Runs:
        """The port to runs of flows."""
        ...

    @property
    def tasks(self) -> Tasks:
        """The port to tasks."""
        ...

    @property
    def freezes(self) -> Freezes:
        """The port to freezes."""
        ...

    @property
    def people(self) -> People:
        """The port to people, tokens and groups."""
        ...

    @property
    def logins(self) -> Logins:
        """The port to links and logins of the web inbox."""
        ...

    @property
    def devices(self) -> Devices:
        """The port to browsers that get notifications."""
        ...

    @property
    def rules(self) -> Rules:
        """The port to gates, denials and grants."""
        ...

    @property
    def notes(self) -> Notes:
        """The port to notes."""
        ...

    @property
    def outbox(self) -> Outbox:
        """The port to notices and deliveries."""
        ...

    @property
    def audit(self) -> Audit:
        """The port to the audit trail."""
        ...

    @property
    def members(self) -> Members:
        """The port to the processes that serve the store."""
        ...

    @property
    def presence(self) -> Presence:
        """The port to who is here."""
        ...

    @property
    def name(self) -> str:
        """The store in sentences: its file or its server, without a password."""
        ...

    @property
    def local_path(self) -> str:
        """The beginning of the paths of this host's files for the store; empty: it is in memory.

        Locks, worktrees, logs and the files of sessions have names that begin with it.
        """
        ...

    @property
    def environ(self) -> Mapping[str, str]:
        """The variables by which a process of the same user opens this store."""
        ...

    @property
    def throwaway(self) -> bool:
        """Whether it was made for a demo or a test: people may be added from anywhere."""
        ...

    def now(self) -> datetime:
        """Return the time, aware and in UTC. Deadlines are compared with no other clock."""
        ...

    @property
    def dispatches(self) -> Dispatches | None:
        """How ready runs are handed to an engine; None in a store of one machine."""
        ...

    @property
    def machine(self) -> Machine:
        """The machine on which this process uses the store."""
        ...

    def monotonic(self) -> float:
        """Return seconds that never jump, for measuring waits."""
        ...

    def bell(self) -> Bell:
        """Return a new bell that listens from now on; the caller closes it."""
        ...

    def problems(self) -> list[str]:
        """Return faults of the store itself, as sentences."""
        ...

    def push_key(self) -> bytes:
        """Return the secret of this store's web push: 32 bytes, made once, in no table.

        Raises:
            StoreError: There is no place for it.
        """
        ...

    def standbys(self) -> str | None:
        """Return the standbys that get each write before it is confirmed; None without a server."""
        ...

    def close(self) -> None:
        """Close the store."""
        ...
