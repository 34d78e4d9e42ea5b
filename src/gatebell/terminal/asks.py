"""An ask as lines of a terminal, and the message after an answer."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from gatebell.domain.asks.asks import settled_word
from gatebell.domain.asks.context_text import context_text
from gatebell.domain.asks.gone_askers import WAITER_GONE, describe_background
from gatebell.domain.asks.outcomes import answer_text
from gatebell.domain.asks.owners import describe_owner, run_of
from gatebell.domain.asks.requirements import ANY_PERSON
from gatebell.domain.enums import AnswerOutcome, AskKind, AskStatus, Decision, Priority
from gatebell.domain.people.principals import is_person
from gatebell.domain.sessions import visits
from gatebell.domain.sessions.visits import FAILED
from gatebell.domain.text.display import SHOWN_CHARACTERS, age, frame, inert_line, span
from gatebell.errors import GateError
from gatebell.terminal.local_times import format_local, localise
from gatebell.terminal.tool_calls import format_call

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from datetime import datetime

    from gatebell.domain.asks.asks import Ask
    from gatebell.ports.backends.backend import Backend

    Paint = Callable[[str, str], str]

_COLOURS: dict[str, str] = {
    Decision.APPROVED: "green",
    Decision.REJECTED: "red",
    AskStatus.ANSWERED: "green",
}
_KINDS = {"string": "text", "integer": "whole number", "boolean": "yes or no"}
_MAX_TITLES = 200
_BAR = "│ "
_FENCE = "```"
_DIFF_STARTS = ("diff --git ", "--- ", "@@ ")
_DIFF_COLOURS = {"+": "green", "-": "red", "@": "cyan"}


def ask_lines(
    backend: Backend,
    ask: Ask,
    width: int,
    paint: Paint,
    *,
    whole: bool = False,
    with_answers: bool = True,
) -> list[str]:
    """Return the lines of an ask with everything that a person needs to decide.

    Args:
        backend: where the ask is kept
        ask: the ask
        width: columns of the terminal
        paint: adds colours
        whole: whether long texts are not cut
        with_answers: whether the possible answers are listed
    """
    question, now = ask.question, backend.now()
    most = None if whole else SHOWN_CHARACTERS
    waited = age((now - ask.opened_at).total_seconds())
    head = (
        f"{ask.id}  {question.kind_word}, asked {waited} ago by {inert_line(ask.origin.agent, 40)}"
    )
    if ask.priority != Priority.NORMAL:
        head += f", {ask.priority.word}"
    if ask.confidence is not None:
        head += f", the asker is {ask.confidence:.0%} sure"
    # One line, so that a small screen shows the question, too.
    lines = [paint(inert_line(head, width), "bold"), *_format_places(backend, ask, width, paint)]
    gone = frame(WAITER_GONE, width, bar="") if backend.is_waiter_gone(ask) else []
    lines += [paint(part, "yellow") for part in gone]
    lines += ["", *frame(question.prompt, width)]
    if goes_on := describe_background(ask):
        lines += [paint(part, "cyan") for part in frame(goes_on, width, bar="")]
    lines += answer_lines(ask, width) if with_answers else []
    lines += format_call(ask, width, paint, on_this_machine=backend.store is not None)
    lines += _format_session(backend, ask, width, paint, most)
    if question.context is not None:
        text = context_text(question.context)
        lines += ["", paint("Context", "bold"), *frame(text, width, most=most)]
    lines += _format_attachments(ask, width, paint)
    lines += _format_activity(ask, width, paint, most)
    lines += _format_messages(backend, ask, width, paint)
    lines += _format_terms(backend, ask, now, width, paint)
    if not whole and any("more characters on" in line for line in lines):
        lines.append(f"In full: gate show {ask.id} --all")
    return _colour_diffs(lines, paint)


def _colour_diffs(lines: Iterable[str], paint: Paint) -> list[str]:
    """Colour the lines of diffs inside a frame, and dim the marks around code blocks."""
    found: list[str] = []
    is_diff = False
    for line in lines:
        text = line.removeprefix(_BAR)
        if text == line:
            is_diff = False
        elif text.startswith(_FENCE):
            # The mark of a code block in Markdown; no line of a diff begins so.
            is_diff = False
            found.append(_BAR + paint(text, "dim"))
            continue
        elif text.startswith(_DIFF_STARTS):
            is_diff = True
        found.append(_BAR + _colour_line(text, paint) if is_diff and text != line else line)
    return found


def _colour_line(text: str, paint: Paint) -> str:
    colour = choose_diff_colour(text)
    return paint(text, colour) if colour else text


def choose_diff_colour(line: str) -> str:
    """Return the colour of a line of a diff; empty: none."""
    if line.startswith(("diff ", "--- ", "+++ ")):
        return "bold"
    return _DIFF_COLOURS.get(line[:1], "")


def activity_lines(ask: Ask, width: int, paint: Paint) -> list[str]:
    """Return the lines of an agent's activity, with the command that shows it in full."""
    lines = _format_activity(ask, width, paint, SHOWN_CHARACTERS)
    if len(ask.activity) > SHOWN_CHARACTERS:
        run = run_of(ask.origin.owner)
        diff = f"   Changes: gate diff {run}" if run else ""
        lines.append(f"In full: gate show {ask.id} --all{diff}")
    return lines


