"""The ask: one request to a person, and every step of its life but answers, talk and sessions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gatebell.domain.asks.deadlines import (
    NO_DEADLINES,
    Deadlines,
    escalate,
    hold,
    remind,
)
from gatebell.domain.asks.requirements import ANY_PERSON, Requirement
from gatebell.domain.audit.events import Event, EventKind
from gatebell.domain.digests import canonical, digest
from gatebell.domain.enums import AskKind, AskStatus, Decision, NoticeKind, Priority
from gatebell.domain.records import NamedTuple
from gatebell.domain.sessions.visits import FAILED, Terms, make_terms
from gatebell.domain.text.suggestions import suggest
from gatebell.errors import AlreadySettledError, UsageError

if TYPE_CHECKING:
    from datetime import datetime

    from gatebell.domain.people.principals import Caller
    from gatebell.domain.permissions.calls import Call
    from gatebell.domain.permissions.rules import Rule
    from gatebell.domain.runs.runs import Turn
    from gatebell.domain.sessions.visits import Visit


MAX_PROMPT_CHARACTERS = 200_000
MAX_CONTEXT_CHARACTERS = 4_000_000
MAX_ACTIVITY_CHARACTERS = 256_000

# No look-alikes: neither 0 and o, nor 1, i and l.
ID_ALPHABET = "23456789abcdefghjkmnpqrstuvwxyz"

OTHER = "Other…"
"""The option that carries a person's own words."""


class Question(NamedTuple):
    """What is shown and answered. It never changes once the ask is open."""

    kind: AskKind
    prompt: str
    context: Any = None
    options: tuple[str, ...] = ()
    multiple: bool = False
    other: bool = False
    """There is also `Other…`, which carries text."""
    schema: dict[str, Any] | None = None
    default: Any = None
    """Takes effect on timeout; never for an approval."""
    secret: bool = False
    requirement: Requirement = ANY_PERSON
    call: Call | None = None
    """The tool call that a host holds until this approval is decided."""
    session: Terms | None = None
    """How it is worked out, when it is a session."""

    @property
    def option_labels(self) -> tuple[str, ...]:
        """The options as people see them."""
        return (*self.options, OTHER) if self.other else self.options

    @property
    def answered_as(self) -> AskKind:
        """The kind of answer that settles it: `approval`, `choice`, `text` or `form`."""
        return self.session.answer if self.session else self.kind

    @property
    def gates(self) -> bool:
        """Its yes lets something happen, so only a person may give it."""
        return self.kind in (AskKind.APPROVAL, AskKind.SESSION)


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
    """The task that its run works on: what it asks, only people answer."""


class Ask(NamedTuple):
    """A question, where it came from, and how far it has come."""

    id: str
    question: Question
    origin: Origin
    opened_at: datetime
    digest: str
    priority: Priority = Priority.NORMAL
    confidence: float | None = None
    activity: str = ""
    """What was going on when the agent asked."""
    token_digest: str = ""
    """Whoever presents this token may receive the secret answer."""
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
    """Messages people have sent to the asker."""
    heard: int = 0
    """How many of them the asker has been handed."""
    version: int = 1
    deferred: bool = False
    """Its host has ended its turn and asks again when it is resumed."""

    @property
    def pending(self) -> bool:
        return self.status == AskStatus.PENDING


class Notice(NamedTuple):
    """Something people should be told; it waits in the outbox until a channel sends it."""

    kind: NoticeKind
    ask_id: str
    to: str = ""


class Message(NamedTuple):
    """One line of the talk around an ask; it settles nothing."""

    ask_id: str
    author: str
    by_asker: bool
    """A reply of the asker, not a message to it."""
    text: str
    sent_at: datetime


class Change(NamedTuple):
    """An ask after a step, with all that must be written in the same transaction."""

    ask: Ask
    events: tuple[Event, ...]
    wakes: tuple[str, ...] = ()
    notices: tuple[Notice, ...] = ()
    message: Message | None = None
    erase_secret: bool = False
    grant: Rule | None = None
    visit: Visit | None = None
    """Somebody's stay in its session, as it is now."""
    turn: Turn | None = None
    """A person's turn in a run that ends with this step."""


