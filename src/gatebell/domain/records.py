"""A NamedTuple that is cheaper to define than that of `typing`.

Type checkers see the class of the standard library. At run time a small class replaces it. It
keeps annotations as texts, where `typing` compiles each of them. Modules that hot commands load
use this class. `tests/domain/test_records.py` checks that both behave the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing import NamedTuple as NamedTuple  # noqa: PLC0414  exported
else:
    from collections import namedtuple

    _OWN = frozenset(["__module__", "__qualname__", "__annotations__"])

    class _Record(type):
        """Make a named tuple of each class that has the `NamedTuple` below as its base."""

        def __new__(cls, name: str, bases: tuple[type, ...], body: dict[str, Any]) -> type:
            if not bases:
                return super().__new__(cls, name, bases, body)
            fields = body.get("__annotations__", {})
            defaults = [body[field] for field in fields if field in body]
            late = [field for field in list(fields)[-len(defaults) :] if field not in body]
            if defaults and late:
                raise TypeError(f"{name}: {late[0]} has no default, but a field before it has one")
            made = namedtuple(name, fields, defaults=defaults, module=body["__module__"])  # noqa: PYI024  this class replaces the one of typing
            made.__annotations__ = made.__new__.__annotations__ = fields
            made.__qualname__ = body["__qualname__"]
            for key, value in body.items():
                if key not in fields and key not in _OWN:
                    setattr(made, key, value)
            return made

    class NamedTuple(metaclass=_Record):
        """A tuple with named items."""
