"""The door to the store: a transaction maker with a door per noun.

Every mutating verb is one transaction, audit events included, and returns after its
commit is synced. A verb on an ask is conditional: it carries the version it was decided
on and answers `Done` or `Conflict`, and the service decides again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import datetime

    from humangate.domain.answers import Answer
    from humangate.domain.asks import Ask, Change, Message, Notice
    from humangate.domain.audit import Entry, Event, Head
    from humangate.domain.letters import Delivery, Posted
    from humangate.domain.logins import Login, Token
    from humangate.domain.notes import Note
    from humangate.domain.principals import Person
    from humangate.domain.rules import Rule
    from humangate.domain.runs import Carried, FlowCall, Run, RunChange, Turn
    from humangate.domain.sittings import Sitting
    from humangate.doors.results import Result


class Asks(Protocol):
    """Asks, with the answers, messages, drafts and secrets that belong to them."""

    def open(self, change: Change, key: str = "") -> Result:
        """Write a new ask.

        Conflict when the id is taken (current is None), or when an ask was opened under the
        same key (current), or when the same session already has an ask with this digest that is pending or answered and not taken (current), or,
        for a deferred ask, has another deferred one (current).
        """
        ...

    def get(self, ask_id: str) -> Ask | None: ...

    def matching(self, prefix: str, limit: int) -> list[str]:
        """Ids that begin with this, for reading only."""
        ...

    def count(self) -> int:
        """How many asks there have been, or a little more; it decides the length of ids."""
        ...

    def pending(self, limit: int, project: str | None = None) -> list[Ask]:
        """The first page of the inbox: most urgent first, then oldest."""
        ...

    def pending_of_session(self, session: str) -> list[Ask]:
        """What this agent session (CLI/SESSION) waits for, oldest first."""
        ...

    def pending_of_run(self, run_id: int) -> list[Ask]:
        """What the calls of a run wait for, oldest first."""
        ...

    def of_run(self, run_id: int) -> list[Ask]:
        """All that the calls of a run ever asked, oldest first."""
        ...

    def settled(self, limit: int, search: str = "") -> list[Ask]:
        """The newest settled asks, optionally only those whose prompt or note holds a text."""
        ...

    def due(self, now: datetime, limit: int) -> list[Ask]:
        """Pending asks for which a deadline, reminder or escalation has come."""
        ...

    def change(
        self,
        change: Change,
        expected_version: int,
        answer: Answer | None = None,
        secret: Any = None,
    ) -> Result:
        """Write a step of an ask's life with all that belongs to it, if nobody was faster."""
        ...

    def keep_answer(self, answer: Answer, events: Sequence[Event]) -> Result:
        """Keep a refused answer. Conflict when its key is already used on this ask."""
        ...

    def answers(self, ask_id: str) -> list[Answer]:
        """All answers to an ask, refused ones too, in the order they came."""
        ...

    def answer_with_key(self, ask_id: str, principal: str, key: str) -> Answer | None: ...

    def messages(self, ask_id: str) -> list[Message]: ...

    def save_draft(self, ask: Ask, expected_version: int, principal: str, text: str) -> Result:
        """Keep a half-written answer, with the deadline it moved. Not audited."""
        ...

    def draft(self, ask_id: str, principal: str) -> str:
        """The draft of this person, or nothing."""
        ...

    def drafting(self, since: datetime) -> list[tuple[str, str]]:
        """(ask, principal) of every draft of a pending ask that was saved since then."""
        ...

    def waiting_counts(self) -> list[tuple[str, int]]:
        """How many asks wait in each project, most first."""
        ...

    def secret(self, ask_id: str) -> Any:
        """The secret answer in clear; None when it was taken or has been erased."""
        ...

    def erase_secrets(self, before: datetime) -> int:
        """Erase secrets kept since before then; says how many."""
        ...

    def without_events(self) -> list[str]:
        """Asks whose opening or settling no audit event tells of: nobody did that by a verb."""
        ...

    def sittings(self, ask_id: str) -> list[Sitting]:
        """Every stay of a person in the session of an ask, oldest first."""
        ...

    def sitting(self, sitting_id: str) -> Sitting | None: ...

    def holder(self, cli: str, session: str) -> Sitting | None:
        """Whoever sits in this conversation now, whichever ask brought them there."""
        ...

    def woken(self) -> list[str]:
        """Owners other than runs that became ready, oldest first."""
        ...


class Runs(Protocol):
    """Runs of flows, with their calls and turns."""

    def add(self, run: Run, events: Sequence[Event], carried: Carried) -> Run:
        """Write a new run, with what it takes along; returns it with its number."""
        ...

    def get(self, run_id: int) -> Run | None: ...

    def newest(self, limit: int, *, active: bool = False) -> list[Run]:
        """The newest first; active: only those that have not ended."""
        ...

    def ready(self, limit: int) -> list[int]:
        """Runs that somebody should drive now, those that waited longest first."""
        ...

    def next_ready_at(self) -> datetime | None:
        """When the next sleeping run wakes."""
        ...

    def running(self) -> list[Run]:
        """Runs in somebody's hands."""
        ...

    def change(self, change: RunChange, expected: Run) -> bool:
        """Write a step of a run's life, if its claim and state are still the expected ones.

        A run that is to wait for people becomes ready instead when one of its asks was
        settled meanwhile. False also when a turn opens in a session that somebody holds.
        """
        ...

    def extend(self, run: Run, until: datetime) -> bool:
        """Keep the claim for longer; False when it was lost."""
        ...

    def calls(self, run_id: int) -> list[FlowCall]:
        """In the order of their paths."""
        ...

    def turns(self, run_id: int) -> list[Turn]:
        """In the order they began."""
        ...

    def turn(self, turn_id: str) -> Turn | None: ...

    def holder(self, cli: str, session: str) -> Turn | None:
        """The open turn of an agent session: whoever holds it now."""
        ...

    def offer(self, turn_id: str, signal: Any) -> bool:
        """Keep what an agent signals while it works; False when its turn is over."""
        ...

    def delete(self, run: Run, events: Sequence[Event]) -> bool:
        """Forget an ended run; the audit trail keeps what it tells of it."""
        ...


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

    def posted(self, limit: int) -> list[Posted]:
        """Notices that were not spread yet, oldest first."""
        ...

    def spread(self, deliveries: Mapping[Posted, Sequence[Delivery]]) -> None:
        """Put each notice's deliveries (none is allowed) in its place, unless somebody did before.

        Deliveries that were written more than 7 days ago are forgotten.
        """
        ...

    def claim(self, road: str) -> Delivery | None:
        """The first delivery due on a road, for 60 seconds: after that others may claim it.

        Only one, so that every claim outlives its sending.
        """
        ...

    def sent(self, delivery: Delivery) -> None: ...

    def failed(self, delivery: Delivery, trouble: str, again_at: datetime | None) -> None:
        """To be tried again then; None: given up. Nothing happens once others have claimed it."""
        ...

    def put_off(self, delivery: Delivery, until: datetime) -> None:
        """It is not to be sent before then; this was no attempt."""
        ...

    def drop(self, delivery: Delivery) -> None:
        """Nobody needs it any more."""
        ...

    def troubles(self, limit: int) -> list[Delivery]:
        """What could not be sent so far, given up or not, newest first."""
        ...

    def next_due(self, road: str) -> datetime | None:
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

    def monotonic(self) -> float: ...

    def bell(self) -> Bell:
        """A bell of the caller's own, listening from now on."""
        ...

    def problems(self) -> list[str]:
        """What is wrong with the store itself, as sentences."""
        ...

    def close(self) -> None: ...
