"""Notification messages about asks and notes, short and inert, and their deliveries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from gatebell.domain.asks.asks import Notice, iso
from gatebell.domain.asks.documents import ask_document
from gatebell.domain.asks.gone_askers import describe_background
from gatebell.domain.asks.headings import list_heading
from gatebell.domain.enums import NoticeKind, Priority
from gatebell.domain.text.display import age, inert_line
from gatebell.domain.text.redaction import redact

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from gatebell.domain.asks.asks import Ask
    from gatebell.domain.enums import Decision
    from gatebell.domain.notifications.chat_cards import Card
    from gatebell.domain.notifications.notes import Note
    from gatebell.domain.runs.runs import Run

_PROMPT_COLUMNS = 300
_NAME_COLUMNS = 60
_BUNDLE_LINES = 5
_BUNDLE_COLUMNS = 100

_EVENTS = {
    NoticeKind.OPENED: "ask.opened",
    NoticeKind.REMINDER: "ask.reminded",
    NoticeKind.ESCALATED: "ask.escalated",
    NoticeKind.REPLIED: "ask.replied",
    NoticeKind.SETTLED: "ask.settled",
    NoticeKind.NOTE: "note.sent",
    NoticeKind.TEST: "gate.tested",
    NoticeKind.BUNDLE: "asks.waiting",
    NoticeKind.WITHDRAWN: "ask.withdrawn",
}
_BEGIN = {
    NoticeKind.OPENED: "Asked by",
    NoticeKind.REMINDER: "Still waiting, asked by",
    NoticeKind.REPLIED: "Reply from",
}
# Without context, activity, answer and tool call, which may hold anything.
_SENT_KEYS = [
    "id",
    "kind",
    "priority",
    "secret",
    "opened_at",
    "expires_at",
    "deadline",
    "status",
    "decision",
    "settled_at",
    "settled_by",
    "settled_via",
]


class Posted(NamedTuple):
    """A notice in the outbox."""

    seq: int
    notice: Notice
    written_at: datetime


class Delivery(NamedTuple):
    """One notice on one route."""

    id: str
    """Random, and the same at every attempt, so that a receiver can detect a second copy."""
    kind: NoticeKind
    ask_id: str
    to: str
    route: str
    written_at: datetime
    due_at: datetime
    attempts: int = 0
    """The number of attempts that were started. It also tells one claim from the next."""
    claimed_until: datetime | None = None
    sent_at: datetime | None = None
    given_up_at: datetime | None = None
    problem: str = ""
    message: str = ""
    """The id of the message that tells of it together with others; empty: its own."""
    receipt: str = ""
    """By this the channel finds the message again."""

    @property
    def message_id(self) -> str:
        return self.message or self.id

    @property
    def may_have_arrived(self) -> bool:
        """Whether it was claimed before by a process that died, perhaps after it sent it."""
        return self.attempts > 1 and not self.problem


class NotificationMessage(NamedTuple):
    """A message that a channel sends."""

    id: str
    kind: NoticeKind
    title: str
    body: str
    link: str
    """Opens the ask after a login; it does not sign in and does not answer."""
    priority: Priority
    ask_id: str
    document: dict[str, Any]
    """The same data for programs."""
    ask_ids: tuple[str, ...] = ()
    """All asks that it tells of."""
    buttons: tuple[tuple[Decision, str], ...] = ()
    """The decisions that the message offers, each with the token that proves it."""
    card: Card | None = None
    """The message as a chat shows it."""


def compose(
    delivery: Delivery,
    url: str,
    ask: Ask | None = None,
    words: Note | None = None,
    waiting: int = 0,
    run: Run | None = None,
) -> NotificationMessage:
    """Return the message of a delivery, about an ask (perhaps with a reply) or a note.

    Args:
        run: The run that waits for the ask.
        waiting: The number of pending asks; a message about a new ask names the others.
    """
    agent = _format_name(words.author if words and not ask else ask.origin.agent if ask else "")
    priority = ask.priority if ask else Priority.NORMAL
    link = _build_link(url, ask)
    prompt = _format_line(ask.question.prompt) if ask else ""
    said = _format_line(words.text) if words else prompt
    shown = said if words or not ask else _format_line(list_heading(ask))
    data = _build_data(delivery, ask, agent, prompt, said, words) | {"link": link}
    if run:
        data |= {"run": run.id, "run_title": _format_line(run.title)}
    document = {
        "type": _EVENTS[delivery.kind],
        "timestamp": iso(delivery.written_at),
        "data": data,
    }
    about_run = _describe_run(run, delivery) if run else ""
    title = _build_title(delivery, _find_author(ask, words, agent), ask)
    if priority in (Priority.URGENT, Priority.HIGH):
        title += f" ({priority.word})"
    about = _describe_ask(ask) if ask else _format_project(words.project if words else "")
    others = waiting - 1 if delivery.kind == NoticeKind.OPENED else 0
    more = f"{others} more {'waits' if others == 1 else 'wait'}" if others > 0 else ""
    goes_on = _format_line(describe_background(ask)) if ask and ask.pending else ""
    body = "\n".join(line for line in (shown, goes_on, about_run, about, more) if line)
    about_ids = (delivery.ask_id,) if delivery.ask_id else ()
    return NotificationMessage(
        delivery.message_id,
        delivery.kind,
        title,
        body,
        link,
        priority,
        delivery.ask_id,
        document,
        about_ids,
    )


def compose_bundle(
    delivery: Delivery, url: str, asks: Sequence[Ask], runs: Mapping[str, Run] | None = None
) -> NotificationMessage:
    """Return one message about several asks, the most urgent first.

    Args:
        delivery: one delivery of the message
        asks: the asks that wait, at least one
        runs: by the id of an ask, the run that waits for it
    """
    ordered = sorted(asks, key=lambda ask: (ask.priority, ask.opened_at, ask.id))
    priority, ids = ordered[0].priority, tuple(ask.id for ask in ordered)
    title = f"{len(ids)} asks wait" if len(ids) > 1 else "1 ask waits"
    if priority in (Priority.URGENT, Priority.HIGH):
        title += f" ({priority.word})"
    of = runs or {}
    shown = [_describe_in_bundle(ask, of.get(ask.id), delivery) for ask in ordered[:_BUNDLE_LINES]]
    others = len(ids) - len(shown)
    body = "\n".join([*shown, f"and {others} more"] if others else shown)
    link = _build_link(url, None)
    document: dict[str, Any] = {
        "type": _EVENTS[NoticeKind.BUNDLE],
        "timestamp": iso(delivery.written_at),
        "data": {"ids": list(ids), "link": link},
    }
    return NotificationMessage(
        delivery.message_id, NoticeKind.BUNDLE, title, body, link, priority, "", document, ids
    )


def _describe_in_bundle(ask: Ask, run: Run | None, delivery: Delivery) -> str:
    """Return one line; two runs of one flow ask alike, so theirs has prompt and age."""
    asked = inert_line(redact(list_heading(ask)), _BUNDLE_COLUMNS)
    who = _describe_run(run, delivery) if run else _format_name(ask.origin.agent)
    return " · ".join(part for part in (asked, ask.id, who) if part)


def compose_test(delivery: Delivery, url: str) -> NotificationMessage:
    """Return the message that `gate notify test` sends."""
    body = "This route works: you will get a message here when something waits for you."
    document: dict[str, Any] = {
        "type": _EVENTS[NoticeKind.TEST],
        "timestamp": iso(delivery.written_at),
        "data": {},
    }
    link = _build_link(url, None)
    return NotificationMessage(
        delivery.id, NoticeKind.TEST, "Test from gate", body, link, Priority.NORMAL, "", document
    )


def _build_title(delivery: Delivery, agent: str, ask: Ask | None) -> str:
    # Each begins with our own word: no program may read an agent's text as an option.
    who = agent or "an unnamed asker"
    if delivery.kind == NoticeKind.ESCALATED:
        return f"Escalated to {_format_name(delivery.to)}: asked by {who}"
    if delivery.kind in (NoticeKind.SETTLED, NoticeKind.WITHDRAWN):
        return f"Settled: {delivery.ask_id} is {(ask and (ask.decision or ask.status)) or 'over'}"
    return f"{_BEGIN.get(delivery.kind, 'Note from')} {who}"


def _describe_run(run: Run, delivery: Delivery) -> str:
    """Return `Run 3, feature: Add login, started 5m before`, the same at every attempt."""
    before = age((delivery.written_at - run.created_at).total_seconds())
    return f"Run {run.id}, {_format_name(run.title)}, started {before} before"


def _describe_ask(ask: Ask) -> str:
    parts = (ask.id, ask.question.kind, _format_project(ask.origin.project))
    return " · ".join(part for part in parts if part)


def _build_data(
    delivery: Delivery, ask: Ask | None, agent: str, prompt: str, said: str, words: Note | None
) -> dict[str, Any]:
    if ask is None:
        project = _format_name(words.project) if words else ""
        return {"agent": agent, "project": project, "text": said}
    whole = ask_document(ask)
    data = {key: whole[key] for key in _SENT_KEYS} | {
        "prompt": prompt,
        "agent": agent,
        "project": inert_line(ask.origin.project, _PROMPT_COLUMNS),
        "priority": ask.priority.word,
        "settled_by": _format_name(ask.settled_by),
        "to": _format_name(delivery.to),
    }
    return data | ({"text": said, "author": _find_author(ask, words, agent)} if words else {})


def _find_author(ask: Ask | None, words: Note | None, agent: str) -> str:
    """Return the author of the words: the asker, or the agent of a session that proposes."""
    if ask is None or words is None or words.author in ("", f"agent:{ask.origin.session}"):
        return agent
    return _format_name(words.author.partition(":")[2])


def _build_link(url: str, ask: Ask | None) -> str:
    if not url:
        return ""
    return f"{url}/asks/{ask.id}" if ask else f"{url}/"


def _format_line(text: str) -> str:
    return inert_line(redact(text), _PROMPT_COLUMNS)


def _format_name(text: str) -> str:
    return inert_line(redact(text), _NAME_COLUMNS)


def _format_project(path: str) -> str:
    return _format_name(path.rstrip("/").rpartition("/")[2])
