"""A PostgreSQL store with a million waiting asks: pages, counts, an ask and an answer.

The store is filled with copies of one real ask and its event, all of its indexes included. The
copied events do not form a valid chain; nothing measured here verifies it.
"""

from __future__ import annotations

import os
import time
from contextlib import closing
from statistics import median, quantiles
from typing import TYPE_CHECKING

import psycopg
from bench import measured, stores
from bench.copies import ASK_ID, copy_rows, count_waiting
from bench.figures import Figure
from tests.support.postgres_server import Server

from gatebell.adapters.postgres import migrations
from gatebell.adapters.postgres.connection import Connection
from gatebell.app.wiring import open_throwaway_store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gatebell.ports.store import Store

WAITING = 1_000_000
PAGE = 51
TIMES = 100
_NOISE_SECONDS = 0.5
LIMIT_MS = 50
# Of a hundred projects, the first has a third of the asks, and the last has ten of them.
BUSY, QUIET, NONE = "/p/0", "/p/99", "/p/none"
_PROJECT = f"""
CASE WHEN n <= 10 THEN '{QUIET}' WHEN n % 3 = 0 THEN '{BUSY}' ELSE '/p/' || 1 + n % 98 END
"""
_AT = "to_char(timestamp '2026-01-01' + n * interval '1 second', 'YYYY-MM-DD\"T\"HH24:MI:SS.US+00:00')"
_CHANGED = {
    "asks": {
        "id": ASK_ID,
        "project": _PROJECT,
        "priority": "n % 5",
        "opened_at": _AT,
        "session": "'claude/' || n",
        "activity": "repeat(md5(n::text), 47)",
    },
    "events": {"subject": ASK_ID, "seq": "1000 + n"},
}


def measure() -> Iterator[Figure]:
    server = Server(settings=("shared_buffers=512MB", "max_wal_size=8GB"))
    try:
        dsn = _prepare(server.dsn("postgres"))
        began = time.monotonic()
        with closing(open_throwaway_store(dsn)) as store:
            _fill(dsn, store)
            took = time.monotonic() - began
            size = f"{_read_size(dsn) / 1e9:.1f} GB, PostgreSQL {_read_version(dsn)}"
            yield Figure(f"filling a store with {WAITING:,} waiting asks", took, "s", None, size)
            yield from _measure_verbs(store)
    finally:
        server.stop()


def _prepare(dsn: str) -> str:
    connection = Connection(dsn)
    migrations.migrate(connection)
    connection.close()
    return dsn


def _fill(dsn: str, store: Store) -> None:
    stores.ask(store)
    store.audit.seal()
    with psycopg.connect(dsn, autocommit=True) as raw:
        for table, changed in _CHANGED.items():
            copy_rows(raw, table, WAITING, changed, f"ctid = (SELECT min(ctid) FROM {table})")
        count_waiting(raw)
        # As in use, where it runs by itself: else it runs during the measurement.
        raw.execute("VACUUM (ANALYZE)")
        raw.execute("CHECKPOINT")


def _measure_verbs(store: Store) -> Iterator[Figure]:
    asks = store.asks
    ids = iter([ask.id for ask in asks.pending(TIMES, BUSY)] + [ask.id for ask in asks.pending(9)])
    verbs: dict[str, Callable[[], object]] = {
        f"first page of the inbox ({PAGE})": lambda: asks.pending(PAGE),
        "first page of a busy project": lambda: asks.pending(PAGE, BUSY),
        "first page of a quiet project": lambda: asks.pending(PAGE, QUIET),
        "first page of a project without asks": lambda: asks.pending(PAGE, NONE),
        "counts of all projects": asks.waiting_counts,
        "one ask": lambda: stores.ask(store),
        "one answer": lambda: stores.answer(store, next(ids)),
        "asks that are due": lambda: asks.due(store.now(), 100),
    }
    for name, verb in verbs.items():
        verb()
        with measured.noise() as late:
            taken = [_time(verb) for _ in range(TIMES)]
            # A verb may be over before the first sleep.
            time.sleep(_NOISE_SECONDS)
        p99 = quantiles(taken, n=100)[98]
        detail = (
            f"median of {TIMES}; fastest {min(taken):.1f} ms, p99 {p99:.1f} ms; a sleeping process "
            f"woke {measured.find_p99(late):.1f} ms late (p99)"
        )
        yield Figure(f"{name}, {WAITING:,} waiting", median(taken), "ms", LIMIT_MS, detail)


def _time(verb: Callable[[], object]) -> float:
    began = time.perf_counter()
    verb()
    return (time.perf_counter() - began) * 1000


def _read_size(dsn: str) -> int:
    with psycopg.connect(dsn) as raw:
        [(size,)] = raw.execute("SELECT pg_database_size(current_database())").fetchall()
    return int(size)


def _read_version(dsn: str) -> str:
    with psycopg.connect(dsn) as raw:
        return os.fsdecode(raw.execute("SHOW server_version").fetchall()[0][0])
