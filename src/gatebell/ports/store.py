"""The port to the store: one port for each noun, and transactions.

Every call that writes is one transaction, audit events included. It returns after its commit is
synced. A write to an ask is conditional: it has the version that it was decided on and returns
`Done` or `Conflict`, and after a conflict the service decides again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from gatebell.domain.audit.events import Event
    from gatebell.domain.freezes import Freeze
    from gatebell.domain.members import Member
    from gatebell.domain.permissions.rules import Rule
    from gatebell.domain.permissions.shadow_rules import ShadowRule
    from gatebell.domain.stats import GrantUse
    from gatebell.ports.asks import Asks
    from gatebell.ports.attachments import Attachments
    from gatebell.ports.audit import Audit
    from gatebell.ports.engines import Dispatches
    from gatebell.ports.machine import Machine
    from gatebell.ports.notifications import Notes, Outbox
    from gatebell.ports.people import Chats, Devices, Logins, People, Presence
    from gatebell.ports.runs import Runs
    from gatebell.ports.tasks import Tasks


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

    def begin_shadow(self, shadow: ShadowRule, events: Sequence[Event]) -> None:
        """Add a shadow rule."""
        ...

    def shadows(self, project: str | None = None) -> list[ShadowRule]:
        """Return the shadow rules of a project, or of all, that are active or suspended."""
        ...

    def remove_shadow(self, shadow_id: str, events: Sequence[Event]) -> bool:
        """Remove a shadow rule; False if it is gone."""
        ...

    def standing_state(self, project: str) -> tuple[str, ...]:
        """Return what decides about the grants without an end of a project.

        These are its active shadow rules, such grants, and the number of objections of people. A
        change that names the state it has seen is written only while it is the same.
        """
        ...

    def promote(
        self, shadow_id: str, grant: Rule, seen: tuple[str, ...], events: Sequence[Event]
    ) -> bool:
        """Replace an active shadow rule by its grant.

        Returns:
            False if it is not active any more, or `standing_state` is no longer as `seen`.
        """
        ...

    def uses(self, since: datetime, until: datetime, project: str) -> list[GrantUse]:
        """Return the uses of grants in a period, of a project or of all (empty)."""
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
    def chats(self) -> Chats:
        """The port to accounts in chats."""
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
