"""Forms in the page: the fields of a JSON Schema, with their values and errors."""

from __future__ import annotations

import json
import re
from collections import Counter
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple

from markupsafe import Markup

from gatebell.domain.asks.forms import step
from gatebell.domain.text.display import inert, inert_line
from gatebell.web.asks.field_limits import describe_limits
from gatebell.web.asks.form_data import MAX_ROWS, MORE, from_json, read, wants_more
from gatebell.web.asks.schema_fields import (
    ABSENT,
    Field,
    FieldKind,
    code,
    describe_options,
    empty_rows,
    plan,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["read", "render", "wants_more"]

_MAX_RADIOS = 6
_MAX_IN_ROWS = 10_000
_MAX_LABEL = 300
_MAX_WORDS = 4_000
_LIMITED = (FieldKind.TEXT, FieldKind.NUMBER, FieldKind.LINES, FieldKind.CHOICES, FieldKind.ROWS)
_DATE = re.compile(r"(\d{4}-\d\d-\d\d)?", re.ASCII)
# Times are text fields: a browser's time field has no time zone. The script of the page puts one
# with the reader's zone in place of a date-time.
_FORMATS = {
    "date": ("date", ""),
    "time": ("text", "such as 14:30:00Z"),
    "date-time": ("text", "such as 2026-11-15T14:30:00Z"),
    "email": ("email", ""),
    "uri": ("url", ""),
}


class _Page(NamedTuple):
    """Counters while a form is written: ids given, errors not shown yet and shown,
    fields in rows."""

    ids: Iterator[int]
    errors: dict[str, list[str]]
    shown: list[tuple[str, str]]
    in_rows: Counter[str]
    is_new: bool


class Form(NamedTuple):
    """The fields, and their errors as (id of the place, words)."""

    html: Markup
    wrong: list[tuple[str, str]]


class _Said(NamedTuple):
    """The words beside a field, and how the field refers to them."""

    id: str
    words: Markup
    described: Markup
    state: Markup


def render(
    schema: Any,
    value: Any = None,
    errors: Iterable[tuple[str, str]] | None = None,
    *,
    is_new: bool = False,
) -> Form:
    """Render the fields of a form, with their values and errors.

    Errors are those of `domain.forms.faults`. A new form has the defaults of its schema; nothing
    else is filled in that was not typed.
    """
    page = _Page(count(1), {}, [], Counter(), is_new)
    for pointer, message in errors or ():
        page.errors.setdefault(f"v{pointer}", []).append(message)
    form = plan(schema)._replace(key="Your answer")
    body = _field(page, form, "v", ABSENT if value is None else value)
    left = [f"{name[2:]}: {one}".lstrip(": ") for name, all_ in page.errors.items() for one in all_]
    lines = Markup().join(Markup("<li>{}</li>").format(_words(one)) for one in left)
    head = Markup('<ul class="error">{}</ul>\n').format(lines) if left else ""
    return Form(Markup('<div class="form">\n{}{}</div>').format(head, body), page.shown)


def _field(page: _Page, field: Field, name: str, value: Any) -> Markup:
    if page.is_new and value is ABSENT and not field.secret:
        value = field.schema.get("default", ABSENT)
    if field.kind == FieldKind.GROUP:
        return _group(page, field, name, value)
    if field.kind == FieldKind.ROWS:
        return _rows(page, field, name, value)
    shown = ABSENT if field.secret else value
    if field.kind == FieldKind.CHOICES:
        return _choices(page, field, name, shown)
    if field.kind == FieldKind.CHOICE:
        few = len(field.options) <= _MAX_RADIOS
        return (_radios if few else _select)(page, field, name, shown)
    return _render_typed(page, field, name, shown)


def _group(page: _Page, field: Field, name: str, value: Any) -> Markup:
    said = _beside(page, field, name)
    given = value if isinstance(value, dict) else {}
    parts = Markup().join(
        _field(page, part, f"{name}/{step(part.key)}", given.get(part.key, ABSENT))
        for part in field.parts
    )
    if name == "v":
        return said.words + parts
    return _fieldset("group", field, said, parts)


def _rows(page: _Page, field: Field, name: str, value: Any) -> Markup:
    (row,), given = field.parts, value if isinstance(value, list) else []
    page.in_rows["fields"] += len(given) * _size(row)
    if len(given) > MAX_ROWS or page.in_rows["fields"] > _MAX_IN_ROWS:
        whole = field._replace(kind=FieldKind.JSON, secret=_is_secret(field))
        return _render_typed(page, whole, name, ABSENT if whole.secret else value)
    said = _beside(page, field, name)
    least, most = field.schema.get("minItems", 0), field.schema.get("maxItems", MAX_ROWS)
    missing = min(int(least) - len(given), empty_rows(field.schema))
    empty = max(1, missing) if len(given) < min(most, MAX_ROWS) else 0
    rows = Markup()
    for number, one in enumerate([*given, *[ABSENT] * empty]):
        title = {"title": f"{_label(field)} {number + 1}"}
        named = row._replace(schema=row.schema | title, required=False)
        rows += _group(page, named, f"{name}/{number}", one)
    button = Markup(
        '<button type="submit" name="{}{}" value="1" formnovalidate>More rows: {}</button>\n'
    )
    return _fieldset("rows", field, said, rows + button.format(MORE, name, _label(field)))


def _size(field: Field) -> int:
    """Return the number of fields while it is empty."""
    below = sum(map(_size, field.parts))
    return 1 + (below * empty_rows(field.schema) if field.kind == FieldKind.ROWS else below)


def _is_secret(field: Field) -> bool:
    return field.secret or any(map(_is_secret, field.parts))


def _radios(page: _Page, field: Field, name: str, value: Any) -> Markup:
    said = _beside(page, field, name)
    chosen = None if value is ABSENT else code(value)
    options = [(code(one), words) for one, words in field.options]
    meanings = describe_options(field.schema)
    made = Markup().join(
        _option(
            page, "radio", name, *one, checked=one[0] == chosen, meaning=meanings.get(one[0], "")
        )
        for one in [*options, *([] if field.required else [("", "no answer")])]
    )
    role = Markup(' role="radiogroup"') + said.state
    return _fieldset("field", field, said, made, role)


def _choices(page: _Page, field: Field, name: str, value: Any) -> Markup:
    said = _beside(page, field, name)
    chosen = {code(one) for one in value} if isinstance(value, list) else ()
    meanings = describe_options(field.parts[0].schema)
    made = Markup().join(
        _option(
            page,
            "checkbox",
            f"{name}/{number}",
            code(one),
            words,
            checked=code(one) in chosen,
            meaning=meanings.get(code(one), ""),
        )
        for number, (one, words) in enumerate(field.parts[0].options)
    )
    return _fieldset("field", field, said, made)


def _option(
    page: _Page, kind: str, name: str, value: str, words: str, *, checked: bool, meaning: str = ""
) -> Markup:
    below = Markup('<span class="meaning">{}</span>').format(_words(meaning)) if meaning else ""
    return Markup(
        '<div class="option"><input type="{}" id="{}" name="{}" value="{}"{}>'
        '<label for="{}">{}{}</label></div>\n'
    ).format(
        kind,
        option_id := f"field-{next(page.ids)}",
        name,
        value,
        Markup(" checked") if checked else "",
        option_id,
        inert_line(words, _MAX_LABEL),
        below,
    )


def _select(page: _Page, field: Field, name: str, value: Any) -> Markup:
    said = _beside(page, field, name)
    chosen = None if value is ABSENT else code(value)
    options = [("", ""), *[(code(one), words) for one, words in field.options]]
    made = Markup().join(
        Markup('<option value="{}"{}>{}</option>\n').format(
            one, Markup(" selected") if one == chosen else "", inert_line(words, _MAX_LABEL)
        )
        for one, words in options
    )
    select = Markup('<select id="{}" name="{}"{}>\n{}</select>')
    return _add_label(field, said, select.format(said.id, name, said.described + said.state, made))


def _render_typed(page: _Page, field: Field, name: str, value: Any) -> Markup:
    said = _beside(page, field, name)
    typed = _as_typed(field, value)
    if field.kind in (FieldKind.JSON, FieldKind.LINES) or field.is_long or "\n" in typed:
        # The first line end in a textarea is not part of its text.
        box = Markup('<textarea id="{}" name="{}" rows="{}"{}>\n{}</textarea>').format(
            said.id,
            name,
            min(20, max(4, typed.count("\n") + 2)),
            said.described + said.state,
            typed,
        )
    else:
        box = Markup('<input type="{}" id="{}" name="{}" value="{}"{}{}>').format(
            _input_type(field, typed),
            said.id,
            name,
            typed,
            said.described + said.state,
            _keyboard(field) + _moment(field),
        )
    return _add_label(field, said, box)


def _input_type(field: Field, typed: str) -> str:
    if field.secret:
        return "password"
    input_type = _format(field)[0]
    # Browsers drop text that breaks these limits, and typed text must not get lost.
    if (input_type == "date" and not _DATE.fullmatch(typed)) or typed != typed.strip():
        return "text"
    return input_type if field.kind == FieldKind.TEXT else "text"


def _keyboard(field: Field) -> Markup:
    whole = field.schema.get("type") == "integer"
    hint = Markup(' inputmode="{}"').format("numeric" if whole else "decimal")
    off = Markup(' autocomplete="off"')
    return off + hint if field.kind == FieldKind.NUMBER else off


def _moment(field: Field) -> Markup:
    """Return the mark of a field in which the script lets a person choose a date and a time."""
    if field.secret or field.kind != FieldKind.TEXT or field.schema.get("format") != "date-time":
        return Markup()
    return Markup(' data-moment="{}"').format(_format(field)[1])


def _as_typed(field: Field, value: Any) -> str:
    if value is ABSENT or (value is None and field.kind != FieldKind.JSON):
        return ""
    if field.kind == FieldKind.LINES and isinstance(value, list):
        return "\n".join(one if isinstance(one, str) else code(one) for one in value)
    is_no_text = not isinstance(value, str) or not value.strip() or from_json(value) != value
    if field.kind == FieldKind.JSON and is_no_text:
        return _visible(json.dumps(value, ensure_ascii=False, indent=2))
    return value if isinstance(value, str) else code(value)


def _visible(typed: str) -> str:
    """Return JSON with invisible characters written out."""
    if inert(typed) == typed:
        return typed
    return "".join(one if inert(one) == one else json.dumps(one)[1:-1] for one in typed)


def _beside(page: _Page, field: Field, name: str) -> _Said:
    made_id = f"field-{next(page.ids)}"
    # For a field without inner fields, also the errors below it.
    below = name if field.kind in (FieldKind.GROUP, FieldKind.ROWS) else f"{name}/"
    names = [one for one in page.errors if one == name or (below != name and one.startswith(below))]
    wrong = "; ".join(message for one in names for message in page.errors.pop(one))
    words, described = Markup(), []
    if wrong:
        page.shown.append((f"{made_id}-error", f"{_label(field)}: {wrong}"))
    for kind, text in (("hint", _hint(field, is_new=page.is_new)), ("error", wrong)):
        if text:
            described.append(f"{made_id}-{kind}")
            paragraph = Markup('<p class="{}" id="{}">{}</p>\n')
            words += paragraph.format(kind, described[-1], _words(text))
    if field.kind == FieldKind.JSON:
        schema = _words(json.dumps(field.schema, ensure_ascii=False, indent=2))
        details = Markup("<details><summary>Its JSON Schema</summary><pre>{}</pre></details>\n")
        words += details.format(schema)
    refers = Markup(' aria-describedby="{}"').format(" ".join(described))
    state = Markup(' aria-invalid="true"') if wrong else Markup()
    state += Markup(' aria-required="true"') if field.required else ""
    return _Said(made_id, words, refers if described else Markup(), state)


def _hint(field: Field, *, is_new: bool) -> str:
    described, default = field.schema.get("description"), field.schema.get("default", ABSENT)
    named = {code(value): words for value, words in field.options}
    shown = default if isinstance(default, str) else "" if default is ABSENT else code(default)
    shown = named.get(code(default), shown) if default is not ABSENT else shown
    how = {"lines": "one per line", "json": "as JSON"}.get(field.kind) or _format(field)[1]
    limits = describe_limits(field.schema) if field.kind in _LIMITED else ""
    # In a new form it is in the field.
    standard = f"default: {shown}" if shown and not (field.secret or is_new) else ""
    rules = ", ".join(filter(None, (how, limits, standard)))
    return "\n".join(filter(None, (described if isinstance(described, str) else "", rules)))


def _format(field: Field) -> tuple[str, str]:
    return _FORMATS.get(str(field.schema.get("format")), ("text", ""))


def _fieldset(
    kind: str, field: Field, said: _Said, body: Markup, role: Markup | None = None
) -> Markup:
    return Markup('<fieldset class="{}"{}{}><legend>{}{}</legend>\n{}{}</fieldset>\n').format(
        kind, role or "", said.described, _label(field), _mark_required(field), said.words, body
    )


def _add_label(field: Field, said: _Said, box: Markup) -> Markup:
    return Markup('<div class="field"><label for="{}">{}{}</label>\n{}{}</div>\n').format(
        said.id, _label(field), _mark_required(field), said.words, box
    )


def _mark_required(field: Field) -> Markup:
    return Markup(' <span class="required">(required)</span>') if field.required else Markup()


def _label(field: Field) -> str:
    return inert_line(field.label, _MAX_LABEL) or "(no name)"


def _words(text: str) -> str:
    left = len(text) - _MAX_WORDS
    return inert(text[:_MAX_WORDS]) + (f" … {left} more characters" if left > 0 else "")
