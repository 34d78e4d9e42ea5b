"""Types of `returns=`: a JSON Schema for people and agents, a Python value for the asker.

Only types that JSON Schema can describe are taken: a value that fits the form then becomes one.
"""

from __future__ import annotations

import re
import sys
import types
from collections.abc import Mapping, Sequence
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Literal,
    NamedTuple,
    Union,
    get_args,
    get_origin,
)

from gatebell.api.class_fields import Field, find_fields, name_type
from gatebell.domain.asks.forms import check_form, faults
from gatebell.domain.asks.outcomes import Approval
from gatebell.domain.enums import AskKind
from gatebell.domain.lists import as_list
from gatebell.domain.text.options import suggest_fields
from gatebell.errors import InvalidAnswerError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable

_NOTHING = type(None)
_SCALARS: tuple[tuple[Any, dict[str, Any]], ...] = (
    (str, {"type": "string"}),
    (int, {"type": "integer"}),
    (float, {"type": "number"}),
    (bool, {"type": "boolean"}),
    (None, {"type": "null"}),
    (_NOTHING, {"type": "null"}),
    (Any, {}),
)
_PLAIN = (str, int, float, bool, _NOTHING)
_UNIONS = (Union, types.UnionType)
_ARRAYS = (list, Sequence, tuple, set, frozenset)
_OBJECTS = (dict, Mapping)
_PARTS = ("$defs", "properties")
_BRANCHES = ("anyOf", "allOf", "oneOf", "prefixItems")
_REST = ("items", "additionalProperties")


@suggest_fields
class Selection(NamedTuple):
    """One of some options, or several of them, as the result of a session.

    Example:
        gate.human.ask_interactive("Which design?", returns=Selection(["A", "B", "Other…"]))
    """

    options: Sequence[str]
    """The options; `Other…` lets people write their own."""
    multiple: bool = False
    """Let people choose several; the response is then a list."""


class Freeform(NamedTuple):
    """The same as `returns=str`: text."""


class Structured(NamedTuple):
    """The same as `returns=schema`."""

    schema: Any
    """A type or a JSON Schema."""


class ExpectedAnswer(NamedTuple):
    """The kind of answer that an asker expects, and the type that it becomes."""

    answered_as: AskKind
    options: tuple[str, ...] = ()
    multiple: bool = False
    schema: dict[str, Any] | None = None
    shape: Any = Any

    def convert(self, value: Any) -> Any:
        """Return the answer as a value of the expected type."""
        return value if self.schema is None else convert(self.shape, value)


def expect_answer(returns: object) -> ExpectedAnswer:
    """Return the meaning of a session's `returns=`; None is text.

    Raises:
        UsageError: JSON Schema cannot describe the type.
    """
    if returns is None or returns is str or isinstance(returns, Freeform):
        return ExpectedAnswer(AskKind.TEXT)
    if returns is Approval or (isinstance(returns, Approval) and not returns.ask_id):
        return ExpectedAnswer(AskKind.APPROVAL)
    if isinstance(returns, Selection):
        return ExpectedAnswer(AskKind.CHOICE, as_list(returns.options, "options"), returns.multiple)
    if isinstance(returns, Structured):
        if returns.schema is None:
            raise UsageError("Structured(schema) needs a schema, got None: give a type or a dict")
        return expect_form(returns.schema)
    return expect_form(returns)


def expect_form(returns: object) -> ExpectedAnswer:
    """Return the meaning of an ask's `returns=`: a form of a type or a JSON Schema."""
    return ExpectedAnswer(AskKind.FORM, schema=build_schema(returns), shape=returns)


def build_schema(shape: Any) -> dict[str, Any]:
    """Return the JSON Schema of a type.

    Raises:
        UsageError: JSON Schema has no word for a part of it.
    """
    if isinstance(shape, dict):
        return shape
    if isinstance(shape, str):
        raise UsageError(
            f"returns is a type, a JSON Schema, or in a session Approval or Selection(options), "
            f"not the text {shape!r}"
        )
    schemas = _Schemas()
    try:
        schema = schemas.build(shape)
    except RecursionError:
        raise UsageError(f"{name_type(shape)} leads back to itself: let a class do that") from None
    return {**schema, "$defs": schemas.shared} if schemas.shared else schema


