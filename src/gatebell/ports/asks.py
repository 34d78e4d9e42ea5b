"""The port to asks: every change is conditional on the version of the ask that it was decided on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from gatebell.domain.asks.history_filters import EVERYTHING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from gatebell.domain.asks.answers import Answer
    from gatebell.domain.asks.asks import Ask, Change, Message
    from gatebell.domain.asks.history_filters import HistoryFilter
    from gatebell.domain.audit.events import Event
    from gatebell.domain.permissions.past_calls import PastCall
    from gatebell.domain.sessions.visits import Visit
    from gatebell.domain.stats import Wait
    from gatebell.ports.results import Result


class Asks(Protocol):
    """Asks, with their answers, messages, drafts, secrets and visits."""

    def open(self, change: Change, key: str = "") -> Result:
        """Write a new ask.

        Args:
            change: the new ask, with its audit events
            key: a name under which a retry finds the same ask

        Returns:
            Done, or a Conflict. Its `current` is None when the id is taken. Otherwise `current` is the
            ask of the same key; the ask of the same session and digest that is pending, or answered and
            not taken; or, for a deferred ask, the other deferred ask of the session.
        """
        ...

    def get(self, ask_id: str) -> Ask | None:
        """Return the ask of this id, or None."""
        ...

    def with_key(self, key: str) -> Ask | None:
        """Return the ask that was opened under this key, or None."""
        ...

    def matching(self, prefix: str, limit: int) -> list[str]:
        """Return the ids that begin with a prefix, for reading only."""
        ...

    def count(self) -> int:
        """Return the number of asks so far, or a little more; it decides the length of ids."""
        ...

    def pending(self, limit: int, project: str | None = None, key: str = "") -> list[Ask]:
        """Return the first page of the inbox: most urgent first, then oldest.

        Args:
            limit: how many at most
            project: only the asks of this project, by its folder; None means all
            key: the key of that project: its asks in other folders and on other hosts, too
        """
        ...

    def pending_of_session(self, session: str) -> list[Ask]:
        """Return the pending asks of an agent session (`PROGRAM/ID`), oldest first."""
        ...

    def pending_of_run(self, run_id: int) -> list[Ask]:
        """Return the pending asks of a run's calls, oldest first."""
        ...

    def of_task(self, task_id: str) -> list[Ask]:
        """Return every ask of a task, oldest first."""
        ...

    def of_run(self, run_id: int) -> list[Ask]:
        """Return every ask of a run's calls, oldest first."""
        ...

    def list_settled(self, limit: int, wanted: HistoryFilter = EVERYTHING) -> list[Ask]:
        """Return the newest settled asks that fit the filter."""
        ...

    def past_calls(self, project: str, limit: int) -> list[PastCall]:
        """Return the newest settled asks about tool calls of a project, newest first."""
        ...

    def objected_calls(self, project: str, limit: int) -> list[PastCall]:
        """Return those that a person rejected, changed or approved with conditions."""
        ...

    def waits(self, since: datetime, until: datetime, project: str) -> list[Wait]:
        """Return the asks that waited in a period, in a project or in all (empty)."""
        ...

    def due(self, now: datetime, limit: int) -> list[Ask]:
        """Return pending asks whose deadline, reminder or escalation is due."""
        ...

    def change(
        self,
        change: Change,
        expected_version: int,
        answer: Answer | None = None,
        secret: Any = None,
    ) -> Result:
        """Write a step of an ask's life, with everything that belongs to it.

        Args:
            change: the ask after the step, with its audit events
            expected_version: the version that the step was decided on
            answer: the answer of this step, if there is one
            secret: the secret answer, which is kept apart

        Returns:
            Done; or a Conflict with the current ask, if another process was faster.
        """
        ...

    def keep_answer(self, answer: Answer, events: Sequence[Event]) -> Result:
        """Keep a refused answer; a Conflict if its key is already used on this ask."""
        ...

    def answers(self, ask_id: str) -> list[Answer]:
        """Return all answers to an ask in their order, refused ones included."""
        ...

    def answer_with_key(self, ask_id: str, principal: str, key: str) -> Answer | None:
        """Return the answer that this principal gave under this key, or None."""
        ...

    def messages(self, ask_id: str) -> list[Message]:
        """Return the messages between the asker and people, in their order."""
        ...

    def save_draft(
        self, change: Change, expected_version: int, principal: str, text: str
    ) -> Result:
        """Keep a person's half-written answer.

        It is not audited, but a deadline that it moves is.

        Args:
            change: the ask, with a later deadline if the draft moves it
            expected_version: the version that the change was decided on
            principal: the person who types
            text: the draft
        """
        ...

    def draft(self, ask_id: str, principal: str) -> str:
        """Return the draft of this person, or an empty text."""
        ...

    def drafting(self, since: datetime) -> list[tuple[str, str]]:
        """Return (ask, principal) for each draft of a pending ask that was saved since then."""
        ...

    def waiting_counts(self) -> list[tuple[str, int]]:
        """Return the number of pending asks for each project, most first."""
        ...

    def secret(self, ask_id: str) -> Any:
        """Return the secret answer in clear; None after it was taken or erased."""
        ...

    def erase_secrets(self, before: datetime) -> int:
        """Erase secrets that were kept since before then; return how many."""
        ...

    def without_events(self) -> list[str]:
        """Return asks whose opening or settling has no audit event: a forged row."""
        ...

    def visits(self, ask_id: str) -> list[Visit]:
        """Return every visit of a person to the session of an ask, oldest first."""
        ...

    def visit(self, visit_id: str) -> Visit | None:
        """Return the visit of this id, or None."""
        ...

    def open_visits(self) -> list[Visit]:
        """Return the visits of all asks that have not ended."""
        ...

    def holder(self, cli: str, session: str) -> Visit | None:
        """Return the open visit in a conversation, for any ask, or None."""
        ...

    def to_fence(self) -> Iterator[Ask]:
        """Yield untaken approvals and the pending asks about calls, oldest first, in pages."""
        ...

    def woken(self) -> list[str]:
        """Return owners, runs left out, that became ready, oldest first."""
        ...
