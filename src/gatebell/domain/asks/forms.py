"""Forms: checks by JSON Schema, and the concealment of fields that are `writeOnly`."""

from __future__ import annotations

import json
import re
from collections import Counter
from itertools import islice
from typing import TYPE_CHECKING, Any

from gatebell.errors import InvalidAnswerError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

_BRANCHES = ("allOf", "anyOf", "oneOf")
_FOLLOWED = ("$ref", *_BRANCHES, "properties", "additionalProperties", "prefixItems", "items")
_BY_NAME = ("properties", "patternProperties", "dependentSchemas", "dependencies")
# Keywords whose schemas apply to the same value, and those whose schemas apply to parts of it.
_SAME = ("$ref", *_BRANCHES, "not", "if", "then", "else", "dependentSchemas", "dependencies")
_PARTS = (
    *("properties", "patternProperties", "additionalProperties", "unevaluatedProperties"),
    *("items", "prefixItems", "additionalItems", "contains", "unevaluatedItems", "propertyNames"),
)
_DEFINITIONS = ("$defs", "definitions")
_UNKNOWN = {"writeOnly": True}
_RULES = {
    "required": "is missing",
    "additionalProperties": "has a field that it does not know",
}
_TYPES = {
    "string": "a text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "object": "an object",
    "array": "a list",
    "null": "null",
}
_MAX_SHOWN = 80
_MAX_WEIGHT = 5_000
_MAX_FAULTS = 100
_MAX_FIELDS = 3


def _refuse_fetch(uri: str) -> Any:
    raise UsageError(f"the schema refers to {uri}, which is not fetched: use #/$defs instead")


def check_schema(schema: Any) -> None:
    """Refuse an invalid schema, and one that could take forever to check."""
    _build_validator(schema)


def check_form(schema: Any, value: Any) -> None:
    """Refuse a value that does not fit; name the first places where it does not."""
    errors = list(islice(_build_validator(schema).iter_errors(value), 5))
    if errors:
        secret = has_hidden(schema)
        faults = "; ".join(_describe_fault(error, secret) for error in errors)
        hint = f" (is it JSON{_show_fields(schema)}?)" if isinstance(value, str) else ""
        raise InvalidAnswerError(f"the answer does not fit the form{hint}: {faults}")


def _show_fields(schema: Any) -> str:
    """Return the beginning of the JSON that a form takes; '' if it names no fields."""
    fields = schema.get("properties") if isinstance(schema, dict) else None
    names = [json.dumps(name) for name in list(fields or {})[:_MAX_FIELDS]]
    return f" such as {{{', '.join(f'{name}: …' for name in names)}}}" if names else ""


def faults(schema: Any, value: Any) -> list[tuple[str, str]]:
    """Return each place where a value does not fit, as a JSON pointer, and the reason."""
    secret = has_hidden(schema)
    errors = _build_validator(schema).iter_errors(value)
    return [
        (_build_pointer(error), _describe_reason(error, secret))
        for error in islice(errors, _MAX_FAULTS)
    ]


def _build_pointer(error: Any) -> str:
    """Return the JSON pointer of an error; for a missing field, the place of that field."""
    missing = getattr(error.kind, "property", None)
    path = [*error.instance_path, *([] if missing is None else [missing])]
    return "".join(f"/{step(part)}" for part in path)


def step(part: Any) -> str:
    """Return one escaped step of a JSON pointer."""
    return str(part).replace("~", "~0").replace("/", "~1")


def _describe_fault(error: Any, secret: bool) -> str:
    missing = getattr(error.kind, "property", None)
    path = [*error.instance_path, *([] if missing is None else [missing])]
    reason = _describe_reason(error, secret)
    return f"{'/'.join(map(str, path))}: {reason}" if path else reason


def _describe_reason(error: Any, secret: bool) -> str:
    """Return why a value does not fit; for a form with secrets only the rule, not the value."""
    if secret:
        rule = error.schema_path[-1]
        return _RULES.get(rule, f"does not fit {rule!r}")
    if getattr(error.kind, "property", None) is not None:
        return _RULES["required"]
    if types := getattr(error.kind, "types", None):
        return (
            f"expected {' or '.join(_TYPES[one] for one in types)}, got {_shorten(error.instance)}"
        )
    if unknown := getattr(error.kind, "unexpected", None):
        return f"has no field {' and '.join(map(repr, unknown))}"
    return str(error.message)


def _shorten(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}…"