def convert(shape: Any, value: Any) -> Any:
    """Return JSON as a value of a type.

    Raises:
        InvalidAnswerError: It does not fit the schema, or the class refuses it.
    """
    if isinstance(shape, dict):
        return value
    check_form(build_schema(shape), value)
    try:
        return _convert(shape, value)
    except (TypeError, ValueError, LookupError, ArithmeticError, AttributeError) as error:
        # A class of the asker's own may be stricter than its schema.
        raise InvalidAnswerError(
            f"the answer does not become {name_type(shape)}: {error}"
        ) from error


class _Schemas:
    """Builds schemas; classes that lead back to themselves are shared under `$defs`."""

    def __init__(self) -> None:
        self.shared: dict[str, Any] = {}
        self._within: list[type] = []
        self._names: dict[type, str] = {}

    def build(self, shape: Any) -> dict[str, Any]:
        shape, about = _bare(shape)
        schema = self._of(shape)
        return {**schema, "description": about} if about else schema

    def _of(self, shape: Any) -> dict[str, Any]:
        for scalar, schema in _SCALARS:
            if shape is scalar:
                return dict(schema)
        if _is_model(shape):
            return self._model(shape)
        if members := _enum_members(shape):
            return {"enum": [_plain(one.value, shape) for one in members]}
        if (fields := find_fields(shape)) is not None:
            return self._class(shape, fields)
        origin, args = get_origin(shape) or shape, get_args(shape)
        if origin is Literal:
            return {"enum": [_plain(one, shape) for one in args]}
        if origin in _UNIONS:
            return {"anyOf": [self.build(one) for one in args]}
        if origin in _ARRAYS:
            return self._array(shape, origin, args)
        if origin in _OBJECTS:
            key, item = args or (str, Any)
            if key is not str:
                raise UsageError(f"{name_type(shape)}: the keys of a JSON object must be texts")
            return {"type": "object", "additionalProperties": self.build(item)}
        raise UsageError(
            f"{name_type(shape)} has no JSON Schema: build it of str, int, float, bool, None, list, "
            "tuple, set, dict, Literal, Enum, unions, dataclasses, TypedDicts, NamedTuples and "
            "pydantic models"
        )

    def _array(self, shape: Any, origin: Any, args: tuple[Any, ...]) -> dict[str, Any]:
        is_generic = bool(args) or isinstance(shape, types.GenericAlias)
        if origin is tuple and is_generic and args[-1:] != (...,):
            count = {"minItems": len(args), "maxItems": len(args)}
            first = {"prefixItems": [self.build(one) for one in args]} if args else {}
            return {"type": "array", **first, **count}
        unique = {"uniqueItems": True} if origin in (set, frozenset) else {}
        return {"type": "array", "items": self.build(args[0] if args else Any), **unique}

    def _class(self, shape: type, fields: dict[str, Field]) -> dict[str, Any]:
        if shape in self._within:
            return {"$ref": f"#/$defs/{self._name(shape)}"}
        self._within.append(shape)
        properties = {name: self._field(field) for name, field in fields.items()}
        self._within.pop()
        schema = {
            "type": "object",
            "properties": properties,
            "required": [name for name, field in fields.items() if field.required],
            "additionalProperties": False,
        }
        if shape not in self._names:
            return schema
        self.shared[self._names[shape]] = schema
        return {"$ref": f"#/$defs/{self._names[shape]}"}

    def _field(self, field: Field) -> dict[str, Any]:
        schema = self.build(field.shape)
        if field.about:
            schema["description"] = field.about
        default = getattr(field.default, "value", field.default)
        if field.default is not None and isinstance(default, _PLAIN):
            schema["default"] = default
        return schema

    def _model(self, shape: Any) -> dict[str, Any]:
        prefix = f"{self._name(shape)}."
        try:
            schema: dict[str, Any] = shape.model_json_schema(
                ref_template=f"#/$defs/{prefix}{{model}}"
            )
        except RuntimeError as error:
            # The root of pydantic's own errors about a model.
            raise UsageError(f"{name_type(shape)} has no JSON Schema: {error}") from None
        _close(schema)
        own = schema.pop("$defs", {})
        self.shared |= {prefix + name: one for name, one in own.items()}
        return schema

    def _name(self, shape: type) -> str:
        """Return the name of a class under `$defs`; each class has its own."""
        if shape not in self._names:
            name = re.sub(r"\W", "_", shape.__name__, flags=re.ASCII)
            while name in self._names.values():
                name += "_"
            self._names[shape] = name
        return self._names[shape]


