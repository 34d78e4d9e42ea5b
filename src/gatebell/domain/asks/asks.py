"""The ask, and each change of it except answers, messages and sessions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gatebell.domain.asks.deadlines import (
    NO_DEADLINES,
    Deadlines,
    escalate,
    hold,
    remind,
)
from gatebell.domain.audit.events import Event, EventKind
from gatebell.domain.digests import digest
from gatebell.domain.enums import AskStatus, Decision, NoticeKind, Priority
from gatebell.domain.records import NamedTuple
from gatebell.domain.sessions.visits import FAILED
from gatebell.errors import AlreadySettledError, UsageError

if TYPE_CHECKING:
    from datetime import datetime

    from gatebell.domain.asks.attachments import Attachment
    from gatebell.domain.asks.questions import Question
    from gatebell.domain.notifications.notes import Note
    from gatebell.domain.people.principals import Caller
    from gatebell.domain.permissions.rules import Rule
    from gatebell.domain.runs.runs import Turn
    from gatebell.domain.sessions.visits import Visit


MAX_ACTIVITY_CHARACTERS = 256_000

# Without characters that look alike: 0 and o; 1, i and l.
ID_ALPHABET = "23456789abcdefghjkmnpqrstuvwxyz"


FENCED = "fence"
"""How an ask was settled that a restored store must not use again."""
_RESTORED = "the store was restored from a backup, and this may have been used after it"

OTHER_PRIORITIES = {"critical": Priority.URGENT, "medium": Priority.NORMAL}
"""Words of other trackers, which are only read."""


class Origin(NamedTuple):
    """Where an ask comes from."""

    project: str = ""
    cwd: str = ""
    agent: str = ""
    """The name shown to people."""
    session: str = ""
    """CLI/SESSION of the asking agent; empty when no agent asks."""
    tool_use_id: str = ""
    started_by: str = ""
    """The person who started the asker."""
    owner: str = ""
    """The run that becomes ready when the ask settles."""
    task: str = ""
    """The task that its run works on. Only people answer the asks of a task."""
    project_key: str = ""
    """The project on every host; empty in asks of older versions."""


class Ask(NamedTuple):
    """One ask: a question, its origin, and how far it is.

    Example:
        for ask in Gate().pending():
            print(ask.id, ask.question.prompt, ask.origin.agent, ask.status)
    """

    id: str
    question: Question
    origin: Origin
    opened_at: datetime
    digest: str
    priority: Priority = Priority.NORMAL
    confidence: float | None = None
    activity: str = ""
    """The agent's last words, commands and changes when it asked."""
    token_digest: str = ""
    """The digest of the token with which the secret answer can be read."""
    deadlines: Deadlines = NO_DEADLINES
    status: AskStatus = AskStatus.PENDING
    decision: Decision | None = None
    value: Any = None
    note: str = ""
    settled_at: datetime | None = None
    settled_by: str = ""
    settled_via: str = ""
    delivered_at: datetime | None = None
    delivered_to: str = ""
    asked_back: int = 0
    """The number of messages that people have sent to the asker."""
    heard: int = 0
    """The number of those messages that the asker has received."""
    version: int = 1
    deferred: bool = False
    """The host ended its turn, and will ask again when it is resumed."""
    answer_attachments: tuple[Attachment, ...] = ()
    """The files of the answer that settled it."""
    assume: str | None = None
    """Of a background ask: what its agent goes on with, perhaps empty. None: it waits."""

    @property
    def pending(self) -> bool:
        return self.status == AskStatus.PENDING


class Notice(NamedTuple):
    """An event that people should hear of; it waits in the outbox until a channel sends it."""

    kind: NoticeKind
    ask_id: str
    to: str = ""


class Message(NamedTuple):
    """One message between people and the asker; it does not settle the ask."""

    ask_id: str
    author: str
    by_asker: bool
    """True for a reply of the asker; False for a message to the asker."""
    text: str
    sent_at: datetime


class Change(NamedTuple):
    """An ask after a change, with everything that the same transaction must write."""

    ask: Ask
    events: tuple[Event, ...]
    wakes: tuple[str, ...] = ()
    notices: tuple[Notice, ...] = ()
    message: Message | None = None
    erase_secret: bool = False
    grant: Rule | None = None
    visit: Visit | None = None
    """A person's visit to its session after the change."""
    turn: Turn | None = None
    """A person's turn in a run that ends with this change."""
    unless_frozen: bool = False
    """Whether nothing is written while everything is frozen."""
    chat_link: str = ""
    """The link of the account by which it is made; nothing is written after its end."""
    suspends: tuple[str, ...] = ()
    """The shadow rules that this answer disagrees with."""
    ends: tuple[str, ...] = ()
    """The grants without an end that it disagrees with."""
    rules_seen: tuple[str, ...] = ()
    """The state of these rules that it knows; empty if it does not depend on them."""
    alarm: Note | None = None
    """A note that is sent with the change."""


