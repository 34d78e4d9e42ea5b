"""Questions as flat forms that an agent's own program can show, and the answers in them.

No field has a choice at the start. Some programs select the first option, and Enter sends it. So
the first option of every list means that nothing was chosen.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from gatebell.domain.asks.answers import Given
from gatebell.domain.asks.forms import has_hidden
from gatebell.domain.asks.questions import OTHER
from gatebell.domain.enums import AskKind
from gatebell.domain.text.display import inert_line

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gatebell.domain.asks.asks import Ask

NOT_YET = "not yet"
_QUESTION_COLUMNS = 300
_WORDS_COLUMNS = 200
_LABEL_COLUMNS = 80
_MAX_FIELDS = 12
# A quoted text must not contain the quotation marks that end it.
_NO_QUOTES = str.maketrans("“”", "''")
# The limits that hosts show. Others are checked when the answer is given.
_LIMITS = ("minimum", "maximum", "minLength", "maxLength")
_OF_FORM = {"$schema", "type", "title", "description", "properties", "required"}


class Quotation(NamedTuple):
    """An agent's proposal. The form quotes it, but no field is filled in with it."""

    speaker: str
    words: str
    reason: str = ""


class Elicitation(NamedTuple):
    """A form for a host to show."""

    message: str
    schema: dict[str, Any]
    meanings: dict[str, dict[str, Any]]
    """The value of each label, for fields with a list."""
    names: dict[str, str]
    """The names of the fields in the answer."""


def elicitation(ask: Ask, proposal: Quotation, *, skips: bool = True) -> Elicitation | None:
    """Return the form for an ask; None if a flat form cannot hold its answer.

    Args:
        skips: The host lets people leave an optional text empty.
    """
    message, question = _build_message(ask, proposal), ask.question
    if question.answered_as == AskKind.APPROVAL:
        decide = {"approve": "approve", "reject": "reject"}
        fields = {"decision": _build_list_field("Your decision", decide)}
        if skips:
            fields["reason"] = _build_text_field("Reason")
        return Elicitation(message, _build_object(fields, ["decision"]), {"decision": decide}, {})
    if question.answered_as == AskKind.CHOICE:
        return None if question.other and not skips else _build_choice(ask, message)
    if question.answered_as == AskKind.TEXT:
        answer = _build_text_field("Your answer") | {"minLength": 1}
        return Elicitation(message, _build_object({"text": answer}, ["text"]), {}, {})
    return _build_form(question.schema or {}, message, skips=skips)


def _build_message(ask: Ask, proposal: Quotation) -> str:
    """Return three lines, because hosts cut longer texts."""
    said = f"{inert_line(proposal.speaker, 40)} proposes: {_quote(proposal.words)}"
    if proposal.reason:
        said += f", because: {_quote(proposal.reason)}"
    return (
        f"{ask.id}: {inert_line(ask.question.prompt, _QUESTION_COLUMNS)}\n{said}\n"
        "You decide. If you leave this form, nothing is decided."
    )


def _quote(words: str) -> str:
    line = inert_line(words, _WORDS_COLUMNS).translate(_NO_QUOTES)
    return f"“{line}”"


def _build_choice(ask: Ask, message: str) -> Elicitation | None:
    question = ask.question
    options: dict[str, Any] = {_format_label(option): option for option in question.options}
    if question.multiple or len(options) < len(question.options) or {NOT_YET, OTHER} & {*options}:
        return None
    fields = {"choice": _build_list_field("Your choice", options)}
    if question.other:
        options[OTHER] = {"other": ""}
        fields = {
            "choice": _build_list_field("Your choice", options),
            "other": _build_text_field(OTHER),
        }
    return Elicitation(message, _build_object(fields, ["choice"]), {"choice": options}, {})


def _build_form(schema: Mapping[str, Any], message: str, *, skips: bool) -> Elicitation | None:
    properties, required = schema.get("properties"), schema.get("required", [])
    if not isinstance(properties, dict) or not 0 < len(properties) <= _MAX_FIELDS:
        return None
    closed = schema.get("additionalProperties", True) in (True, False)
    known = set(schema) <= {*_OF_FORM, "additionalProperties"}
    if schema.get("type") != "object" or not (closed and known) or has_hidden(schema):
        return None
    fields, meanings, names = {}, {}, {}
    for number, (name, about) in enumerate(properties.items(), 1):
        key = f"field{number}"
        labels = _list_labels(about)
        if labels is None or not (labels or skips or name in required):
            return None
        title = _format_label(str(about.get("title") or name))
        fields[key] = (
            _build_list_field(title, labels) if labels else _build_plain_field(title, about)
        )
        if "description" in about:
            fields[key]["description"] = _format_label(str(about["description"]))
        meanings[key], names[key] = labels, name
    needed = [key for key, name in names.items() if name in required]
    return Elicitation(
        message, _build_object(fields, needed), {k: v for k, v in meanings.items() if v}, names
    )


def _list_labels(about: Any) -> dict[str, Any] | None:
    """Return the labels to choose from; empty for typed input; None if neither is possible."""
    if not isinstance(about, dict):
        return None
    if about.get("type") == "boolean":
        return {"yes": True, "no": False}
    if "enum" in about:
        options = about["enum"]
        labels = {_format_label(str(option)): option for option in options}
        texts = all(isinstance(option, str) for option in options)
        return labels if texts and len(labels) == len(options) and NOT_YET not in labels else None
    return {} if about.get("type") in ("string", "number", "integer") else None


def _format_label(text: str) -> str:
    return inert_line(text, _LABEL_COLUMNS)


def _build_list_field(title: str, labels: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "string", "title": title, "enum": [NOT_YET, *labels]}


def _build_text_field(title: str) -> dict[str, Any]:
    return {"type": "string", "title": title}


def _build_plain_field(title: str, about: Mapping[str, Any]) -> dict[str, Any]:
    limits = {word: about[word] for word in _LIMITS if word in about}
    return {"type": about["type"], "title": title, **limits}


def _build_object(fields: Mapping[str, Any], required: Sequence[str]) -> dict[str, Any]:
    return {"type": "object", "properties": dict(fields), "required": list(required)}


def read_given(ask: Ask, shown: Elicitation, content: Any) -> Given | None:
    """Return the answer in the reply of a host; None if nothing was decided."""
    if not isinstance(content, dict):
        return None
    if shown.names:
        return _read_filled(ask, shown, content)
    if ask.question.answered_as == AskKind.TEXT:
        text = content.get("text")
        return Given(text, digest=ask.digest) if isinstance(text, str) and text.strip() else None
    (field,) = shown.meanings
    label, words = content.get(field), content.get("reason")
    value = shown.meanings[field].get(label) if isinstance(label, str) else None
    if value is None:
        return None
    if isinstance(value, dict):
        value = {"other": content.get("other", "")}
    return Given(value, words if isinstance(words, str) else "", ask.digest)


def _read_filled(ask: Ask, shown: Elicitation, content: Mapping[str, Any]) -> Given | None:
    value: dict[str, Any] = {}
    for key, name in shown.names.items():
        typed, labels = content.get(key), shown.meanings.get(key)
        if labels is None:
            if typed not in (None, ""):
                value[name] = typed
        elif isinstance(typed, str) and typed in labels:
            value[name] = labels[typed]
    return Given(value, digest=ask.digest) if value else None