def make_question(
    kind: str,
    prompt: str,
    *,
    context: Any = None,
    options: tuple[str, ...] = (),
    multiple: bool = False,
    schema: dict[str, Any] | None = None,
    secret: bool = False,
    requirement: Requirement = ANY_PERSON,
    call: Call | None = None,
    session: Terms | None = None,
) -> Question:
    """A question that makes sense, or a UsageError that says why it does not.

    The default is added by `answers.with_default`, which can judge it.
    """
    question = Question(
        _parse_kind(kind), prompt, context, options, multiple, schema=schema, secret=secret,
        requirement=requirement, call=call, session=session and make_terms(session),
    )  # fmt: skip
    _must_be_readable(question)
    _must_fit_its_kind(question)
    named = tuple(option for option in options if not means_other(option))
    if len(set(named)) < len(named) or not all(option.strip() for option in named):
        raise UsageError("the options must differ from one another, and none may be empty")
    if len(options) == 1:
        raise UsageError(
            f"a choice needs two options or more, got {options[0]!r} alone: add {OTHER!r}, or ask "
            "for an approval or a text"
        )
    return question._replace(options=named, other=len(named) < len(options))


def _parse_kind(word: str) -> AskKind:
    try:
        return AskKind(word)
    except ValueError:
        known = ", ".join(AskKind)
        near = suggest(word, AskKind)
        raise UsageError(f"{word!r} is no kind of ask; there are {known}{near}") from None


def means_other(word: str) -> bool:
    return word.casefold() in ("other…", "other...", "other")


def _must_be_readable(question: Question) -> None:
    prompt = question.prompt
    if not prompt.strip():
        raise UsageError("an ask needs a question")
    if len(prompt) > MAX_PROMPT_CHARACTERS:
        raise UsageError(
            f"the question has {len(prompt)} characters, at most {MAX_PROMPT_CHARACTERS} fit: "
            "put the long part into --context"
        )
    if len(canonical(question.context)) > MAX_CONTEXT_CHARACTERS:
        raise UsageError(f"the context is longer than {MAX_CONTEXT_CHARACTERS} characters")


def _must_fit_its_kind(question: Question) -> None:
    kind, requirement = question.kind, question.requirement
    if (kind == AskKind.SESSION) != (question.session is not None):
        raise UsageError("a session ask needs terms, and no other kind has them")
    answer = question.answered_as
    if (answer == AskKind.CHOICE) != bool(question.options):
        raise UsageError("a choice needs options, and no other kind has them")
    if (answer == AskKind.FORM) != (question.schema is not None):
        raise UsageError("a form needs a schema, and no other kind has one")
    if question.multiple and answer != AskKind.CHOICE:
        raise UsageError("only a choice can take several options")
    if question.secret and kind != AskKind.TEXT:
        raise UsageError("only a text ask is secret; in a form, mark fields as writeOnly")
    if question.call and kind != AskKind.APPROVAL:
        raise UsageError("a tool call is held by an approval and by nothing else")
    several = requirement.n > 1 or requirement.reject > 1 or requirement.veto
    if several and answer != AskKind.APPROVAL:
        raise UsageError(f"more than one person can decide an approval, not a {answer}")


def question_digest(question: Question, origin: Origin) -> str:
    """What an answer is bound to: all that is shown and decided, where and for whom.

    What was going on is left out: it changes by the second, and the same question asked
    again after a crash must find its first ask.
    """
    *shown, requirement, call, session = question
    held = [list(call[:-1])] if call else []
    terms = [list(session)] if session else []
    return digest([*shown, list(requirement), origin.project, origin.owner, *held, *terms])


def record_digest(ask: Ask) -> str:
    """Of all else that is fixed when an ask opens, so that a later change of it shows."""
    clock = ask.deadlines
    fixed = [ask.priority, ask.confidence, ask.activity, ask.token_digest, clock.hard]
    timing = [iso(ask.opened_at), clock.remind_every_seconds, clock.escalations]
    call = ask.question.call
    # Asks that were opened before there were tasks keep their digest.
    origin = list(ask.origin) if ask.origin.task else list(ask.origin[:-1])
    return digest([origin, fixed, timing, *([call.remark] if call else [])])