def question_digest(question: Question, origin: Origin) -> str:
    """Return the digest that an answer is bound to: the question, its project and its owner.

    The activity is left out. It changes every second, and a question that is asked again
    after a crash must find its first ask. So is what is assumed: an agent that waits after all
    asks the same again.
    """
    q = question
    shown = [q.kind, q.prompt, q.context, q.options, q.multiple, q.other, q.schema, q.default]
    bound = [q.secret, q.requirement.to_list(), origin.project, origin.owner]
    # A field that is not always there enters only when it is set: stored asks keep their digest.
    held = [list(q.call[:-1])] if q.call else []
    terms = [list(q.session)] if q.session else []
    # Named, because it must not look like a call or like terms.
    files = [{"attachments": [list(one) for one in q.attachments]}] if q.attachments else []
    return digest([*shown, *bound, *held, *terms, *files])


def record_digest(ask: Ask) -> str:
    """Return the digest of the other fixed parts of an ask, to detect a later change."""
    clock = ask.deadlines
    fixed = [ask.priority, ask.confidence, ask.activity, ask.token_digest, clock.hard]
    timing = [iso(ask.opened_at), clock.remind_every_seconds, clock.escalations]
    call = ask.question.call
    # Without a task or a key the digest is that of older versions, which had none.
    *origin, task, key = ask.origin
    origin += [task, key] if key else [task] if task else []
    # Named: it must not look like the remark of a call.
    assumed = [] if ask.assume is None else [{"assume": ask.assume}]
    return digest([origin, fixed, timing, *([call.remark] if call else []), *assumed])


def iso(at: datetime | None) -> str | None:
    """Return a time as events and documents write it."""
    return at.isoformat(timespec="microseconds") if at else None


def parse_priority(given: str | int) -> Priority:
    """Read `urgent`, `high`, `normal`, `low`, `backlog`, P0 … P4, or 0 (urgent) to 4.

    `critical` is read as `urgent`, and `medium` as `normal`.
    """
    text = str(given).strip().lower()
    for priority in Priority:
        if text in (priority.word, str(priority), f"p{priority}"):
            return priority
    if text in OTHER_PRIORITIES:
        return OTHER_PRIORITIES[text]
    raise UsageError(
        f"a priority is urgent, high, normal, low or backlog, or P0 to P4, got {text[:40]!r}"
    )


def id_length(asks_so_far: int) -> int:
    """Return 3, and one more each time a tenth of the possible ids is used."""
    length = 3
    while asks_so_far * 10 >= len(ID_ALPHABET) ** length:
        length += 1
    return length


def make_id(length: int, random_bytes: bytes, kind: str = "a-") -> str:
    number = int.from_bytes(random_bytes)
    characters = []
    for _ in range(length):
        number, index = divmod(number, len(ID_ALPHABET))
        characters.append(ID_ALPHABET[index])
    return kind + "".join(characters)


def last_settler(ask: Ask) -> str:
    """Return whose answer or vote settled an ask; other people may have voted before."""
    return ask.settled_by.rpartition(", ")[2]


def settled_sentence(ask: Ask) -> str:
    """Return who settled an ask, when and how, for a person who answers too late."""
    when = f"{ask.settled_at:%Y-%m-%d %H:%M:%S} UTC" if ask.settled_at else "an unknown time"
    if ask.status == AskStatus.ANSWERED:
        what = f" ({ask.decision})" if ask.decision else ""
        return f"{ask.id} was already answered by {ask.settled_by} at {when}{what}"
    if ask.status == AskStatus.CANCELLED:
        reason = f": {ask.note}" if ask.note else ""
        return f"{ask.id} was cancelled by {ask.settled_by} at {when}{reason}"
    return f"{ask.id} timed out at {when}"


def settled_word(ask: Ask) -> str:
    """Return one or two words for how an ask was settled."""
    if ask.status == AskStatus.CANCELLED and ask.settled_via == FAILED:
        return FAILED
    return ask.decision or ask.status.replace("_", " ")


def wakes(ask: Ask) -> tuple[str, ...]:
    return (ask.origin.owner,) if ask.origin.owner else ()


def open_ask(ask: Ask, actor: str, host: str = "") -> Change:
    """Open an ask; `host`: where the folder of its session is."""
    content = {"digest": ask.digest, "kind": ask.question.kind, "record": record_digest(ask)}
    content |= {"host": host} if host else {}
    event = Event(EventKind.ASK_OPENED, ask.id, actor, content)
    return Change(ask, (event,), notices=(Notice(NoticeKind.OPENED, ask.id),))


def cancel(ask: Ask, caller: Caller, reason: str, now: datetime) -> Change:
    """Cancel a pending ask; record who did it and why."""
    must_be_pending(ask)
    return _cancel(ask, caller, reason, now)