def _format_activity(ask: Ask, width: int, paint: Paint, most: int | None) -> list[str]:
    if not ask.activity:
        return []
    return ["", paint("Activity", "bold"), *frame(ask.activity, width, most=most)]


def _format_attachments(ask: Ask, width: int, paint: Paint) -> list[str]:
    """Return a line for each file of the question and of the answer, and how to get them."""
    parts = (("Attached", ask.question.attachments), ("With the answer", ask.answer_attachments))
    lines: list[str] = []
    for title, files in parts:
        if files:
            lines += ["", paint(title, "bold")]
        for one in files:
            about = f"{one.media_type}, {_describe_size(one.size)}"
            lines.append(f"  {inert_line(one.name, max(20, width - len(about) - 5))} ({about})")
    if lines:
        lines.append(f"Save them: gate show {ask.id} --save-attachments DIR")
    return lines


def _describe_size(size: int) -> str:
    # Imported here: most asks have no files, and commands that list asks load this module.
    from gatebell.domain.asks.attachments import describe_size

    return describe_size(size)


def _format_places(backend: Backend, ask: Ask, width: int, paint: Paint) -> list[str]:
    origin = ask.origin
    owner = _name_owner(backend, origin.owner)
    parts = [("in", origin.cwd), ("session", origin.session), ("for", owner)]
    places = [f"{word} {inert_line(what, 200)}" for word, what in parts if what]
    if places and len(together := "  ".join(places)) <= width:
        places = [together]
    return [paint(inert_line(one, width), "dim") for one in places]


def _name_owner(backend: Backend, owner: str) -> str:
    """Return the run or task that waits; a run with its title, because two of a flow ask alike."""
    number = run_of(owner)
    if number is None:
        return describe_owner(owner)
    title = _find_title(backend, number)
    return f"{describe_owner(owner)}, {title}" if title else describe_owner(owner)


def _find_title(backend: Backend, number: int) -> str:
    """Return the title of a run without its calls, which may be many."""
    if store := backend.store:
        # Imported here: most asks are not of runs.
        from gatebell.services.runs.see_runs import see_run

        run = store.runs.get(number)
        return see_run(store, run).name if run else ""
    try:
        seen = backend.runs(_MAX_TITLES, active=True)
    except GateError:
        # A token that may only ask sees no runs.
        return ""
    return next((one.name for one in seen if one.run.id == number), "")


def _format_session(
    backend: Backend, ask: Ask, width: int, paint: Paint, most: int | None
) -> list[str]:
    """Return the lines about a session: its terms and its visits."""
    terms = ask.question.session
    if terms is None:
        return []
    facts = visits.facts(terms, ask.origin.cwd)
    lines = ["", paint("The session", "bold")]
    lines += [f"  {name}: {inert_line(text, max(20, width - 18))}" for name, text in facts]
    if terms.system_prompt:
        lines += ["  System prompt:", *frame(terms.system_prompt, width, "  │ ", most)]
    if (store := backend.store) is None:
        return lines
    # Imported here: most asks are not sessions, and commands that list asks load this module.
    from gatebell.services.sessions.presence import orphans
    from gatebell.services.sessions.visits import list_visits

    stays = list_visits(store, ask.id)
    lines += ["  Visits:"] if stays else []
    for one in stays:
        words = f"{one.number}. {visits.stay(one, backend.now(), orphans(store, one))}"
        lines += frame(localise(words), width, bar="  ")
    return lines


def answer_lines(ask: Ask, width: int) -> list[str]:
    """Return lines about the possible answers: the options, or the fields of a form."""
    return _format_options(ask, width) + _format_fields(ask, width)


def _format_options(ask: Ask, width: int) -> list[str]:
    question = ask.question
    if not question.option_labels:
        return []
    several = "one or more of" if question.multiple else "one of"
    lines = ["", f"Choose {several}:"]
    for number, name in enumerate(question.option_labels, 1):
        lines += frame(f"{number}. {name}", width, bar="  │ ")
    return lines


def _format_fields(ask: Ask, width: int) -> list[str]:
    """Return the fields of a flat form, or the schema of another form."""
    schema = ask.question.schema
    if schema is None:
        return []
    fields = schema.get("properties")
    if not isinstance(fields, dict):
        return ["", "The answer is JSON that fits:", *frame(json.dumps(schema), width)]
    lines = ["", "The answer is a form, or JSON, with:"]
    for name, field in fields.items():
        about = field if isinstance(field, dict) else {}
        line = describe_field(name, about, required=name in schema.get("required", ()))
        lines.append(f"  {inert_line(line, width - 2)}")
    return lines


