"""Messages about asks in chats: all that is shown, and the buttons. Each text is plain, not markup.

`head` and `foot` have our own words. Everything from elsewhere is in `shown`, which a chat shows
unchanged, as code: no part of it becomes a link, a mention or a format.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gatebell.domain.asks.asks import last_settler, settled_word
from gatebell.domain.asks.context_text import context_text
from gatebell.domain.asks.headings import option_meanings, short_heading
from gatebell.domain.enums import AskKind, AskStatus, Decision, NoticeKind, Priority
from gatebell.domain.permissions.call_changes import list_changes, list_others
from gatebell.domain.permissions.calls import shown as show_input
from gatebell.domain.text.display import inert, inert_line, mark_blanks
from gatebell.domain.text.redaction import redact

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gatebell.domain.asks.asks import Ask
    from gatebell.domain.notifications.messages import NotificationMessage
    from gatebell.domain.notifications.notes import Note
    from gatebell.domain.permissions.calls import Call

QUESTIONS = (NoticeKind.OPENED, NoticeKind.REMINDER, NoticeKind.ESCALATED)
"""The messages that show the question, and later how it was settled."""
MAX_SHOWN = 2_500
"""Of characters in UTF-16; Telegram takes 4,096 and Slack 3,000 in one part of a message."""
MAX_LINES = 80
_MAX_OPTIONS = 8
_LABEL_COLUMNS = 60
_NAME_COLUMNS = 60
_DIGEST_CHARACTERS = 32
"""Of the digest in a button, which may have 64 bytes on Telegram: enough to tell questions apart."""
_DECISIONS = {"y": ("Approve", Decision.APPROVED), "n": ("Reject", Decision.REJECTED)}


class Button(NamedTuple):
    """A button of a message."""

    label: str
    data: str
    """The ask, the digest of the shown question, and what the button means."""
    is_yes: bool = False
    is_no: bool = False


class Card(NamedTuple):
    """A message in a chat."""

    head: str
    shown: str = ""
    foot: str = ""
    link: str = ""
    buttons: tuple[Button, ...] = ()
    wants_text: bool = False
    """Whether a reply is the answer."""
    thread: str = ""
    """The message that it replies to."""


class Pressed(NamedTuple):
    """The meaning of a button."""

    ask_id: str
    digest: str
    """The beginning of the digest of the question that was shown."""
    choice: str


def read_button(data: str) -> Pressed | None:
    """Read the data of a button; None if it is not one of ours."""
    parts = data.split("|")
    if len(parts) != 3 or len(parts[1]) != _DIGEST_CHARACTERS:
        return None
    return Pressed(*parts)


def find_value(ask: Ask, choice: str) -> str | None:
    """Return the answer that a button of this ask gives; None if it has no such button."""
    buttons = _list_buttons(ask, is_whole=_is_whole(ask))
    if choice not in [one.data.rpartition("|")[2] for one in buttons]:
        return None
    return _DECISIONS[choice][1] if choice in _DECISIONS else ask.question.options[int(choice)]


def shows(pressed: Pressed, ask: Ask) -> bool:
    """Return whether the message of a button showed this question."""
    return ask.digest[:_DIGEST_CHARACTERS] == pressed.digest


def why_elsewhere(ask: Ask, chat: str, *, takes_calls: bool) -> str:
    """Return why an ask cannot be answered in a chat, as a sentence; empty if it can."""
    question = ask.question
    if question.secret or ask.token_digest:
        return "The answer is secret, so it is not written in a chat."
    if question.session:
        return "It is answered in the agent's session."
    if question.answered_as == AskKind.FORM or question.multiple:
        return "It is answered in the inbox."
    if question.call and not takes_calls:
        return "Tool calls are decided in the inbox (setting chat_calls)."
    if ways := question.requirement.refuses_via(chat):
        return f"It is not answered by {chat}: {ways}."
    return ""


def build_question(ask: Ask, kind: NoticeKind, chat: str, link: str, *, takes_calls: bool) -> Card:
    """Return the message that shows a question, with the buttons that answer it."""
    shown, is_whole = _cut(redact(_show_question(ask))), _is_whole(ask)
    elsewhere = why_elsewhere(ask, chat, takes_calls=takes_calls)
    buttons = () if elsewhere else tuple(_list_buttons(ask, is_whole=is_whole))
    words = [elsewhere] if elsewhere else _describe_ways(ask, is_whole=is_whole)
    urgency = f" · {ask.priority.word}" if ask.priority <= Priority.HIGH else ""
    again = {NoticeKind.REMINDER: " · still waiting", NoticeKind.ESCALATED: " · escalated to you"}
    head = f"{ask.id} · {ask.question.kind}{urgency}{again.get(kind, '')}"
    wants_text = not elsewhere and ask.question.answered_as == AskKind.TEXT
    return Card(head, shown, " ".join(words), link, buttons, wants_text)


def build_settled(ask: Ask, link: str) -> Card:
    """Return what takes the place of a question that is settled: who won, without buttons."""
    who = last_settler(ask).partition(":")[2] or last_settler(ask)
    if ask.status == AskStatus.ANSWERED:
        how = f"{settled_word(ask)} by {who}, {ask.settled_via}"
    elif ask.status == AskStatus.CANCELLED:
        how = f"{settled_word(ask)} by {who}"
    else:
        how = "timed out"
    said = inert_line(redact(f"{how}: {ask.note}" if ask.note else how), 300)
    shown = f"{said}\n\n{_cut(redact(inert(short_heading(ask))), 600)}"
    return Card(f"{ask.id} · settled", shown, "", link)


def find_card(message: NotificationMessage) -> Card:
    """Return the message as a chat shows it; other messages as plain text."""
    return message.card or build_plain(f"{message.title}\n{message.body}", message.link)


def build_plain(text: str, link: str = "") -> Card:
    """Return a message with one text, which may have words of others in it."""
    return Card("gate", _cut(inert(text)), "", link)


def build_words(words: Note, ask: Ask | None, link: str) -> Card:
    """Return an agent's reply to a person, or its note."""
    said = _cut(redact(inert(words.text)))
    who = _name(words.author.partition(":")[2] or words.author)
    head = f"{ask.id} · reply of the agent" if ask else "note of an agent"
    foot = "Reply to this message to write to the agent." if ask else ""
    return Card(head, f"{who}\n\n{said}" if who and not ask else said, foot, link)


