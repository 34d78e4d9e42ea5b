"""A few connections to one PostgreSQL database, for the threads of a process."""

from __future__ import annotations

import os
import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import psycopg
from psycopg import errors

from gatebell.adapters.postgres import wire
from gatebell.adapters.postgres.names import name_store
from gatebell.adapters.tables.statements import ConstraintError
from gatebell.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from gatebell.adapters.postgres.audit import PostgresAudit
    from gatebell.adapters.postgres.wire import Wire
    from gatebell.ports.clock import Clock

_MAX_CONNECTIONS = 10
_PATIENCE_SECONDS = 30.0


class _Thread(threading.local):
    """The transaction that this thread has open."""

    wire: Wire | None = None


class Connection:
    """Statements of a transaction share a connection; others take any that is free."""

    folder = os.path.dirname(__file__)

    def __init__(self, dsn: str) -> None:
        self.dsn = dsn
        self.name = name_store(dsn)
        self._idle: list[Wire] = []
        self._free = threading.BoundedSemaphore(_MAX_CONNECTIONS)
        self._mine = _Thread()
        self._is_closed = False

    @property
    def in_transaction(self) -> bool:
        return self._mine.wire is not None

    def rows(self, sql: str, parameters: Sequence[Any] | Mapping[str, Any] = ()) -> list[Any]:
        try:
            if self._mine.wire:
                return wire.run(self._mine.wire, sql, parameters).fetchall()
            return self._read_alone(sql, parameters)
        except psycopg.Error as error:
            raise self.problem(error) from error

    def _read_alone(self, sql: str, parameters: Sequence[Any] | Mapping[str, Any]) -> list[Any]:
        try:
            with self.lend() as lent:
                return wire.run(lent, sql, parameters).fetchall()
        except wire.DeadlineError:
            raise
        except psycopg.OperationalError:
            # The server may have closed the connection while it was idle; a new one tells.
            with self.lend(is_new=True) as lent:
                return wire.run(lent, sql, parameters).fetchall()

    def write(self, sql: str, parameters: Mapping[str, Any] | None = None) -> int:
        """Run one statement of an open transaction; return the number of changed rows."""
        assert self._mine.wire, "a write needs a transaction"
        try:
            return wire.run(self._mine.wire, sql, parameters).rowcount
        except psycopg.IntegrityError as error:
            raise ConstraintError(str(error)) from error

    @contextmanager
    def lend(self, *, is_new: bool = False) -> Iterator[Wire]:
        """Lend a connection; one that broke is not kept."""
        if not self._free.acquire(timeout=_PATIENCE_SECONDS):
            raise self.problem(TimeoutError("all its connections are in use: try again"))
        lent = None
        try:
            if is_new:
                self._drop_idle()
            lent = self._take_idle() or wire.connect(self.dsn)
            yield lent
        finally:
            if lent is not None:
                if lent.closed or lent.pgconn.transaction_status:
                    lent.close()
                else:
                    self._idle.append(lent)
                if self._is_closed:
                    # The store may be closed by another thread, or by the garbage collector here.
                    self._drop_idle()
            self._free.release()

    def _take_idle(self) -> Wire | None:
        try:
            return self._idle.pop()
        except IndexError:
            return None

    def _drop_idle(self) -> None:
        while idle := self._take_idle():
            idle.close()

    @contextmanager
    def hold(self, begin: str) -> Iterator[Wire]:
        """Begin a transaction of this thread; undo it at the end unless it was committed.

        Raises:
            StoreError: PostgreSQL failed.
        """
        try:
            with self._begin(begin) as held:
                self._mine.wire = held
                try:
                    yield held
                finally:
                    self._mine.wire = None
                    with suppress(psycopg.Error):
                        if held.pgconn.transaction_status and not held.closed:
                            held.execute("ROLLBACK")
        except psycopg.Error as error:
            raise self.problem(error) from error

    @contextmanager
    def _begin(self, begin: str) -> Iterator[Wire]:
        """Begin on a connection that lives: an idle one may have been closed by the server."""
        with self.lend() as lent:
            try:
                lent.execute(begin, prepare=False)
            except wire.DeadlineError:
                raise
            except psycopg.OperationalError:
                lent.close()
            else:
                yield lent
                return
        with self.lend(is_new=True) as lent:
            lent.execute(begin, prepare=False)
            yield lent

    def close(self) -> None:
        self._is_closed = True
        self._drop_idle()

    def problem(self, error: Exception) -> StoreError:
        """Return an error with the problem, the state of the store, and the next step."""
        return StoreError(
            f"the store {self.name} has a problem: {_explain(error)}. "
            "Nothing was confirmed; check the records with gate show."
        )

    def doubt(self, error: Exception) -> StoreError:
        """Return the error of a commit that the server may or may not have finished."""
        return StoreError(
            f"the store {self.name} was lost during a commit ({_explain(error)}): it is not known "
            "whether the change was recorded. Look at the record with gate show before you try again."
        )


