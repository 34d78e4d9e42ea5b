"""Calls of async classes: a result that was not awaited is an error, never a silent yes."""

from __future__ import annotations

import inspect
from collections.abc import Coroutine
from functools import wraps
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

_C = TypeVar("_C", bound=type)
_T = TypeVar("_T")


class Unawaited(Coroutine[Any, Any, _T]):
    """A call that waits to be awaited. Every coroutine of Python is true, but this one refuses.

    `await`, `asyncio.gather`, `create_task` and `wait_for` take it like any coroutine.
    """

    def __init__(self, work: Coroutine[Any, Any, _T], written: str) -> None:
        self._work, self._written = work, written

    def __await__(self) -> Generator[Any, Any, _T]:
        return self._work.__await__()

    def send(self, value: Any, /) -> Any:
        """Continue the call; event loops use this."""
        return self._work.send(value)

    def throw(self, *error: Any) -> Any:
        """Raise an error in the call; event loops use this."""
        return self._work.throw(*error)

    def close(self) -> None:
        """End the call."""
        self._work.close()

    def _refuse(self, *_: object) -> NoReturn:
        # Closed: Python's own warning about it would come on top of this error.
        self._work.close()
        raise TypeError(f"{self._written} has no result yet: write: await {self._written}")

    __bool__ = __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _refuse
    __contains__ = __iter__ = __len__ = __getitem__ = __int__ = __float__ = _refuse
    __hash__ = object.__hash__

    def __getattr__(self, name: str) -> NoReturn:
        # Event loops look for names of their own, so the call must stay usable here.
        raise AttributeError(
            f"{self._written} has no {name!r} yet: write: (await {self._written}).{name}"
        )

    def __repr__(self) -> str:
        return f"<{self._written}, not awaited>"


def refuse_unawaited(receiver: str) -> Callable[[_C], _C]:
    """Let the async methods of a class return an `Unawaited`; type checkers see no change.

    Args:
        receiver: the word for an object of the class in errors, such as `gate`
    """

    def decorate(cls: _C) -> _C:
        for name, work in list(vars(cls).items()):
            if not name.startswith("_") and inspect.iscoroutinefunction(work):
                setattr(cls, name, _wrap(work, f"{receiver}.{name}(…)"))
        return cls

    return decorate


def _wrap(work: Callable[..., Coroutine[Any, Any, Any]], written: str) -> Any:
    @wraps(work)
    def call_it(*args: Any, **named: Any) -> Unawaited[Any]:
        return Unawaited(work(*args, **named), written)

    # Python 3.11 has no such mark: there, `inspect` takes it for a plain function.
    mark = getattr(inspect, "markcoroutinefunction", lambda one: one)
    return cast("Any", mark(call_it))