def _build_validator(schema: Any) -> Any:
    # Imported here: it takes as long as three starts of Python, and only forms need it.
    import jsonschema_rs

    if not isinstance(schema, dict):
        raise UsageError("expected a JSON object as the schema of a form")
    try:
        made = jsonschema_rs.validator_for(schema, retriever=_refuse_fetch)
    except (ValueError, jsonschema_rs.ReferencingError) as error:
        raise UsageError(
            f"the schema is not a valid JSON Schema: {str(error).splitlines()[0]}"
        ) from None
    try:
        _check_cost(schema)
    except RecursionError:
        raise UsageError(
            "the schema is too deep with its references resolved: make it simpler"
        ) from None
    return made


def _check_cost(schema: dict[str, Any]) -> None:
    """Refuse a schema whose check could take more than linear time."""
    if _leads_astray(schema, schema):
        raise UsageError(
            "a reference in the schema must begin with #/, and a part of it must not have an $id"
        )
    if _count_parts(schema, schema, {}) > _MAX_WEIGHT:
        raise UsageError("the schema is too large with its references resolved: make it simpler")
    live: dict[int, bool] = {}
    known: dict[int, Counter[str] | None] = {}
    for node in _list_applied(schema, (*_SAME, *_PARTS)):
        if (
            _is_live(schema, node, live)
            and _count_overlap(_count_handed_on(schema, node, live, known)) > 1
        ):
            raise UsageError(
                "the schema refers to itself several times for one part of an answer, and a check "
                "could take forever: in anyOf, allOf and the like, refer to it only once"
            )


def _leads_astray(root: Any, node: Any) -> bool:
    """Return whether a reference may mean another schema than the one that `resolve` finds."""
    if isinstance(node, list):
        return any(_leads_astray(root, one) for one in node)
    if not isinstance(node, dict):
        return False
    # In draft 4 the keyword is `id`; in later drafts `id` has no meaning.
    bases = ("$id", "$schema", *(("id",) if "draft-04" in str(root.get("$schema")) else ()))
    based = () if node is root else (node.get(word, "#") for word in bases)
    reference = node.get("$ref")
    return (
        any(isinstance(node.get(word), str) for word in ("$dynamicRef", "$recursiveRef"))
        or any(isinstance(one, str) and not one.startswith("#") for one in based)
        or (isinstance(reference, str) and not re.match(r"#(/|$)", reference))
        or any(_leads_astray(root, part) for part in node.values())
    )


def _list_subschemas(root: Any, node: dict[str, Any], word: str) -> list[dict[str, Any]]:
    """Return the schemas under a keyword."""
    part = resolve(root, node[word]) if word == "$ref" and word in node else node.get(word)
    if word in _BY_NAME and isinstance(part, dict):
        part = list(part.values())
    return [one for one in (part if isinstance(part, list) else [part]) if isinstance(one, dict)]


def _list_applied(root: Any, words: tuple[str, ...]) -> list[dict[str, Any]]:
    """Return every schema that may apply to a value or a part of it, by these keywords."""
    found, waiting = {id(root): root}, [root]
    while waiting:
        node = waiting.pop()
        for one in (one for word in words for one in _list_subschemas(root, node, word)):
            if id(one) not in found:
                found[id(one)] = one
                waiting.append(one)
    return list(found.values())


def _is_live(root: Any, node: Any, live: dict[int, bool]) -> bool:
    """Return whether a cycle of references can be reached from here."""
    if not isinstance(node, dict):
        return False
    if id(node) not in live:
        live[id(node)] = True  # a way back to here is a cycle
        held = (one for word in (*_SAME, *_PARTS) for one in _list_subschemas(root, node, word))
        live[id(node)] = any(_is_live(root, one, live) for one in held)
    return live[id(node)]


def _count_handed_on(
    root: Any, node: Any, live: dict[int, bool], known: dict[int, Counter[str] | None]
) -> Counter[str]:
    """Count how many times each part of a value is checked on the way to a cycle of references.

    Once is linear. Twice doubles the work with every level of the value.
    """
    if id(node) in known:
        if (counted := known[id(node)]) is None:
            raise UsageError(
                "the schema refers to itself without a part of the answer between: remove that $ref"
            )
        return counted
    known[id(node)] = None
    counts = _count_handed_down(root, node, live)
    # These keywords evaluate everything a second time.
    times = 2 if "unevaluatedProperties" in node or "unevaluatedItems" in node else 1
    for one in (one for word in _SAME for one in _list_subschemas(root, node, word)):
        if _is_live(root, one, live):
            for part, count in _count_handed_on(root, one, live, known).items():
                counts[part] += times * count
    known[id(node)] = counts
    return counts


