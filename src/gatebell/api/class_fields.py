"""The named parts of dataclasses, TypedDicts and NamedTuples."""

from __future__ import annotations

from typing import Any, NamedTuple, NotRequired, Required, get_args, get_origin, get_type_hints

from gatebell.errors import UsageError


class Field(NamedTuple):
    """One named part of a class."""

    shape: Any
    required: bool
    default: Any = None
    about: str = ""


def find_fields(shape: Any) -> dict[str, Field] | None:
    """Return the fields of a dataclass, TypedDict or NamedTuple; None for other types."""
    if not isinstance(shape, type):
        return None
    if hasattr(shape, "__dataclass_fields__"):
        return _dataclass_fields(shape)
    if issubclass(shape, dict) and hasattr(shape, "__required_keys__"):
        return _typed_dict_fields(shape)
    if issubclass(shape, tuple) and hasattr(shape, "_field_defaults"):
        defaults = shape._field_defaults
        hints = _hints(shape)
        return {
            name: Field(hints.get(name, Any), name not in defaults, defaults.get(name))
            for name in shape._fields  # type: ignore[attr-defined]  # every NamedTuple has them
        }
    return None


def _dataclass_fields(shape: type) -> dict[str, Field]:
    import dataclasses

    hints = _hints(shape)
    # Dataclasses do not list it as a field, but a caller must still give it.
    if any(isinstance(hint, dataclasses.InitVar) for hint in hints.values()):
        raise UsageError(
            f"{name_type(shape)} has an InitVar, and a form cannot fill it in: use a field"
        )
    found = {}
    for field in dataclasses.fields(shape):
        if field.init:
            known = field.default is not dataclasses.MISSING
            required = not known and field.default_factory is dataclasses.MISSING
            default = field.default if known else None
            about = str(field.metadata.get("description", ""))
            found[field.name] = Field(hints[field.name], required, default, about)
    return found


def _typed_dict_fields(shape: Any) -> dict[str, Field]:
    found = {}
    for name, hint in _hints(shape).items():
        # Python does not see Required and NotRequired in annotations that are texts.
        mark = get_origin(hint)
        if mark is Required or mark is NotRequired:
            found[name] = Field(get_args(hint)[0], mark is Required)
        else:
            found[name] = Field(hint, name in shape.__required_keys__)
    return found


def _hints(shape: type) -> dict[str, Any]:
    try:
        return get_type_hints(shape, include_extras=True)
    except NameError as error:
        raise UsageError(
            f"the types of {name_type(shape)} cannot be read ({error}): define them where its module "
            "can see them, at the top"
        ) from None


def name_type(shape: Any) -> str:
    return shape.__name__ if isinstance(shape, type) else str(shape)