def may_be_used(ask: Ask) -> bool:
    """Return whether a later call could use this ask: an untaken approval, or a call that waits."""
    if ask.delivered_at:
        return False
    return ask.decision == Decision.APPROVED or (ask.pending and ask.question.call is not None)


def fence(ask: Ask, caller: Caller, now: datetime) -> Change:
    """Cancel an ask that a later call could use, although it may have been used already.

    For a store that was restored from a backup: its approvals look unused. The answer itself stays.
    """
    change = _cancel(ask, caller._replace(via=FENCED), _RESTORED, now)
    return change if ask.pending else change._replace(notices=())


def _cancel(ask: Ask, caller: Caller, reason: str, now: datetime) -> Change:
    after = ask._replace(
        status=AskStatus.CANCELLED,
        decision=None,
        value=None,
        answer_attachments=(),
        note=reason,
        settled_at=now,
        settled_by=caller.actor,
        settled_via=caller.via,
        version=ask.version + 1,
    )
    content = {"note": reason, "via": caller.via, "at": iso(now), "evidence": caller.evidence}
    event = Event(EventKind.ASK_CANCELLED, ask.id, caller.actor, content)
    return Change(after, (event,), wakes(ask), (Notice(NoticeKind.SETTLED, ask.id),))


def fall_due(ask: Ask, now: datetime) -> Change | None:
    """Return the next change by a deadline of a pending ask; None when nothing is due."""
    clock = ask.deadlines
    if not ask.pending:
        return None
    if clock.expires_at and clock.expires_at <= now:
        return expire(ask, now)
    if clock.escalate_at and clock.escalate_at <= now:
        who = clock.escalations[clock.escalated].who
        event = Event(EventKind.ASK_ESCALATED, ask.id, "gate", {"to": who})
        return _move_deadlines(
            ask, escalate(clock, ask.opened_at), Notice(NoticeKind.ESCALATED, ask.id, who), event
        )
    if clock.remind_at and clock.remind_at <= now:
        event = Event(EventKind.ASK_REMINDED, ask.id, "gate", {})
        return _move_deadlines(ask, remind(clock, now), Notice(NoticeKind.REMINDER, ask.id), event)
    return None


def expire(ask: Ask, now: datetime, via: str = "deadline") -> Change:
    after = ask._replace(
        status=AskStatus.TIMED_OUT,
        value=ask.question.default,
        settled_at=now,
        settled_via=via,
        version=ask.version + 1,
    )
    content = {"value": ask.question.default, "via": via, "at": iso(now)}
    event = Event(EventKind.ASK_TIMED_OUT, ask.id, "gate", content)
    return Change(after, (event,), wakes(ask), (Notice(NoticeKind.SETTLED, ask.id),))


def _move_deadlines(ask: Ask, deadlines: Deadlines, notice: Notice, event: Event) -> Change:
    after = ask._replace(deadlines=deadlines, version=ask.version + 1)
    return Change(after, (event,), notices=(notice,))


def hold_deadlines(ask: Ask, by: str, now: datetime) -> Change:
    """Return the ask after a draft was saved, with an event only if its deadline moved."""
    deadlines = hold(ask.deadlines, now) if ask.pending else ask.deadlines
    if deadlines == ask.deadlines:
        return Change(ask, ())
    after = ask._replace(deadlines=deadlines, version=ask.version + 1)
    return Change(
        after, (Event(EventKind.ASK_HELD, ask.id, by, {"until": iso(deadlines.expires_at)}),)
    )


def take(ask: Ask, to: str, now: datetime, *, unless_frozen: bool = False) -> Change | None:
    """Record that the asker received the answer; None when that was recorded before."""
    if ask.status != AskStatus.ANSWERED or ask.delivered_at:
        return None
    after = ask._replace(delivered_at=now, delivered_to=to, version=ask.version + 1)
    event = Event(EventKind.ASK_TAKEN, ask.id, to, {"at": iso(now)})
    return Change(after, (event,), erase_secret=True, unless_frozen=unless_frozen)


def hide_settlement(ask: Ask) -> Ask:
    """Return a settled ask that looks pending, while its asker may not see the answer.

    Never write it to the store.
    """
    return ask._replace(
        status=AskStatus.PENDING, decision=None, value=None, note="", settled_at=None,
        settled_by="", settled_via="", answer_attachments=(),
    )  # fmt: skip


def hear(ask: Ask, messages: int) -> Change | None:
    """Record how many messages the asker received; None when it had them before."""
    if ask.heard >= messages:
        return None
    return Change(ask._replace(heard=messages, version=ask.version + 1), ())


def must_be_pending(ask: Ask) -> None:
    if not ask.pending:
        raise AlreadySettledError(settled_sentence(ask))
