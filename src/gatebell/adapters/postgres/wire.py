"""One connection to PostgreSQL: parameters by name or number, and a deadline for each statement."""

from __future__ import annotations

import re
import select
import time
from functools import cache
from typing import TYPE_CHECKING, Any

import psycopg
from psycopg import RawCursor

from gatebell.domain.text.display import storable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_DEADLINE_SECONDS = 8.0
"""A stalled network gives no error: without an answer for this long, the connection is given up."""
_LOCK_SECONDS = 5
"""The server reports earlier than that why a statement waits."""
_IDLE_SECONDS = 10
"""The server ends a transaction whose client is silent for this long: its host may have vanished,
and the locks of its rows would stay for hours."""
# A peer that vanished is noticed while the connection is idle, too.
LASTING: dict[str, Any] = {
    "connect_timeout": 5,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
}
# Psycopg's generators ask for 1 (to read), 2 (to write) or 3 (both), and are told the same.
_POLLED = {1: select.POLLIN, 2: select.POLLOUT, 3: select.POLLIN | select.POLLOUT}
_READY = {polled: number for number, polled in _POLLED.items()}
_PARTS = re.compile(r"--[^\n]*|'[^']*'|\"[^\"]*\"|:(\w+)|\?(\d*)")


class DeadlineError(psycopg.OperationalError):
    """The server did not answer in time."""


class AddressError(psycopg.Error):
    """The address of the store is not one."""


class Wire(psycopg.Connection[Any]):
    """A connection whose every wait has an end."""

    limit = _DEADLINE_SECONDS

    def wait(self, gen: Any, interval: float = 0, timeout: float | None = None) -> Any:
        end = time.monotonic() + self.limit
        poll = select.poll()
        poll.register(self.pgconn.socket, 0)
        try:
            wanted = next(gen)
            while True:
                poll.modify(self.pgconn.socket, _POLLED[wanted])
                left = end - time.monotonic()
                found = poll.poll(left * 1000) if left > 0 else []
                if not found:
                    self.pgconn.finish()
                    raise DeadlineError(f"the server did not answer for {self.limit:g} seconds")
                seen = found[0][1] & _POLLED[3]
                # After a hang-up, the generator reads and reports it.
                wanted = gen.send(_READY[seen] if seen else wanted)
        except StopIteration as done:
            return done.value


def connect(dsn: str) -> Wire:
    """Connect. Statements are committed one by one unless a transaction is begun."""
    try:
        wire = Wire.connect(
            dsn,
            autocommit=True,
            cursor_factory=RawCursor,
            application_name="gatebell",
            options=f"-c lock_timeout={_LOCK_SECONDS}s -c timezone=UTC "
            f"-c idle_in_transaction_session_timeout={_IDLE_SECONDS}s "
            "-c client_min_messages=warning",
            **LASTING,
        )
    except psycopg.ProgrammingError:
        # Without its text, which repeats the address with the password.
        raise AddressError("the address of the store cannot be read: check it") from None
    wire.prepare_threshold = 2
    return wire


def run(
    wire: Wire, sql: str, parameters: Sequence[Any] | Mapping[str, Any] | None
) -> psycopg.Cursor[Any]:
    """Run a statement with parameters such as `:id`, `?` or `?2`."""
    text, names = number_parameters(sql)
    if not parameters:
        given: Sequence[Any] = ()
    elif names:
        assert not isinstance(parameters, (list, tuple))
        given = [parameters[name] for name in names]  # type: ignore[call-overload]  # a mapping
    else:
        given = tuple(parameters)
    return wire.execute(text, [_to_plain(value) for value in given])


@cache
def number_parameters(sql: str) -> tuple[str, tuple[str, ...]]:
    """Return the statement with the server's numbered parameters, and their names in that order."""
    names: list[str] = []
    marks = 0

    def number(found: re.Match[str]) -> str:
        nonlocal marks
        name, place = found.groups()
        if name:
            if name not in names:
                names.append(name)
            return f"${names.index(name) + 1}"
        if place is None:
            return "" if found[0].startswith("--") else found[0]
        marks += 1
        return f"${place or marks}"

    return _PARTS.sub(number, sql), tuple(names)


def _to_plain(value: Any) -> Any:
    """Return a value of the types that the columns have: SQLite makes them plain by itself."""
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, str):
        return storable(str.__str__(value))
    if isinstance(value, int):
        return int(value)
    return value
