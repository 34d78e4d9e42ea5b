"""The fields of an answer: as posted by a browser, kept in a draft, and given as an answer."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from gatebell.domain.asks.answers import Given
from gatebell.domain.asks.questions import means_other
from gatebell.domain.enums import AskKind
from gatebell.domain.permissions.rules import ALWAYS, Scope
from gatebell.domain.text.display import inert, plain
from gatebell.errors import UsageError
from gatebell.web.asks import forms

if TYPE_CHECKING:
    from starlette.datastructures import FormData

    from gatebell.domain.asks.asks import Ask
    from gatebell.domain.asks.attachments import Attachment
    from gatebell.domain.permissions.calls import Call

OTHER = "other"
LIKE = "like"
APPROVE = "yes"
# The one text of a tool's input that a person wants to change.
_CHANGED_TEXTS = {"Edit": "new_string", "Write": "content"}
BACK, WITHDRAW, STAY = "back", "withdraw", "stay"
"""The words of the buttons that send a message, withdraw the ask, and do nothing."""


class Typed(NamedTuple):
    """The content of the fields."""

    note: str = ""
    text: str = ""
    chosen: tuple[str, ...] = ()
    """Numbers of options, and `other`."""
    other: str = ""
    value: Any = None
    """Of a form."""
    edited: str = ""
    reach: str = ""
    times: str = ""
    pattern: str = ""
    also: tuple[str, ...] = ()
    """`id:digest` of asks that get the same answer."""
    attached: tuple[Attachment, ...] = ()
    """Files that came with an attempt that was refused."""
    like: bool = False
    """The yes is for all calls that fit the pattern."""
    pressed: str = ""
    """The word of the button."""
    everyone: bool = False
    """All asks that ask the same get the answer."""


def field(form: FormData, name: str) -> str:
    """Return one field with plain line ends."""
    found = form.get(name, "")
    return found.replace("\r\n", "\n") if isinstance(found, str) else ""


def number(given: str, usual: int, most: int) -> int:
    """Read a number of an address within bounds; the default if it is not a number."""
    return (
        min(most, int(given)) if given.isdecimal() and 0 < len(given) < 7 and int(given) else usual
    )


def several(form: FormData, name: str) -> tuple[str, ...]:
    return tuple(one for one in form.getlist(name) if isinstance(one, str))


def read_typed(ask: Ask, form: FormData) -> Typed:
    """Read the fields that a browser sent."""
    schema, call = ask.question.schema, ask.question.call
    edited, everyone = field(form, "edited"), bool(field(form, "all"))
    return Typed(
        note=field(form, "note"),
        text=field(form, "text"),
        chosen=several(form, "chosen"),
        other=field(form, "other"),
        value=forms.read(schema, form) if schema is not None else None,
        edited="" if call and edited == edit_begin(call) else edited,
        reach=field(form, "value").partition(":")[2],
        times=field(form, "times"),
        pattern=field(form, "pattern"),
        also=several(form, "alike" if everyone else "also"),
        like=field(form, "calls") == LIKE,
        pressed=field(form, "value"),
        everyone=everyone,
    )


def read_given(ask: Ask, form: FormData) -> Given:
    """Read the answer, bound to the shown ask."""
    what, word = read_typed(ask, form), field(form, "value").partition(":")[0]
    digest, key = field(form, "digest"), field(form, "key")
    if ask.question.answered_as == AskKind.APPROVAL:
        if word == "edited" and ask.question.call:
            edited = field(form, "edited")
            return Given(_instead(ask.question.call, edited), what.note, digest, key)
        proposed, standing = field(form, "proposed"), field(form, "standing")
        scope = _scope(what, proposed, standing) if word == APPROVE else None
        return Given(word, what.note, digest, key, scope)
    if ask.question.answered_as == AskKind.CHOICE:
        return Given(_choice(ask, what), what.note, digest, key)
    if ask.question.answered_as == AskKind.FORM:
        return Given(what.value, what.note, digest, key)
    return Given(what.text, what.note, digest, key)


def _scope(what: Typed, proposed: str, standing: str) -> Scope | None:
    pattern = what.pattern.strip()
    if what.reach == ALWAYS:
        if not standing:
            raise UsageError("this page is old: reload it before you allow something always")
        return Scope(ALWAYS, standing)
    if pattern != proposed and not what.like:
        raise UsageError("you wrote a pattern: choose it, or leave it as it was")
    if not what.reach:
        if what.like:
            raise UsageError("choose how long the pattern is valid: see the buttons below it")
        return None
    if what.like and not pattern:
        raise UsageError("the pattern is empty: write one, or choose exactly this call")
    word = what.times.strip() if what.reach == "times" else what.reach
    return Scope(word, pattern if what.like else "")


def edit_field(call: Call) -> str:
    """Return the field of the input that is changed as plain text; empty: the whole input, as JSON."""
    if call.command:
        return "command" if inert(call.command) == call.command else ""
    name = _CHANGED_TEXTS.get(call.tool, "")
    text = call.input.get(name)
    # Code may have tabs. Other characters that a field does not show are written out in JSON.
    shown = text.replace("\t", " ") if isinstance(text, str) else None
    return name if shown is not None and inert(shown) == shown else ""


def edit_begin(call: Call) -> str:
    """Return the text for the field of another input."""
    name = edit_field(call)
    return str(call.input[name]) if name else json.dumps(call.input, indent=2)


def _instead(call: Call, written: str) -> dict[str, Any]:
    if written == edit_begin(call):
        raise UsageError("the input is unchanged: use Approve, or change it first")
    if name := edit_field(call):
        return {"input": {**call.input, name: written}}
    try:
        whole = plain(json.loads(written))
    except (ValueError, RecursionError) as error:
        raise UsageError(f"the changed input is not JSON: {error}") from None
    if not isinstance(whole, dict) or not set(call.input) <= set(whole):
        names = ", ".join(call.input)
        raise UsageError(f"the changed input must be a JSON object with all of its fields: {names}")
    return {"input": whole}


def _choice(ask: Ask, what: Typed) -> Any:
    if what.other.strip() and what.chosen and OTHER not in what.chosen:
        raise UsageError("you wrote your own words: choose Other…, or remove them")
    chosen = [_option(ask, number, what.other) for number in what.chosen]
    if ask.question.multiple:
        return chosen
    return chosen[0] if len(chosen) == 1 else chosen


def _option(ask: Ask, number: str, other: str) -> Any:
    if number == OTHER:
        return {"other": other}
    options = dict(
        zip(map(str, range(len(ask.question.options))), ask.question.options, strict=True)
    )
    return options.get(number, number)


def draft(ask: Ask, what: Typed) -> str:
    """Return the draft of an unfinished answer, the same text that a terminal keeps."""
    kind = ask.question.answered_as
    if kind == AskKind.APPROVAL:
        return what.note
    if kind == AskKind.CHOICE:
        names = [_option(ask, number, "") for number in what.chosen if number != OTHER]
        return ", ".join([*names, *([what.other] if OTHER in what.chosen and what.other else [])])
    if kind == AskKind.FORM:
        return json.dumps(what.value, ensure_ascii=False)
    return what.text


def from_draft(ask: Ask, kept: str) -> Typed:
    """Read the fields of a draft from here or from a terminal."""
    kind = ask.question.answered_as
    if kind == AskKind.APPROVAL:
        return Typed(note=kept)
    if kind == AskKind.CHOICE:
        return _chosen(ask, kept) if kept.strip() else Typed()
    if kind == AskKind.FORM:
        try:
            return Typed(value=json.loads(kept)) if kept else Typed()
        except (ValueError, RecursionError):
            return Typed()
    return Typed(text=kept)


def _chosen(ask: Ask, kept: str) -> Typed:
    question = ask.question
    whole = not question.multiple or kept in question.options
    words = [kept.strip()] if whole else [word.strip() for word in kept.split(",")]
    numbers = [_number(question.options, word) for word in words]
    unknown = [word for word, number in zip(words, numbers, strict=True) if not number]
    own = ", ".join(unknown) if question.other else ""
    chosen = [number for number in numbers if number] + ([OTHER] if own else [])
    bare = means_other(own) or own == str(len(question.options) + 1)
    return Typed(chosen=tuple(chosen), other="" if bare else own)


def _number(options: tuple[str, ...], word: str) -> str:
    """Return the option that a word names by its text or number; empty if none."""
    if word in options:
        return str(options.index(word))
    numbered = not any(option.isdecimal() for option in options)
    places = {str(number): str(number - 1) for number in range(1, len(options) + 1)}
    return places.get(word, "") if numbered else ""