def _explain(error: Exception) -> str:
    # Never the text of a connection error as it is: it may repeat parts of the DSN.
    if isinstance(error, (errors.LockNotAvailable, errors.DeadlockDetected)):
        return "other transactions hold its rows: try again"
    if isinstance(error, errors.DiskFull):
        return "the disk of the server is full: free some space, then try again"
    if isinstance(error, errors.ReadOnlySqlTransaction):
        return "the server is read-only: is it a standby?"
    if isinstance(error, errors.InsufficientPrivilege):
        return "its user may not do that: grant it the rights on the tables of the store"
    if isinstance(error, errors.InvalidPassword):
        return "the server refused the user or the password"
    if isinstance(error, wire.DeadlineError):
        return f"{error}: is the network stalled?"
    if isinstance(error, psycopg.OperationalError):
        return (
            "the server cannot be reached, or it refuses the login: check that it runs, and the "
            "address of the store"
        )
    return str(error).partition("\n")[0]


class Transaction:
    """Commits at the end, and undoes everything on any error; its value is its time."""

    def __init__(
        self,
        connection: Connection,
        clock: Clock,
        audit: PostgresAudit,
        committed: Callable[[], None],
    ) -> None:
        self._db = connection
        self._clock = clock
        self._audit = audit
        self._committed = committed
        self._at = ""

    def __enter__(self) -> str:
        self._held = self._db.hold("BEGIN")
        self._wire = self._held.__enter__()
        try:
            self._audit.begin()
            self._at = self._clock.now().isoformat(timespec="microseconds")
        except BaseException:
            self._held.__exit__(None, None, None)
            raise
        return self._at

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        try:
            if error is None:
                self._finish()
        finally:
            self._held.__exit__(None, None, None)
        if isinstance(error, psycopg.Error):
            raise self._db.problem(error) from error
        if error is None:
            self._committed()

    def _finish(self) -> None:
        try:
            self._audit.finish(self._at)
        except psycopg.Error as failed:
            raise self._db.problem(failed) from failed
        self.commit()

    def commit(self) -> None:
        try:
            self._wire.execute("COMMIT", prepare=False)
        except psycopg.OperationalError as failed:
            if self._wire.closed:
                raise self._db.doubt(failed) from failed
            raise self._db.problem(failed) from failed
        except psycopg.Error as failed:
            raise self._db.problem(failed) from failed


# It locks no row, and a check of a long trail may think for long between two statements.
_BEGIN_SNAPSHOT = (
    "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; "
    "SET LOCAL idle_in_transaction_session_timeout = 0"
)


class Snapshot:
    """While it is open, this thread sees no later writes of others."""

    def __init__(self, connection: Connection) -> None:
        self._db = connection

    def __enter__(self) -> None:
        self._held = self._db.hold(_BEGIN_SNAPSHOT)
        self._held.__enter__()

    def __exit__(self, *_: object) -> None:
        self._held.__exit__(None, None, None)
