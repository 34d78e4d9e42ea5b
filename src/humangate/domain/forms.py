"""Forms: JSON Schema checked, and the fields marked `writeOnly` hidden."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

from humangate.errors import InvalidAnswerError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

_BRANCHES = ("allOf", "anyOf", "oneOf")
_FOLLOWED = (*_BRANCHES, "items", "prefixItems", "additionalProperties")
_MAX_WEIGHT = 5_000
_MAX_FAULTS = 100


def _no_fetching(uri: str) -> Any:
    raise UsageError(f"the schema refers to {uri}, and nothing is fetched: use #/$defs instead")


def check_schema(schema: Any) -> None:
    """Refuse a schema that could never validate anything, or would take for ever to."""
    _validator(schema)
    if _weight(schema, schema, {}) > _MAX_WEIGHT:
        raise UsageError("the schema is too large once its references are followed")


def check_form(schema: Any, value: Any) -> None:
    """Refuse a value that does not fit, naming every place where it does not."""
    errors = list(_validator(schema).iter_errors(value))
    if errors:
        secret = has_hidden(schema)
        faults = "; ".join(_fault(error, secret) for error in errors[:5])
        hint = " (is it JSON?)" if isinstance(value, str) else ""
        raise InvalidAnswerError(f"this does not fit the form{hint}: {faults}")


def faults(schema: Any, value: Any) -> list[tuple[str, str]]:
    """Every place where a value does not fit, as a JSON pointer, and why it does not."""
    secret = has_hidden(schema)
    errors = _validator(schema).iter_errors(value)
    return [(_pointer(error), _reason(error, secret)) for error in islice(errors, _MAX_FAULTS)]


def _pointer(error: Any) -> str:
    """Of what is missing, the place where it should be."""
    missing = getattr(error.kind, "property", None)
    path = [*error.instance_path, *([] if missing is None else [missing])]
    return "".join(f"/{step(part)}" for part in path)


def step(part: Any) -> str:
    """One step of a JSON pointer."""
    return str(part).replace("~", "~0").replace("/", "~1")


def _fault(error: Any, secret: bool) -> str:
    place = "/".join(map(str, error.instance_path)) or "the form"
    return f"{place}: {_reason(error, secret)}"


def _reason(error: Any, secret: bool) -> str:
    """Why it does not fit; of a form with secrets the rule only, never the value."""
    rule = f"does not fit {error.schema_path[-1]!r}" if error.schema_path else "does not fit"
    return rule if secret else str(error.message)


def _validator(schema: Any) -> Any:
    # Imported here: it costs three bare interpreters, and only forms need it.
    import jsonschema_rs

    if not isinstance(schema, dict):
        raise UsageError("a form's schema is a JSON object")
    try:
        return jsonschema_rs.validator_for(schema, retriever=_no_fetching)
    except (ValueError, jsonschema_rs.ReferencingError) as error:
        raise UsageError(f"this is not a JSON Schema: {str(error).splitlines()[0]}") from None


def _weight(root: Any, node: Any, known: dict[str, int]) -> int:
    """How many parts there are when every reference is followed each time it is met."""
    if isinstance(node, list):
        return sum(_weight(root, one, known) for one in node)
    if not isinstance(node, dict):
        return 0
    weight = 1
    for word, part in node.items():
        if word == "$ref" and isinstance(part, str):
            if part not in known:
                known[part] = 1
                known[part] = _weight(root, resolve(root, part), known)
            weight += known[part]
        elif word not in ("$defs", "definitions"):
            weight += _weight(root, part, known)
    return min(weight, 10 * _MAX_WEIGHT)


def has_hidden(schema: Any) -> bool:
    """Whether any field of the form is `writeOnly`."""
    if isinstance(schema, dict):
        return schema.get("writeOnly") is True or any(map(has_hidden, schema.values()))
    return isinstance(schema, list) and any(map(has_hidden, schema))


def hide(schema: Any, value: Any, conceal: Callable[[Any], Any]) -> Any:
    """The value with every `writeOnly` part concealed; all of it where one cannot be found."""
    if _hidden(schema, everywhere=True) > _hidden(schema, everywhere=False):
        return conceal(value)
    return _hide(schema, schema, value, conceal, 0)


def _hidden(node: Any, everywhere: bool) -> int:
    """How many parts are `writeOnly`, in all or at places where `_hide` finds them."""
    if isinstance(node, list):
        return sum(_hidden(one, everywhere) for one in node)
    if not isinstance(node, dict):
        return 0
    found = int(node.get("writeOnly") is True)
    for word, part in node.items():
        if word in ("properties", "$defs", "definitions") and isinstance(part, dict):
            found += sum(_hidden(one, everywhere) for one in part.values())
        elif everywhere or (word in _FOLLOWED and not (word == "items" and isinstance(part, list))):
            found += _hidden(part, everywhere)
    return found


def _hide(root: Any, schema: Any, value: Any, conceal: Callable[[Any], Any], depth: int) -> Any:
    if not isinstance(schema, dict):
        return value
    # A schema that refers to itself for ever, or deeper than anybody reads: hide it all.
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


def resolve(root: Any, reference: str) -> Any:
    """What a reference within the schema refers to."""
    target = root
    for part in reference.removeprefix("#").strip("/").split("/"):
        if part and isinstance(target, dict):
            target = target.get(part.replace("~1", "/").replace("~0", "~"))
    # A reference that cannot be followed hides what it describes.
    return target if isinstance(target, dict) else {"writeOnly": True}
