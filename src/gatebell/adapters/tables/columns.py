"""List every column of the store: compared with the audit trail, or the reason why not.

This order is the order of sealed values, so a new column goes to the end of its tuple. A migration
that changes sealed values must write an event.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gatebell.domain.enums import CallState, RunState

if TYPE_CHECKING:
    from collections.abc import Mapping

_LEASE = "the driver and lease of a run change without an event"
_ATTEMPT = "the attempts to send a notice have no event"
_COUNTER = "counts writes, so that two writers notice each other"
_BEAT = "the beat of a living process decides nothing"
_PRESENCE = "who is here decides only when a notice is sent"
_SHOWN = "which ask a chat message shows decides nothing: an answer carries the digest of its ask"
_DRAFT = "a draft decides nothing"
_ERASED = "a secret could be guessed from its digest, and secrets are erased"
_CHAIN = "the chain of hashes proves the events themselves"
_MOVES = "until a run has ended, it changes without an event"
_BYTES = "the bytes are compared with their digest, which asks and answers have"
_UPLOAD = "an upload decides nothing until an ask or answer names it"
_NEXT = "only decides when a run is checked next, or is shown while it waits"


# Not a NamedTuple, here and below: creating that class takes longer than all of this module.
class Among:
    """The condition that a column has one of these words, in SQL and in Python."""

    __slots__ = ("_column", "_words", "sql")

    def __init__(self, column: str, *words: str) -> None:
        self._column = column
        self._words = words
        listed = ", ".join(f"'{word}'" for word in words)
        self.sql = f'"{column}" IN ({listed})'

    def holds(self, row: Mapping[str, Any]) -> bool:
        return row[self._column] in self._words


class Table:
    """How the rows of a table are compared."""

    __slots__ = ("apart", "changing", "fixed", "key", "partly", "partly_when", "subject", "unless")

    def __init__(
        self,
        key: str,
        fixed: str = "",
        changing: str = "",
        apart: Mapping[str, str] | None = None,
        subject: str = "''",
        unless: Among | None = None,
        partly: Mapping[str, str] | None = None,
        partly_when: Among | None = None,
    ) -> None:
        self.key = tuple(key.split())
        """The columns that identify a row."""
        self.fixed = tuple(fixed.split())
        """Compared; written with the row and never changed."""
        self.changing = tuple(changing.split())
        """Compared; sealed again whenever one of them changes."""
        self.apart = apart or {}
        """Not in the trail, each with the reason."""
        self.subject = subject
        """SQL: the subject of the events by which older versions recorded a row."""
        self.unless = unless
        """A row does not count yet while this holds."""
        self.partly = partly or {}
        """Columns of `changing` that are compared only under a condition, with the reason."""
        self.partly_when = partly_when

    @property
    def is_compared(self) -> bool:
        return bool(self.fixed or self.changing)

    @property
    def counts_sql(self) -> str:
        """SQL: whether a row counts."""
        return f"NOT {self.unless.sql}" if self.unless else "TRUE"

    def counts(self, row: Mapping[str, Any]) -> bool:
        return not (self.unless and self.unless.holds(row))

    def sealed_sql(self, column: str) -> str:
        """Return the SQL for the sealed value of a column."""
        if self.partly_when and column in self.partly:
            return f'CASE WHEN {self.partly_when.sql} THEN "{column}" END'
        return f'"{column}"'

    def changing_of(self, row: Mapping[str, Any]) -> list[Any]:
        """Return the sealed values of the changing columns."""
        left_out = self.partly if self.partly_when and not self.partly_when.holds(row) else ()
        return [None if column in left_out else row[column] for column in self.changing]


TABLES = {
    "asks": Table(
        key="id",
        fixed=(
            "seq id kind prompt context options multiple other schema default_value secret "
            "requirement project cwd agent session tool_use_id started_by owner opened_at digest "
            "priority confidence activity token_digest hard remind_every_seconds escalations "
            "call deferred terms task project_key attachments assume"
        ),
        changing=(
            "expires_at moved_seconds remind_at escalated escalate_at due_at status decision value "
            "note settled_at settled_by settled_via delivered_at delivered_to asked_back "
            "answer_attachments"
        ),
        apart={
            "heard": "the number of messages that the asker has read has no event",
            "version": _COUNTER,
        },
        subject="id",
    ),
    "answers": Table(
        key="seq",
        fixed=(
            "seq ask_id principal verified via value decision note given_at outcome reason key "
            "fingerprint attachments"
        ),
        subject="ask_id",
    ),
    "messages": Table(
        key="seq",
        fixed="seq ask_id author by_asker text sent_at",
        subject="ask_id",
    ),
    "drafts": Table(
        key="ask_id principal",
        apart=dict.fromkeys(("ask_id", "principal", "text", "saved_at"), _DRAFT),
    ),
    "secrets": Table(key="ask_id", apart=dict.fromkeys(("ask_id", "value", "kept_at"), _ERASED)),
    "wakes": Table(key="seq", fixed="seq owner ask_id woken_at", subject="ask_id"),
    "outbox": Table(
        key="seq",
        fixed="seq kind ask_id recipient written_at",
        subject="ask_id",
    ),
    "people": Table(key="name", fixed="name added_at", subject="name"),
    "tokens": Table(
        key="digest",
        fixed="digest person made_at label scopes",
        subject="person",
    ),
    "group_members": Table(key="name member", fixed="name member", subject="name"),
    "events": Table(
        key="seq",
        apart=dict.fromkeys(
            ("seq", "at", "kind", "subject", "actor", "content", "content_digest", "hash"), _CHAIN
        ),
    ),
    "traits": Table(key="name", fixed="name value"),
    "rules": Table(
        key="id",
        fixed=(
            "id kind pattern identity project session owner branch expires_at made_by made_at "
            "ask_id project_key"
        ),
        changing="uses_left ended_at",
        subject="id",
    ),
    "notes": Table(key="seq", fixed="seq author project text sent_at", subject="author"),
    "logins": Table(
        key="digest",
        fixed="digest kind person verified scopes token_id expires_at seal",
        subject="person",
    ),
    "ask_keys": Table(key="key", fixed="key ask_id", subject="ask_id"),
    "deliveries": Table(
        key="id",
        fixed="id kind ask_id recipient route written_at",
        apart=dict.fromkeys(
            ("due_at", "attempts", "claimed_until", "sent_at", "given_up_at", "problem"), _ATTEMPT
        )
        | dict.fromkeys(("message", "receipt"), _ATTEMPT),
        subject="ask_id",
    ),
    "runs": Table(
        key="id",
        fixed=(
            "id flow source prompt project started_by created_at parent parent_path task "
            "project_key"
        ),
        changing=(
            "source_digest folder root branch base state reason error result stopped_at ended_at "
            "priority"
        ),
        apart=dict.fromkeys(("agent", "ready_at", "waiting_since", "changed_at"), _NEXT)
        | dict.fromkeys(("claim", "owner", "lease_until", "crash_count", "host", "pool"), _LEASE),
        subject="'run:' || id",
        partly=dict.fromkeys(("state", "reason", "stopped_at"), _MOVES),
        partly_when=Among("state", RunState.COMPLETED, RunState.STUCK, RunState.FAILED),
    ),
    "calls": Table(
        key="run path",
        changing=(
            "run path name label digest started_at state value error ask_id attempt asked "
            "dangerous accepted snapshot ended_at"
        ),
        apart={"owner": _LEASE},
        subject="'run:' || run",
        unless=Among("state", CallState.OPEN),
    ),
    "turns": Table(
        key="id",
        fixed="id run path number role cli fork_of person ask_id",
        changing="session sent started_at ended_at signal words offered",
        apart={"process": _LEASE},
        subject="'run:' || run",
    ),
    "visits": Table(
        key="id",
        fixed="id ask_id number by cli process expires_at",
        changing="session started_at program ended_at end problem transcript",
        subject="ask_id",
    ),
    "tasks": Table(
        key="id",
        fixed="seq id",
        changing=(
            "title project created_at updated_at created_by description role priority size type "
            "parent needs test_command test_from state status summary details confidence run "
            "goes_on_from claimed_by answered_at branch closed_at answer_within_seconds on_timeout "
            "unmet version more project_key"
        ),
        subject="id",
    ),
    "members": Table(
        key="id",
        apart=dict.fromkeys(("id", "kind", "process", "url", "joined_at", "beat_at"), _BEAT),
    ),
    "attachments": Table(
        key="digest",
        apart=dict.fromkeys(("digest", "size", "media_type", "kept_at", "used"), _BYTES),
    ),
    "uploads": Table(
        key="whose digest", apart=dict.fromkeys(("whose", "digest", "kept_at"), _UPLOAD)
    ),
    "freezes": Table(
        key="seq",
        fixed="seq made_by made_at reason",
        changing="lifted_at lifted_by",
    ),
    "devices": Table(
        key="id",
        fixed="id",
        changing="person endpoint p256dh auth seal token_id label added_at",
        subject="person",
    ),
    "shadow_rules": Table(
        key="id",
        fixed="id pattern project project_key client ask_id made_by made_at until",
        changing="state ended_at",
        subject="id",
    ),
    "chat_links": Table(
        key="id",
        fixed="id chat person verified token_id made_at",
        changing="code account room",
        subject="person",
    ),
    "chat_messages": Table(
        key="chat room message",
        apart=dict.fromkeys(
            ("chat", "room", "message", "ask_id", "digest", "kind", "sent_at"), _SHOWN
        ),
    ),
    "task_needs": Table(key="task needed", fixed="task needed", subject="task"),
    "presence": Table(key="person", apart=dict.fromkeys(("person", "seen_at"), _PRESENCE)),
}


def list_apart() -> dict[str, str]:
    """Return the columns that are not in the trail, as `table.column`, with the reason."""
    found = {
        f"{name}.{column}": reason
        for name, table in TABLES.items()
        for column, reason in (*table.apart.items(), *table.partly.items())
    }
    return found | {"calls.*": "a step of a run that is still open has no event yet"}