def iso(at: datetime | None) -> str | None:
    """A time as events and documents hold it."""
    return at.isoformat(timespec="microseconds") if at else None


def parse_priority(given: str | int) -> Priority:
    """`urgent`, `high`, `normal`, `low`, `backlog`, or 0 (most urgent) to 4."""
    text = str(given)
    for priority in Priority:
        if text in (priority.word, str(priority)):
            return priority
    raise UsageError(f"{text[:40]!r} is no priority: write urgent, high, normal, low or backlog")


def id_length(asks_so_far: int) -> int:
    """Three characters, and one more whenever a tenth of the space is used."""
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
    """Whose answer or vote settled an ask; others may have voted before."""
    return ask.settled_by.rpartition(", ")[2]


def settled_sentence(ask: Ask) -> str:
    """Who won, for somebody who comes too late."""
    when = f"{ask.settled_at:%Y-%m-%d %H:%M:%S} UTC" if ask.settled_at else "an unknown time"
    if ask.status == AskStatus.ANSWERED:
        what = f" ({ask.decision})" if ask.decision else ""
        return f"{ask.id} was already answered by {ask.settled_by} at {when}{what}"
    if ask.status == AskStatus.CANCELLED:
        reason = f": {ask.note}" if ask.note else ""
        return f"{ask.id} was cancelled by {ask.settled_by} at {when}{reason}"
    return f"{ask.id} timed out at {when}"


def settled_word(ask: Ask) -> str:
    """How it was settled, in a word or two."""
    if ask.status == AskStatus.CANCELLED and ask.settled_via == FAILED:
        return FAILED
    return ask.decision or ask.status.replace("_", " ")


def wakes(ask: Ask) -> tuple[str, ...]:
    return (ask.origin.owner,) if ask.origin.owner else ()


def open_ask(ask: Ask, actor: str) -> Change:
    content = {"digest": ask.digest, "kind": ask.question.kind, "record": record_digest(ask)}
    event = Event(EventKind.ASK_OPENED, ask.id, actor, content)
    return Change(ask, (event,), notices=(Notice(NoticeKind.OPENED, ask.id),))


def cancel(ask: Ask, caller: Caller, reason: str, now: datetime) -> Change:
    """Withdraw a pending ask, with who did it and why."""
    must_be_pending(ask)
    after = ask._replace(
        status=AskStatus.CANCELLED,
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
    """The next thing that time does to a pending ask, or None when nothing is due."""
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
    """The ask after somebody saved a draft of its answer; an event only if that moved its deadline."""
    deadlines = hold(ask.deadlines, now) if ask.pending else ask.deadlines
    if deadlines == ask.deadlines:
        return Change(ask, ())
    after = ask._replace(deadlines=deadlines, version=ask.version + 1)
    return Change(
        after, (Event(EventKind.ASK_HELD, ask.id, by, {"until": iso(deadlines.expires_at)}),)
    )


def take(ask: Ask, to: str, now: datetime) -> Change | None:
    """The answer was handed to its asker; None when that was recorded before."""
    if ask.status != AskStatus.ANSWERED or ask.delivered_at:
        return None
    after = ask._replace(delivered_at=now, delivered_to=to, version=ask.version + 1)
    event = Event(EventKind.ASK_TAKEN, ask.id, to, {"at": iso(now)})
    return Change(after, (event,), erase_secret=True)


def hide_settlement(ask: Ask) -> Ask:
    """A settled ask as its asker sees it while nothing may be handed over; never to be written."""
    return ask._replace(
        status=AskStatus.PENDING, decision=None, value=None, note="", settled_at=None, settled_by="",
        settled_via="",
    )  # fmt: skip


def hear(ask: Ask, messages: int) -> Change | None:
    """So many messages were handed to the asker; None when it has heard them already."""
    if ask.heard >= messages:
        return None
    return Change(ask._replace(heard=messages, version=ask.version + 1), ())


def must_be_pending(ask: Ask) -> None:
    if not ask.pending:
        raise AlreadySettledError(settled_sentence(ask))
