"""The door to asks: every change of one is conditional on the version it was decided on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from gatebell.domain.asks.answers import Answer
    from gatebell.domain.asks.asks import Ask, Change, Message
    from gatebell.domain.audit.events import Event
    from gatebell.domain.sessions.visits import Visit
    from gatebell.ports.results import Result


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

    def with_key(self, key: str) -> Ask | None:
        """The ask that was opened under this key."""
        ...

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

    def of_task(self, task_id: str) -> list[Ask]:
        """All that was asked for a task, oldest first."""
        ...

    def of_run(self, run_id: int) -> list[Ask]:
        """All that the calls of a run ever asked, oldest first."""
        ...

    def list_settled(self, limit: int, search: str = "") -> list[Ask]:
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

    def save_draft(
        self, change: Change, expected_version: int, principal: str, text: str
    ) -> Result:
        """Keep a half-written answer. Not audited, but for the deadline that it moved."""
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

    def visits(self, ask_id: str) -> list[Visit]:
        """Every stay of a person in the session of an ask, oldest first."""
        ...

    def visit(self, visit_id: str) -> Visit | None: ...

    def open_visits(self) -> list[Visit]:
        """Every stay that has not ended, of all asks."""
        ...

    def holder(self, cli: str, session: str) -> Visit | None:
        """Whoever sits in this conversation now, whichever ask brought them there."""
        ...

    def woken(self) -> list[str]:
        """Owners other than runs that became ready, oldest first."""
        ...