def _is_whole(ask: Ask) -> bool:
    """Return whether a message shows all of it: no file, nothing cut, and no secret hidden."""
    whole = _show_question(ask)
    return not ask.question.attachments and _cut(redact(whole)) == whole


def _show_question(ask: Ask) -> str:
    """Return the question, its call and its context; what is cut or hidden is done later."""
    question = ask.question
    parts = [mark_blanks(short_heading(ask)) if question.call else question.prompt]
    if question.call:
        parts.append(_show_call(ask, question.call))
    meanings = option_meanings(question)
    parts += [f"{option}: {meaning}" for option, meaning in meanings.items()]
    if question.context is not None and not meanings:
        parts.append(context_text(question.context))
    if _cut_options(ask):
        parts.append("\n".join(f"- {option}" for option in question.options))
    parts += [f"file: {one.name}" for one in question.attachments]
    if question.call and question.call.remark:
        parts.append(f"the agent's description: {question.call.remark}")
    if ask.assume is not None:
        parts.append(f"the agent goes on with: {ask.assume}" if ask.assume else "the agent goes on")
    project = ask.origin.project.rstrip("/").rpartition("/")[2]
    asked = " in ".join(one for one in (_name(ask.origin.agent), _name(project)) if one)
    if asked:
        parts.append(f"asked by {asked}")
    return inert("\n\n".join(part for part in parts if part))


def _show_call(ask: Ask, call: Call) -> str:
    if file := list_changes(call, [ask.origin.project, call.cwd]):
        lines = [mark_blanks(file.name), *file.words]
        for part in file.parts:
            lines += [part.head] if part.head else []
            lines += [f"{row.sign} {mark_blanks(row.text)}" for row in part.rows]
        others = list_others(call)
        lines += [show_input(others)] if others else []
    elif call.command:
        left = {name: value for name, value in call.input.items() if name != "command"}
        lines = [mark_blanks(call.command), *(["", show_input(left)] if left else [])]
        lines += ["", f"in {mark_blanks(call.cwd)}"] if call.cwd else []
    else:
        lines = [show_input(call.input)]
    if call.real_path and call.real_path != call.path:
        lines.append(f"After all links, this file: {mark_blanks(call.real_path)}")
    return "\n".join(lines)


def count_units(text: str) -> int:
    """Return the length of a text as chats count it: in UTF-16."""
    return len(text) + sum(character > "\uffff" for character in text)


def _cut(text: str, most: int = MAX_SHOWN) -> str:
    # In a high message, the lines beside its buttons hide the others.
    low = "\n".join(text.split("\n", MAX_LINES)[:MAX_LINES])
    if count_units(low) <= most and low == text:
        return text
    shown = low[: most - count_units(low[:most]) + len(low[:most])]
    return f"{shown}\n… {len(text) - len(shown)} more characters are not shown"


def _name(text: str) -> str:
    return inert_line(redact(text), _NAME_COLUMNS)


def _list_buttons(ask: Ask, *, is_whole: bool) -> Iterator[Button]:
    def make(label: str, choice: str) -> Button:
        data = f"{ask.id}|{ask.digest[:_DIGEST_CHARACTERS]}|{choice}"
        return Button(inert_line(label, _LABEL_COLUMNS), data, choice == "y", choice == "n")

    question = ask.question
    if question.answered_as == AskKind.APPROVAL:
        # A yes allows all of it, so all of it must be shown.
        yield from (make(_DECISIONS[one][0], one) for one in (("y", "n") if is_whole else ("n",)))
    elif question.answered_as == AskKind.CHOICE and len(question.options) <= _MAX_OPTIONS:
        labels = [redact(option) for option in question.options]
        if not is_whole and _cut_options(ask):
            return
        yield from (make(label, str(number)) for number, label in enumerate(labels))


def _cut_options(ask: Ask) -> list[str]:
    """Return the options that their buttons do not show whole."""
    return [one for one in ask.question.options if inert_line(one, _LABEL_COLUMNS) != one]


def _describe_ways(ask: Ask, *, is_whole: bool) -> list[str]:
    kind, words = ask.question.answered_as, []
    if kind == AskKind.TEXT:
        words.append("Reply to this message to answer it; begin with ? to ask back.")
    elif kind == AskKind.CHOICE and ask.question.other:
        words.append("Reply with other words of your own; begin with ? to ask back.")
    else:
        words.append("Reply to this message to ask back.")
    if kind == AskKind.APPROVAL and not is_whole:
        words.append("It is not shown whole, so it is approved in the inbox only.")
    if kind == AskKind.CHOICE and len(ask.question.options) > _MAX_OPTIONS:
        words.append("It has many options: choose in the inbox.")
    elif kind == AskKind.CHOICE and not is_whole and _cut_options(ask):
        words.append("Its options are not shown whole, so choose in the inbox.")
    return words
