"""The events of the audit trail, and the check of their chain."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gatebell.domain.digests import GENESIS, digest, link
from gatebell.domain.enums import StrEnum
from gatebell.domain.records import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


_MAX_DIGITS = 18
_HASH_LENGTH = 64


class EventKind(StrEnum):
    """The events that this version writes; `ask.made` and `ask.ended` are about rules."""

    ASK_OPENED = "ask.opened"
    ASK_HELD = "ask.held"
    ASK_REMINDED = "ask.reminded"
    ASK_ESCALATED = "ask.escalated"
    ASK_ASKED_BACK = "ask.asked_back"
    ASK_REPLIED = "ask.replied"
    ASK_VOTED = "ask.voted"
    ASK_ANSWERED = "ask.answered"
    ASK_TIMED_OUT = "ask.timed_out"
    ASK_CANCELLED = "ask.cancelled"
    ASK_TAKEN = "ask.taken"
    ANSWER_REFUSED = "answer.refused"
    ASK_MADE = "ask.made"
    ASK_ENDED = "ask.ended"
    DENY_MADE = "deny.made"
    DENY_ENDED = "deny.ended"
    GRANT_MADE = "grant.made"
    GRANT_USED = "grant.used"
    GRANT_ENDED = "grant.ended"
    PERSON_ADDED = "person.added"
    PERSON_REMOVED = "person.removed"
    GROUP_SET = "group.set"
    TOKEN_MADE = "token.made"  # noqa: S105  the name of an event
    TOKEN_REVOKED = "token.revoked"  # noqa: S105  likewise
    LINK_MADE = "link.made"
    LOGIN_MADE = "login.made"
    LOGIN_ENDED = "login.ended"
    NOTE_SENT = "note.sent"
    AGENT_SIGNALLED = "agent.signalled"
    FILE_FOREIGN = "file.foreign"
    SESSION_OPENED = "session.opened"
    SESSION_LEFT = "session.left"
    SESSION_JOINED = "session.joined"
    SESSION_CLOSED = "session.closed"
    RUN_STARTED = "run.started"
    RUN_PLACED = "run.placed"
    RUN_SOURCE_CHANGED = "run.source_changed"
    RUN_PARKED = "run.parked"
    RUN_STOPPED = "run.stopped"
    RUN_RESUMED = "run.resumed"
    RUN_COMPLETED = "run.completed"
    RUN_STUCK = "run.stuck"
    RUN_FAILED = "run.failed"
    RUN_DELETED = "run.deleted"
    RUN_LEFT = "run.left"
    RUN_ARRIVED = "run.arrived"
    RUN_RELEASED = "run.released"
    HOST_FORGOTTEN = "host.forgotten"
    CALL_RECORDED = "call.recorded"
    CALL_FAILED = "call.failed"
    TURN_BEGAN = "turn.began"
    TASK_CREATED = "task.created"
    TASK_CHANGED = "task.changed"
    TASK_OPEN = "task.open"
    TASK_IN_PROGRESS = "task.in_progress"
    TASK_AWAITING_INPUT = "task.awaiting_input"
    TASK_BLOCKED = "task.blocked"
    TASK_DEFERRED = "task.deferred"
    TASK_FAILED = "task.failed"
    TASK_CLOSED = "task.closed"
    STORE_FENCED = "store.fenced"
    FREEZE_BEGUN = "freeze.begun"
    FREEZE_LIFTED = "freeze.lifted"
    DEVICE_ADDED = "device.added"
    DEVICE_REMOVED = "device.removed"
    SHADOW_MADE = "shadow.made"
    SHADOW_AGREED = "shadow.agreed"
    SHADOW_DISAGREED = "shadow.disagreed"
    SHADOW_PROMOTED = "shadow.promoted"
    SHADOW_REMOVED = "shadow.removed"


class Event(NamedTuple):
    """One change of state, as it is handed to the store."""

    kind: str
    """An EventKind, `TABLE.written`, or a kind of a newer version."""
    subject: str
    """The ask, person or group it happened to."""
    actor: str
    """The principal who did it."""
    content: dict[str, Any]
    """Other data; the only part that may be erased later."""


class Entry(NamedTuple):
    """An event in its place in the chain."""

    seq: int
    at: str
    event: Event
    content_digest: str
    hash: str
    erased: bool
    rows: dict[str, dict[str, list[str]]] | None = None
    """Seals of the rows that its transaction wrote (`audit/seals.py`); None in old events."""

    @property
    def is_news(self) -> bool:
        """Whether people should see it; other events only seal rows."""
        return not self.event.kind.endswith(".written")

    @property
    def content(self) -> Any:
        """The whole content that the digest covers."""
        content = self.event.content
        return content if self.rows is None else {**content, "rows": self.rows}


class Head(NamedTuple):
    """The newest event. A copy kept elsewhere proves that no events at the end were removed."""

    seq: int
    hash: str

    def __str__(self) -> str:
        return f"{self.seq}:{self.hash}"


def parse_head(text: str) -> Head | None:
    """Read the output of `gate audit head`; None if it is something else."""
    seq, _, link_hash = text.strip().partition(":")
    if not seq.isdecimal() or len(seq) > _MAX_DIGITS or len(link_hash) != _HASH_LENGTH:
        return None
    return Head(int(seq), link_hash)


class Chain:
    """Follow the chain from its first event, and yield a sentence for every fault."""

    def __init__(self, kept: Head | None = None) -> None:
        self._kept = kept
        self._previous, self._expected = GENESIS, 1
        self._kept_seen = kept is None or kept.seq == 0

    def follow(self, entry: Entry) -> Iterator[str]:
        """Check the next event. Exhaust the iterator: the next check depends on it."""
        name = f"event {entry.seq} ({entry.event.kind})"
        if entry.seq != self._expected:
            yield f"event {self._expected} is missing: the next one found is {entry.seq}"
        if not entry.erased and digest(entry.content) != entry.content_digest:
            yield f"{name}: its content was changed"
        found = link(self._previous, entry.seq, entry.at, entry.event, entry.content_digest)
        if found != entry.hash:
            yield f"{name} does not follow from the one before it"
        if self._kept and entry.seq == self._kept.seq:
            self._kept_seen = True
            if entry.hash != self._kept.hash:
                yield f"event {entry.seq} is not the one whose head was kept"
        self._previous, self._expected = entry.hash, entry.seq + 1

    def end(self) -> Iterator[str]:
        """Check that the chain reaches the head that was kept."""
        if not self._kept_seen and self._kept:
            yield (
                f"the log ends at event {self._expected - 1}, "
                f"but the head that was kept is of event {self._kept.seq}"
            )


def verify(entries: Iterable[Entry], kept: Head | None = None) -> Iterator[str]:
    """Yield a sentence for every fault found in the chain."""
    chain = Chain(kept)
    for entry in entries:
        yield from chain.follow(entry)
    yield from chain.end()
