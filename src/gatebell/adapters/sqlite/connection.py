"""One SQLite connection: its settings, transactions, waiting and errors."""

from __future__ import annotations

import itertools
import os
import time
from _thread import RLock
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import apsw

from gatebell.adapters.sqlite.bell import ring
from gatebell.adapters.tables.statements import ConstraintError
from gatebell.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from gatebell.adapters.sqlite.audit import SqliteAudit
    from gatebell.ports.clock import Clock

_PATIENCE_SECONDS = 30.0
# Before this version, two connections that wrote and checkpointed at once lost pages.
_SAFE_SQLITE = (3, 51, 3)


class Connection:
    """A connection that waits for other writers, and has plain error messages.

    Without a path the database is in memory.
    """

    folder = os.path.dirname(__file__)

    def __init__(self, path: str) -> None:
        self.path = path
        self.lock = RLock()
        self._waiting_since = 0.0
        self.schema = ""
        """The file with the newest schema."""
        try:
            self.raw = self._open()
        except apsw.Error as error:
            raise self.problem(error) from error

    def _open(self) -> apsw.Connection:
        # SQLite gives its side files the mode of the main file, so that must be private first. Only
        # for a new file: closing any descriptor of a file drops this process's locks on it.
        if self.path and not os.path.exists(self.path):
            with suppress(FileExistsError):
                flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
                os.close(os.open(self.path, flags, 0o600))
        raw = apsw.Connection(self.path or ":memory:")
        raw.set_busy_handler(self._be_patient)
        # FULL: an answer is acknowledged only once it would survive a power cut.
        raw.execute(
            "PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA secure_delete = ON;"
        )
        return raw

    def _be_patient(self, tries: int) -> bool:
        """Wait a random moment: with SQLite's own handler some writers starve."""
        now = time.monotonic()
        if tries == 0:
            self._waiting_since = now
        time.sleep((1 + os.urandom(1)[0] % 12) / 1000)
        return now - self._waiting_since < _PATIENCE_SECONDS

    def rows(self, sql: str, parameters: Sequence[Any] | Mapping[str, Any] = ()) -> list[Any]:
        try:
            # A connection sees the open transactions of other threads: wait for their end.
            with self.lock:
                return self.raw.execute(sql, parameters).fetchall()
        except apsw.Error as error:
            raise self.problem(error) from error

    def write(self, sql: str, parameters: Mapping[str, Any] | None = None) -> int:
        """Run one statement of an open transaction; return the number of changed rows."""
        try:
            self.raw.execute(sql, parameters)
        except apsw.ConstraintError as error:
            raise ConstraintError(str(error)) from error
        return self.raw.changes()

    def checkpoint(self) -> None:
        """Empty the log, so that erased values are gone from it, too; if it is in use, later."""
        # The transaction before it is committed, so errors here are ignored. It does not
        # wait either: the last connection to close also empties the log.
        with self.lock, suppress(apsw.Error):
            self.raw.set_busy_handler(None)
            self.raw.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        self.raw.set_busy_handler(self._be_patient)

    def prepare(self, schema: str, migrations: list[str]) -> None:
        """Bring the file to the newest schema; several processes may try at once."""
        self.schema = schema
        try:
            version = self._version()
            if version == 0 and self.raw.execute("SELECT count(*) FROM sqlite_schema").get:
                version = self._version()
                if version == 0:
                    raise apsw.NotADBError
            if version < len(migrations):
                self._write_ahead()
                self._migrate(migrations)
        except apsw.Error as error:
            raise self.problem(error) from error
        if version > len(migrations):
            raise StoreError(
                f"the store {self.path} was written by a newer gatebell: upgrade this one"
            )

    def _write_ahead(self) -> None:
        """Switch to WAL mode. SQLite calls no busy handler here, so wait in our own loop."""
        for tries in itertools.count():
            try:
                self.raw.execute("PRAGMA journal_mode = WAL").fetchall()
                return
            except apsw.BusyError:
                if not self._be_patient(tries):
                    raise

    def _version(self) -> int:
        version = self.raw.execute("PRAGMA user_version").get
        assert isinstance(version, int)
        return version

    def _migrate(self, migrations: list[str]) -> None:
        with Transaction(self):
            version = self._version()
            # A new store gets its schema at once: each rename in a migration parses it all again.
            for path in migrations[version:] if version else [self.schema]:
                with open(path, encoding="utf-8") as file:
                    self.raw.execute(file.read())
            self.raw.execute(f"PRAGMA user_version = {len(migrations)}")

    def problems(self) -> list[str]:
        """Return the problems that a thorough check of the file and the library finds."""
        found = [f"the store is damaged: {row[0]}" for row in self.rows("PRAGMA integrity_check")]
        found = [problem for problem in found if not problem.endswith(": ok")]
        if tuple(map(int, apsw.sqlite_lib_version().split("."))) < _SAFE_SQLITE:
            found.append(f"SQLite {apsw.sqlite_lib_version()} can lose writes: upgrade apsw")
        if self.path and self.rows("PRAGMA journal_mode")[0][0] != "wal":
            found.append("the store is not in WAL mode: is it on a file system without locks?")
        return found

    def close(self) -> None:
        self.raw.close()

    def problem(self, error: Exception) -> StoreError:
        """Return an error with the problem, the state of the store, and the next step."""
        if isinstance(error, apsw.FullError):
            what = "the disk is full: free some space, then try again"
        elif isinstance(error, (apsw.BusyError, apsw.LockedError)):
            what = f"it was busy for {_PATIENCE_SECONDS:.0f} seconds: try again"
        elif isinstance(error, (apsw.ReadOnlyError, apsw.PermissionsError, apsw.CantOpenError)):
            what = (
                "it cannot be written from here. Try it outside of the agent's sandbox, "
                "or use another store: GATE_STORE=PATH"
            )
        elif isinstance(error, (apsw.CorruptError, apsw.NotADBError)):
            what = (
                "it is damaged, or not a gatebell store: restore a copy, "
                "or use another store: GATE_STORE=PATH"
            )
        else:
            what = str(error)
        return StoreError(
            f"the store {self.path} has a problem: {what}. "
            "Nothing was confirmed; check the records with gate show."
        )


