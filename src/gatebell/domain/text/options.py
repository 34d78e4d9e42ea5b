"""Keywords of the Python API: an unknown one is refused with the nearest known one."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING

from gatebell.domain.text.suggestions import suggest
from gatebell.errors import UnknownOptionError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any, TypeVar

    _C = TypeVar("_C", bound=type)

# Words that people try, from other libraries and from the command line; the first known one counts.
_TIMES = ("timeout", "human_timeout", "session_timeout")
_MEANT = {
    **dict.fromkeys(
        ("timeout", "deadline", "expires", "expires_in", "expires_seconds", "seconds", "wait"),
        _TIMES,
    ),
    **dict.fromkeys(("session_seconds", "stay", "duration"), ("session_timeout", "timeout")),
    **dict.fromkeys(("remind", "remind_every_seconds", "reminder"), ("remind_every",)),
    **dict.fromkeys(
        ("kind", "outcome", "outcome_schema", "output", "schema", "type"), ("returns", "type")
    ),
    **dict.fromkeys(("choices", "values"), ("options",)),
    **dict.fromkeys(("handler", "human"), ("human_input", "human")),
    **dict.fromkeys(("resume", "session", "session_id"), ("resume_session", "session_id")),
    "id": ("ask_id", "run_id"),
    "going_on": ("activity",),
    "message": ("prompt",),
    "question": ("prompt",),
    "require": ("requirement",),
}


def refuse_unknown(call: str, given: Iterable[str], known: Iterable[str]) -> None:
    """Refuse keywords that a call does not take.

    Args:
        call: the name of the call, for the error
        given: the keywords that were given
        known: the keywords that it takes

    Raises:
        UnknownOptionError: One of them is not known.
    """
    names = list(known)
    unknown = [name for name in given if name not in names]
    if unknown:
        near = suggest_option(unknown[0], names) or f"; it takes {', '.join(names)}"
        raise UnknownOptionError(f"{call} does not take {unknown[0]!r}{near}")


def suggest_option(name: str, known: Iterable[str]) -> str:
    """Return the end of an error, `; did you mean 'timeout'?`, or nothing."""
    names = list(known)
    snake = "".join(f"_{one.lower()}" if one.isupper() else one for one in name).strip("_")
    meant = [word for word in (snake, *_MEANT.get(snake, ())) if word in names]
    if meant:
        return f"; did you mean '{meant[0]}'?"
    near = suggest(snake, names)
    # `more` of a HumanInput takes the options of an ask.
    return f"; did you mean more={{{snake!r}: …}}?" if not near and "more" in names else near


def suggest_fields(cls: _C) -> _C:
    """Let a NamedTuple suggest fields when it is made."""
    fields: tuple[str, ...] = cls._fields  # type: ignore[attr-defined]
    make = cls.__new__

    @wraps(make)
    def make_it(_cls: Any, *args: Any, **named: Any) -> Any:
        refuse_unknown(cls.__name__, named, fields)
        return make(_cls, *args, **named)

    # A function that is set later than the class body is not made static by itself.
    cls.__new__ = staticmethod(make_it)  # type: ignore[method-assign,assignment]
    return cls