def _convert(shape: Any, value: Any) -> Any:
    shape, _ = _bare(shape)
    if shape is int or shape is float:
        # To JSON Schema 1.0 is an integer, and 1 is a number.
        return shape(value)
    if _is_model(shape):
        return _model(shape, value)
    if _enum_members(shape):
        return shape(value)
    if (fields := find_fields(shape)) is not None:
        parts = {name: _convert(fields[name].shape, part) for name, part in value.items()}
        return shape(**parts)
    origin, args = get_origin(shape) or shape, get_args(shape)
    if origin is Literal:
        return next(one for one in args if _same(getattr(one, "value", one), value))
    if origin in _UNIONS:
        return _convert(next(one for one in args if not faults(build_schema(one), value)), value)
    if origin in _ARRAYS:
        pairs = zip(_items(args, value), value, strict=True)
        kind = list if origin is Sequence else origin
        return kind(_convert(part, one) for part, one in pairs)
    if origin in _OBJECTS:
        item = args[1] if args else Any
        return {name: _convert(item, one) for name, one in value.items()}
    return value


def _items(args: tuple[Any, ...], value: Sequence[Any]) -> Iterable[Any]:
    """Return the type of each item of an array."""
    if len(args) > 1 and args[-1] is not ...:
        return args
    return [args[0] if args else Any] * len(value)


def _same(one: Any, other: Any) -> bool:
    """Compare as JSON does, where true is not 1."""
    return bool(one == other) and isinstance(one, bool) == isinstance(other, bool)


def _bare(shape: Any) -> tuple[Any, str]:
    """Return a type without its annotations, and the description among them."""
    about = ""
    while True:
        if get_origin(shape) is Annotated:
            about = next((one for one in shape.__metadata__ if isinstance(one, str)), about)
            shape = shape.__origin__
        elif hasattr(shape, "__supertype__"):
            shape = shape.__supertype__
        elif type(shape).__name__ == "TypeAliasType":
            shape = shape.__value__
        else:
            return shape, about


def _enum_members(shape: Any) -> list[Any]:
    # Looked up, not imported: a caller who has an Enum has imported it.
    enum = sys.modules.get("enum")
    is_enum = enum and isinstance(shape, type) and issubclass(shape, enum.Enum)
    return list(shape) if is_enum else []


def _plain(value: Any, shape: Any) -> Any:
    value = getattr(value, "value", value)
    if not isinstance(value, _PLAIN):
        raise UsageError(f"{name_type(shape)}: JSON cannot hold {value!r}")
    return value


def _is_model(shape: Any) -> bool:
    # Looked up, not imported: a caller who has a model has imported pydantic.
    pydantic = sys.modules.get("pydantic")
    return bool(pydantic and isinstance(shape, type) and issubclass(shape, pydantic.BaseModel))


def _close(schema: Any) -> None:
    """Refuse fields that the schema does not name, in an object and in its parts."""
    if not isinstance(schema, dict):
        return
    if schema.get("type") == "object" and "properties" in schema:
        schema.setdefault("additionalProperties", False)
    parts = [part for word in _PARTS for part in schema.get(word, {}).values()]
    parts += [part for word in _BRANCHES for part in schema.get(word, [])]
    for part in (*parts, *(schema.get(word) for word in _REST)):
        _close(part)


def _model(shape: Any, value: Any) -> Any:
    import json

    # As JSON: a strict model then takes a list for a set, and a text for a time.
    return shape.model_validate_json(json.dumps(value))
