"""What people see in the terminal: colours, frames, and an ask with all that is known of it."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, Any

from humangate.domain.calls import shown
from humangate.domain.display import SHOWN_CHARACTERS, age, cell, frame, inert, inert_line
from humangate.domain.outcomes import answer_text
from humangate.domain.principals import TRUST
from humangate.domain.runs import owner_in_words

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime
    from typing import TextIO

    from humangate.domain.asks import Ask
    from humangate.doors.store import Store

_COLOURS = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}
PRIORITY_WORDS = ("urgent", "high", "normal", "low", "backlog")


def coloured(text: str, colour: str) -> str:
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb" or not sys.stdout.isatty():
        return text
    return f"\x1b[{_COLOURS[colour]}m{text}\x1b[0m"


def columns() -> int:
    try:
        return max(40, os.get_terminal_size(1).columns)
    except OSError:
        return 100


def print_json(document: Any, out: TextIO | None = None) -> None:
    out = out or sys.stdout
    # On a terminal every unusual character is escaped, for it may be a command to it.
    text = json.dumps(document, ensure_ascii=out.isatty())
    try:
        print(text, file=out)
    except UnicodeEncodeError:
        # Half of a surrogate pair, or a letter that whoever reads has no code for.
        print(json.dumps(document), file=out)


def say(text: str) -> None:
    """Text for the asker: exact for machines, inert on a terminal."""
    print(inert(text) if sys.stdout.isatty() else text)


def short(text: str) -> str:
    """Untrusted text as the rest of a line of ours that cannot reach the edge of the screen."""
    return inert_line(text, max(20, columns() - 40))


def inbox_lines(asks: Iterable[Ask], now: datetime) -> list[str]:
    """One line an ask: who asks, what, for how long, and what it blocks."""
    return [_inbox_line(ask, now, columns()) for ask in asks]


def _inbox_line(ask: Ask, now: datetime, width: int) -> str:
    waited = age((now - ask.opened_at).total_seconds())
    urgent = "red" if ask.priority == 0 else "yellow" if ask.priority == 1 else "cyan"
    mark = f"[{PRIORITY_WORDS[ask.priority]}] " if ask.priority != 2 else ""
    head = f"{coloured(f'{ask.id:8}', urgent)} {waited:>4}  "
    prompt = f"{mark}{ask.question.prompt}"
    if width < 80:
        return f"{head}{inert_line(prompt, width - 15)}"
    owner = owner_in_words(ask.origin.owner)
    blocks = inert_line(owner or os.path.basename(ask.origin.project), 18)
    room = width - 60
    who = f"{cell(ask.origin.agent, 14)} {ask.question.kind:8}  "
    return f"{head}{who}{cell(prompt, room)}  {coloured(blocks, 'dim')}".rstrip()


def ask_lines(store: Store, ask: Ask, whole: bool = False) -> list[str]:
    """The ask as a person needs to see it before deciding."""
    width, question, now = columns(), ask.question, store.now()
    most = None if whole else SHOWN_CHARACTERS
    waited = age((now - ask.opened_at).total_seconds())
    head = f"{ask.id}  {question.kind}, asked {waited} ago by {inert_line(ask.origin.agent, 40)}"
    if ask.priority != 2:
        head += f", {PRIORITY_WORDS[ask.priority]}"
    if ask.confidence is not None:
        head += f", the asker is {ask.confidence:.0%} sure"
    lines = [coloured(head, "bold"), *_where(ask, width), "", *frame(question.prompt, width)]
    lines += _options(ask) + _fields(ask) + _call(ask, width)
    if question.context is not None:
        context = question.context
        text = (
            context
            if isinstance(context, str)
            else json.dumps(context, indent=2, ensure_ascii=False)
        )
        lines += ["", coloured("Context", "bold"), *frame(text, width, most=most)]
    if ask.going_on:
        going_on = frame(ask.going_on, width, most=most)
        lines += ["", coloured("What was going on", "bold"), *going_on]
    lines += _talk(store, ask, width)
    lines += _terms(store, ask, now)
    if not whole and any("more characters on" in line for line in lines):
        lines.append(f"All of it: gate show {ask.id} --all")
    return lines


def _where(ask: Ask, width: int) -> list[str]:
    origin = ask.origin
    owner = owner_in_words(origin.owner)
    parts = [("in", origin.cwd), ("session", origin.session), ("for", owner)]
    text = "  ".join(f"{word} {inert_line(what, 200)}" for word, what in parts if what)
    return [coloured(inert_line(text, width), "dim")] if text else []


def _call(ask: Ask, width: int) -> list[str]:
    """The whole of what a host would do; never cut, for it is what a yes allows."""
    call = ask.question.call
    if call is None:
        return []
    head = coloured(f"The call: {inert_line(call.tool, 60)}", "bold")
    remark = ["It says", *frame(call.remark, width)] if call.remark else []
    return ["", head, *frame(shown(call.input), width), *remark]


def _options(ask: Ask) -> list[str]:
    question = ask.question
    names = [*question.options, "Other…"] if question.other else list(question.options)
    if not names:
        return []
    several = "one or more of" if question.multiple else "one of"
    lines = ["", f"Choose {several}:"]
    for number, name in enumerate(names, 1):
        lines += frame(f"{number}. {name}", columns(), bar="  │ ")
    return lines


def _fields(ask: Ask) -> list[str]:
    """What a form wants to know, or its whole schema where that is not a flat list."""
    schema = ask.question.schema
    if schema is None:
        return []
    fields = schema.get("properties")
    if not isinstance(fields, dict):
        return ["", "The answer is JSON that fits:", *frame(json.dumps(schema), columns())]
    lines = ["", "The answer is JSON with:"]
    for name, field in fields.items():
        about = field if isinstance(field, dict) else {}
        kind = about.get("enum") or about.get("type") or "anything"
        need = "" if name in schema.get("required", ()) else ", optional"
        told = f"{name}: {kind}{need}. {about.get('description') or about.get('title') or ''}"
        lines.append(f"  {inert_line(told, columns() - 2)}")
    return lines


def _talk(store: Store, ask: Ask, width: int) -> list[str]:
    lines: list[str] = []
    for message in store.asks.messages(ask.id):
        did = "the asker replied" if message.by_asker else "asked back"
        author = coloured(f"{inert_line(message.author, 60)}: {did}", "bold")
        lines += ["", author, *frame(message.text, width)]
    return lines


def _terms(store: Store, ask: Ask, now: datetime) -> list[str]:
    question, clock, lines = ask.question, ask.deadlines, [""]
    if question.requirement.personal:
        lines += frame(f"Decided by {question.requirement}", columns(), bar="")
        votes = {v.principal: v for v in store.asks.answers(ask.id) if v.decision}
        lines += [
            f"  {who}: {v.decision} {inert_line(v.note)}".rstrip() for who, v in votes.items()
        ]
    if ask.pending and clock.expires_at:
        left = age((clock.expires_at - now).total_seconds())
        firm = "; the asker's host enforces it" if clock.hard else ""
        lines.append(f"Times out in {left}{firm}")
        if question.default is not None:
            then = f"then the answer is: {answer_text(ask, question.default)}"
            lines += frame(then, columns(), bar="  │ ")
    if question.secret:
        lines.append("The answer is secret: given once, to the asker only")
    if question.gates:
        lines.append(coloured(f"Trust: {TRUST}", "dim"))
    return lines + _settlement(store, ask) if len(lines) > 1 or not ask.pending else []


def _settlement(store: Store, ask: Ask) -> list[str]:
    if ask.pending:
        return []
    by = f" by {short(ask.settled_by)}" if ask.settled_by else ""
    settling = [one for one in store.asks.answers(ask.id) if one.outcome == "settled"]
    if settling and ask.settled_by.startswith("person:") and not settling[0].verified:
        by += " (claimed)"
    at = f"{ask.settled_at:%Y-%m-%d %H:%M:%S} UTC" if ask.settled_at else ""
    word = ask.decision or ask.status.replace("_", " ")
    colour = {"approved": "green", "rejected": "red", "answered": "green"}.get(word, "yellow")
    via = f" via {ask.settled_via}" if by else ""
    lines = [coloured(f"{word.capitalize()}{by}{via} at {at}", colour)]
    if ask.value is not None:
        if ask.question.call:
            lines.append(coloured("Edited: this runs instead", "yellow"))
        lines += frame(answer_text(ask, ask.value), columns())
    if ask.note:
        lines += ["Note", *frame(ask.note, columns())]
    return lines