def describe_field(name: str, field: Mapping[str, Any], *, required: bool) -> str:
    """Return the name of a field, the kind of its value, and what it is about."""
    about = str(field.get("description") or field.get("title") or "")
    need = "" if required else ", optional"
    words = "" if about.casefold() == name.casefold() else about
    return f"{name} ({_describe_kind(field)}{need}) {words}".rstrip()


def _describe_kind(field: Mapping[str, Any]) -> str:
    if "enum" in field:
        return " or ".join(map(str, field["enum"]))
    schema_type = str(field.get("type") or "anything")
    return _KINDS.get(schema_type, schema_type)


def _format_messages(backend: Backend, ask: Ask, width: int, paint: Paint) -> list[str]:
    lines: list[str] = []
    for message in backend.messages(ask.id):
        did = "the asker replied" if message.by_asker else "asked back"
        author = paint(f"{inert_line(message.author, 60)}: {did}", "bold")
        lines += ["", author, *frame(message.text, width)]
    return lines


def _format_terms(backend: Backend, ask: Ask, now: datetime, width: int, paint: Paint) -> list[str]:
    question, clock, lines = ask.question, ask.deadlines, [""]
    if question.requirement != ANY_PERSON:
        lines += frame(f"Decided by {question.requirement}", width, bar="")
        votes = {v.principal: v for v in backend.answers(ask.id) if v.decision}
        lines += [
            f"  {who}: {v.decision} {inert_line(v.note)}".rstrip() for who, v in votes.items()
        ]
    if ask.pending and clock.expires_at:
        left = span((clock.expires_at - now).total_seconds())
        firm = "; the asker's host enforces it" if clock.hard else ""
        lines.append(f"Times out in {left}{firm}")
        if question.default is not None:
            then = f"then the answer is: {answer_text(ask, question.default)}"
            lines += frame(then, width, bar="  │ ")
    if question.secret:
        lines.append("The answer is secret: only the asker gets it, once")
    if question.gates:
        # Imported here: most asks are not gates, and commands that list asks load this module.
        from textwrap import wrap

        lines += [
            paint(line, "dim") for line in wrap(f"Trust: {backend.describe_trust(ask)}", width)
        ]
    return (
        lines + _format_settlement(backend, ask, width, paint)
        if len(lines) > 1 or not ask.pending
        else []
    )


def _format_settlement(backend: Backend, ask: Ask, width: int, paint: Paint) -> list[str]:
    if ask.pending:
        return []
    by = f" by {inert_line(ask.settled_by, max(20, width - 40))}" if ask.settled_by else ""
    settling = [one for one in backend.answers(ask.id) if one.outcome == AnswerOutcome.SETTLED]
    if settling and is_person(ask.settled_by) and not settling[0].verified:
        by += " (claimed)"
    at = format_local(ask.settled_at) if ask.settled_at else ""
    word = settled_word(ask)
    colour = _COLOURS.get(word, "yellow")
    via = f" via {ask.settled_via}" if by else ""
    if word == FAILED:
        by, via = f", given up{by}" if by else "", ""
    lines = [paint(f"{word.capitalize()}{by}{via} at {at}", colour)]
    if ask.value is not None:
        if ask.question.call:
            lines.append(paint("Edited: this runs instead", "yellow"))
        lines += frame(answer_text(ask, ask.value), width)
    if ask.note:
        lines += ["Note", *frame(ask.note, width)]
    return lines


def describe_outcome(ask: Ask) -> str:
    """Return how an ask was settled, for a list: the decision, the answer, or why it has none."""
    word = settled_word(ask)
    decided = "" if word == AskStatus.ANSWERED else word
    given = "" if ask.value is None else answer_text(ask, ask.value)
    return f"{decided} {given}".strip() or word


def describe_offer(found: dict[str, Any]) -> str:
    """Return what a suggestion would allow for good, and the past asks that speak for it."""
    # Imported here: only approvals of tool calls need it.
    from gatebell.domain.permissions.past_calls import Tally, describe_tally

    tally = Tally(**found["decided"])
    return (
        f"Always allow {found['pattern']} in this project: it would have answered {tally.total} "
        f"past asks ({describe_tally(tally)})"
    )


def describe_recorded(ask: Ask, width: int) -> str:
    """Return the message for a person whose answer was recorded."""
    if ask.pending:
        return f"Recorded. {ask.id} is not settled yet: it needs {ask.question.requirement}"
    chosen = ""
    if ask.question.answered_as == AskKind.CHOICE:
        words = answer_text(ask, ask.value).replace("\n", ", ")
        chosen = f": {inert_line(words, max(20, width - 40))}"
    edited = " as edited" if ask.question.call and ask.value else ""
    return f"Recorded: {ask.id} is {ask.decision or 'answered'}{edited}{chosen}"