class Transaction:
    """Begins at once, commits and syncs at the end, and undoes everything on any error."""

    def __init__(
        self,
        connection: Connection,
        clock: Clock | None = None,
        bell_path: str = "",
        committed: Callable[[], None] | None = None,
        events: SqliteAudit | None = None,
    ) -> None:
        self._db = connection
        self._clock = clock
        self._events = events
        self._at = ""
        self._bell_path = bell_path
        self._committed = committed

    def __enter__(self) -> str:
        self._db.lock.acquire()
        try:
            if self._events:
                # Before the transaction: a rollback must not remove the objects that this creates.
                self._events.begin()
            self._db.raw.execute("BEGIN IMMEDIATE")
            # Only now: while it waited, other processes may have written later times.
            if self._clock:
                self._at = self._clock.now().isoformat(timespec="microseconds")
            return self._at
        except BaseException as error:
            self._undo()
            if isinstance(error, apsw.Error):
                raise self._db.problem(error) from error
            raise

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        try:
            if error is None:
                if self._events:
                    self._events.finish(self._at)
                self._db.raw.execute("COMMIT")
        except apsw.Error as failed:
            raise self._db.problem(failed) from failed
        finally:
            self._undo()
        if isinstance(error, apsw.Error):
            raise self._db.problem(error) from error
        if error is None and self._bell_path:
            ring(self._bell_path)
        if error is None and self._committed:
            self._committed()

    def _undo(self) -> None:
        """Roll back an open transaction, and release the lock."""
        with suppress(apsw.Error):
            if self._db.raw.in_transaction:
                self._db.raw.execute("ROLLBACK")
        self._db.lock.release()


class Snapshot:
    """While it is open, this connection sees no later writes of others."""

    def __init__(self, connection: Connection) -> None:
        self._db = connection

    def __enter__(self) -> None:
        self._db.lock.acquire()
        try:
            self._db.raw.execute("BEGIN")
        except BaseException:
            self._db.lock.release()
            raise

    def __exit__(self, *_: object) -> None:
        try:
            self._db.raw.execute("ROLLBACK")
        finally:
            self._db.lock.release()
