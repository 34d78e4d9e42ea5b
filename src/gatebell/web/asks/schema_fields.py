"""Reads JSON Schema as form fields; other parts are typed as JSON."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from gatebell.domain.asks.forms import has_hidden, resolve
from gatebell.domain.enums import StrEnum

ABSENT: Any = object()
"""No value at all, which is different from null."""
_DEEPEST = 10
_LONG = 200
_MAX_EMPTY_ROWS = 20
# Parts that do not fit into a page of this size are typed as JSON.
_ROOM = {"fields": 2_500, "options": 10_000}
# Rules that no field shows. A part with one of them is typed as JSON.
_BEYOND_FIELDS = frozenset(
    (
        *("patternProperties", "if", "then", "else", "not", "dependentSchemas", "prefixItems"),
        *(
            "$dynamicRef",
            "$recursiveRef",
            "unevaluatedProperties",
            "propertyNames",
            "anyOf",
            "oneOf",
        ),
    )
)
_UNREAD = ("$ref", "allOf", "$defs", "definitions", "$schema", "$id", "$comment")
_SAID_ONCE = ("title", "description", "default", "examples")


class FieldKind(StrEnum):
    """The input of a field."""

    TEXT = "text"
    NUMBER = "number"
    CHOICE = "choice"
    CHOICES = "choices"
    LINES = "lines"
    ROWS = "rows"
    GROUP = "group"
    JSON = "json"


class Field(NamedTuple):
    """A field, or a group of them."""

    kind: FieldKind
    key: str
    """The name of the property; empty at the top and for the row of a list."""
    schema: dict[str, Any]
    """With its references followed."""
    required: bool
    secret: bool = False
    nullable: bool = False
    options: tuple[tuple[Any, str], ...] = ()
    """Of a choice: each value and its words."""
    parts: tuple[Field, ...] = ()
    """The fields of a group; the one row of a list."""

    @property
    def label(self) -> str:
        title = self.schema.get("title")
        return title if isinstance(title, str) and title.strip() else self.key

    @property
    def is_long(self) -> bool:
        most = self.schema.get("maxLength", 0)
        return self.schema.get("format") == "textarea" or (isinstance(most, int) and most > _LONG)


_OF_LISTS = {
    FieldKind.CHOICE: FieldKind.CHOICES,
    FieldKind.TEXT: FieldKind.LINES,
    FieldKind.NUMBER: FieldKind.LINES,
    FieldKind.GROUP: FieldKind.ROWS,
}


class _Place(NamedTuple):
    """The position of a part in the schema."""

    root: Any
    room: dict[str, int]
    """How many more fields and options may follow, at any place."""
    secrets: dict[int, bool]
    """For each part that is typed as JSON, whether it contains a secret."""
    key: str = ""
    required: bool = True
    secret: bool = False
    depth: int = 0
    references: tuple[str, ...] = ()
    copies: int = 1
    """Return how often it occurs in an empty form."""


def plan(schema: Any) -> Field:
    """The fields of a form."""
    return _plan(schema, _Place(schema, dict(_ROOM), {id(schema): has_hidden(schema)}))


def empty_rows(schema: dict[str, Any]) -> int:
    """Return how many rows of a list an empty form has."""
    return max(1, min(int(schema.get("minItems", 0)), _MAX_EMPTY_ROWS))


def code(value: Any) -> str:
    """Return a value of a choice for the page: `1` and `"1"` are different."""
    return json.dumps(value, sort_keys=True)


def _plan(node: Any, place: _Place) -> Field:
    flat, references = _flat(place.root, node, place.references)
    null, flat = _without_null(place.root, flat, references)
    if flat is None or place.depth > _DEEPEST:
        return _json(node, place)
    secret = place.secret or flat.get("writeOnly") is True
    place = place._replace(secret=secret, references=references)
    made = Field(FieldKind.JSON, place.key, flat, place.required, secret, null)
    listed = flat.get("enum")
    if isinstance(listed, list) and not _fits(place, "options", len(listed)):
        return _json(node, place)
    if options := _options(flat):
        options = (*options, (None, "none")) if null else options
        return made._replace(kind=FieldKind.CHOICE, options=options)
    if not _BEYOND_FIELDS.isdisjoint(flat):
        return _json(node, place)
    schema_type = flat.get("type", "object" if "properties" in flat else None)
    if schema_type in ("string", "number", "integer"):
        is_text = schema_type == "string"
        return made._replace(kind=FieldKind.TEXT if is_text else FieldKind.NUMBER)
    parts: tuple[FieldKind, tuple[Field, ...]] | None = None
    if schema_type == "array":
        parts = _list(flat, place)
    if schema_type == "object":
        parts = _group(flat, place)
    if parts is None:
        return _json(node, place)
    return made._replace(kind=parts[0], parts=parts[1])


def _json(node: Any, place: _Place) -> Field:
    shown = node if isinstance(node, dict) else {}
    known = place.secrets
    # The same part may be behind many references, and be long.
    if id(node) not in known:
        some = known[id(place.root)]
        known[id(node)] = some and (has_hidden(node) or "$ref" in code(node))
    return Field(FieldKind.JSON, place.key, shown, place.required, place.secret or known[id(node)])


def _fits(place: _Place, what: str, count: int) -> bool:
    """Reserve room for a number of fields, if there is enough."""
    wanted = count * place.copies
    if wanted > place.room[what]:
        return False
    place.room[what] -= wanted
    return True


def _list(flat: dict[str, Any], place: _Place) -> tuple[FieldKind, tuple[Field, ...]] | None:
    copies = place.copies * empty_rows(flat)
    below = place._replace(key="", required=True, depth=place.depth + 1, copies=copies)
    item = _plan(flat.get("items"), below)
    # Several answers of yes and no mean nothing, and a line holds only one line.
    if item.schema.get("type") == "boolean" or item.nullable or item.is_long:
        return None
    return (_OF_LISTS[item.kind], (item,)) if item.kind in _OF_LISTS else None


def _group(flat: dict[str, Any], place: _Place) -> tuple[FieldKind, tuple[Field, ...]] | None:
    properties, required = flat.get("properties"), flat.get("required", [])
    if not isinstance(properties, dict) or not properties or set(required) - set(properties):
        return None
    # A page has no control character in a field name, and no field for other names.
    if any(min(name, default="x") < " " for name in properties):
        return None
    if isinstance(flat.get("additionalProperties"), dict):
        return None
    if not _fits(place, "fields", len(properties)):
        return None
    below = place._replace(depth=place.depth + 1)
    parts = (
        _plan(part, below._replace(key=name, required=name in required))
        for name, part in properties.items()
        if part is not False
    )
    return FieldKind.GROUP, tuple(parts)


def _options(flat: dict[str, Any]) -> tuple[tuple[Any, str], ...]:
    if isinstance(flat.get("enum"), list):
        found = [(value, _words(value)) for value in flat["enum"]]
    elif "const" in flat:
        found = [(flat["const"], _words(flat["const"]))]
    elif flat.get("type") == "boolean":
        found = [(True, "yes"), (False, "no")]
    else:
        found = _named_options(flat)
    return tuple({code(value): (value, words) for value, words in found}.values())


def _named_options(flat: dict[str, Any]) -> list[tuple[Any, str]]:
    """Return the values of an `anyOf` or `oneOf` of constants, with titles."""
    listed = flat.get("oneOf", flat.get("anyOf"))
    if not isinstance(listed, list) or ("oneOf" in flat and "anyOf" in flat):
        return []
    if not all(isinstance(one, dict) and "const" in one for one in listed):
        return []
    return [(one["const"], str(one.get("title") or _words(one["const"]))) for one in listed]


def describe_options(schema: dict[str, Any]) -> dict[str, str]:
    """Return the descriptions of the options of a choice, by their code."""
    listed = schema.get("oneOf", schema.get("anyOf"))
    described = [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
    return {
        code(one["const"]): one["description"]
        for one in described
        if "const" in one and isinstance(one.get("description"), str)
    }


def _words(value: Any) -> str:
    return value if isinstance(value, str) and value.strip() else code(value)


def _flat(
    root: Any, node: Any, references: tuple[str, ...]
) -> tuple[dict[str, Any] | None, tuple[str, ...]]:
    """Merge a schema with the schemas that it refers to, if possible."""
    if not isinstance(node, dict):
        return None, references
    flat: dict[str, Any] | None = {k: v for k, v in node.items() if k not in _UNREAD}
    others = list(node["allOf"]) if isinstance(node.get("allOf"), list) else []
    if isinstance(reference := node.get("$ref"), str):
        if reference in references:
            return None, references
        references = (*references, reference)
        others.append(resolve(root, reference))
    for other in others:
        found, references = _flat(root, other, references)
        flat = _merge(flat, found)
    return flat, references


def _merge(one: dict[str, Any] | None, other: dict[str, Any] | None) -> dict[str, Any] | None:
    if one is None or other is None:
        return None
    merged = dict(one)
    for word, said in other.items():
        if word not in one or one[word] == said:
            merged[word] = said
        elif word == "required":
            merged[word] = [*one[word], *said]
        elif word == "properties" and all(said[k] == one[word][k] for k in said if k in one[word]):
            merged[word] = {**one[word], **said}
        elif word not in _SAID_ONCE:
            return None
    return merged


def _without_null(
    root: Any, flat: dict[str, Any] | None, references: tuple[str, ...]
) -> tuple[bool, dict[str, Any] | None]:
    """Return whether it may be null beside another type, and that type."""
    if flat is None:
        return False, None
    types = flat.get("type")
    if isinstance(types, list) and len(types) == 2 and "null" in types:
        # A list of values itself says whether null is allowed.
        alone = "enum" not in flat and "const" not in flat
        return alone, {**flat, "type": next(one for one in types if one != "null")}
    for word in ("anyOf", "oneOf"):
        listed = flat.get(word)
        if isinstance(listed, list) and len(listed) == 2 and {"type": "null"} in listed:
            found, _ = _flat(root, next(x for x in listed if x != {"type": "null"}), references)
            return True, _merge({k: v for k, v in flat.items() if k != word}, found)
    return False, flat