def _count_handed_down(root: Any, node: dict[str, Any], live: dict[int, bool]) -> Counter[str]:
    """Count this schema's own parts: `.name` a property, `*` any property, `[]` any item."""

    def leading(word: str) -> int:
        return sum(_is_live(root, one, live) for one in _list_subschemas(root, node, word))

    counts = Counter(
        {
            "*": leading("patternProperties") + leading("unevaluatedProperties"),
            "[]": leading("contains") + leading("unevaluatedItems"),
        }
    )
    # Only one of these applies to each property and to each item.
    if leading("additionalProperties"):
        counts["*"] += 1
    elif leading("properties"):
        fields = node["properties"].items()
        counts.update(f".{name}" for name, one in fields if _is_live(root, one, live))
    counts["[]"] += any(map(leading, ("items", "prefixItems", "additionalItems")))
    return counts


def _count_overlap(counts: Counter[str]) -> int:
    """Return the highest number of times that one part of a value is checked."""
    named = max((count for part, count in counts.items() if part[0] == "."), default=0)
    return max(named + counts["*"], counts["[]"])


def _count_parts(root: Any, node: Any, known: dict[str, int]) -> int:
    """Count the parts of a schema with every reference resolved each time."""
    if isinstance(node, list):
        return sum(_count_parts(root, one, known) for one in node)
    if not isinstance(node, dict):
        return 0
    weight = 1
    for word, part in node.items():
        if word == "$ref" and isinstance(part, str):
            if part not in known:
                known[part] = 1
                known[part] = _count_parts(root, resolve(root, part), known)
            weight += known[part]
        elif word not in _DEFINITIONS:
            weight += _count_parts(root, part, known)
    return min(weight, 10 * _MAX_WEIGHT)


def has_hidden(schema: Any) -> bool:
    """Return whether any field of the form is `writeOnly`."""
    if isinstance(schema, dict):
        return schema.get("writeOnly") is True or any(map(has_hidden, schema.values()))
    return isinstance(schema, list) and any(map(has_hidden, schema))


def hide(schema: Any, value: Any, conceal: Callable[[Any], Any]) -> Any:
    """Conceal every `writeOnly` part of a value; the whole value if a part cannot be located."""
    seen: set[int] = set()
    for node in _list_applied(schema, _FOLLOWED):
        for word, part in node.items():
            followed = word in _FOLLOWED and not (word == "items" and isinstance(part, list))
            if not followed and word not in _DEFINITIONS and _may_hide(schema, part, seen):
                return conceal(value)
    if _leads_astray(schema, schema):
        return conceal(value)
    return _hide(schema, schema, value, conceal, 0)


def _may_hide(root: Any, node: Any, seen: set[int]) -> bool:
    """Return whether any part of it, or of a schema that it refers to, is `writeOnly`."""
    if not isinstance(node, dict | list) or id(node) in seen:
        return False
    seen.add(id(node))
    if isinstance(node, list):
        return any(_may_hide(root, one, seen) for one in node)
    if node.get("writeOnly") is True:
        return True
    target = resolve(root, node["$ref"]) if "$ref" in node else None
    return any(_may_hide(root, one, seen) for one in (target, *node.values()))


def _hide(root: Any, schema: Any, value: Any, conceal: Callable[[Any], Any], depth: int) -> Any:
    if not isinstance(schema, dict):
        return value
    # The depth ends endless references: hide the rest.
    if schema.get("writeOnly") is True or depth > 50:
        return conceal(value)
    if "$ref" in schema:
        value = _hide(root, resolve(root, schema["$ref"]), value, conceal, depth + 1)
    for branch in _BRANCHES:
        for part in schema.get(branch, ()):
            value = _hide(root, part, value, conceal, depth + 1)
    if isinstance(value, dict):
        fields, rest = schema.get("properties", {}), schema.get("additionalProperties")
        value = {
            k: _hide(root, fields.get(k, rest), v, conceal, depth + 1) for k, v in value.items()
        }
    elif isinstance(value, list):
        first = schema.get("prefixItems", [])
        parts = [*first, *[schema.get("items")] * max(0, len(value) - len(first))]
        value = [_hide(root, p, v, conceal, depth + 1) for p, v in zip(parts, value, strict=False)]
    return value


def resolve(root: Any, reference: Any) -> Any:
    """Return the target of a reference within the schema."""
    # Imported here: it is slow to load, and only forms need it.
    from urllib.parse import unquote

    first, *parts = unquote(str(reference)).split("/")
    target = root if first == "#" else None
    for part in parts:
        name = part.replace("~1", "/").replace("~0", "~")
        if isinstance(target, list) and re.fullmatch(r"\d{1,5}", name, re.ASCII):
            target = next(islice(target, int(name), None), None)
        else:
            target = target.get(name) if isinstance(target, dict) else None
    # A reference without a target conceals its value.
    return target if isinstance(target, dict) else _UNKNOWN
