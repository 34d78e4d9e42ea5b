"""Better errors for keywords that a public function does not take."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar, cast

from gatebell.domain.text.options import refuse_unknown

if TYPE_CHECKING:
    from collections.abc import Callable

    _F = TypeVar("_F", bound=Callable[..., Any])
    _C = TypeVar("_C", bound=type)

_TAKES_ANY_KEYWORD, _IS_COROUTINE = 0x08, 0x80


def suggest_keywords(work: _F, name: str = "") -> _F:
    """Return the function with better errors for keywords that it does not take."""
    # Any: the result is called like the function, and type checkers see the function itself.
    code: Any = getattr(work, "__code__", None)
    taken = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    known = frozenset(taken)
    shown = [one for one in taken if one != "self"]
    call = name or work.__name__

    def check(named: dict[str, Any]) -> None:
        if named and not named.keys() <= known:
            refuse_unknown(call, named, shown)

    if code.co_flags & _IS_COROUTINE:

        @wraps(work)
        async def await_it(*args: Any, **named: Any) -> Any:
            check(named)
            return await work(*args, **named)

        return cast("_F", await_it)

    @wraps(work)
    def call_it(*args: Any, **named: Any) -> Any:
        check(named)
        return work(*args, **named)

    return cast("_F", call_it)


def suggest_options(cls: _C) -> _C:
    """Let the methods of a class suggest keywords, those left out that take any keyword."""
    for name, work in list(vars(cls).items()):
        code = getattr(work, "__code__", None)
        is_public = not name.startswith("_") or name == "__init__"
        if code and is_public and not code.co_flags & _TAKES_ANY_KEYWORD:
            setattr(cls, name, suggest_keywords(work, cls.__name__ if name == "__init__" else name))
    return cls
