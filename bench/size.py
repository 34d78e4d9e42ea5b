"""Compare a store that has had a million asks with one that has had a thousand.

The large store is filled with copies of one real ask, answer and set of events, all of its
indexes included. The copied events do not form a valid chain; nothing measured here verifies it.
"""

from __future__ import annotations

import os
import time
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

import apsw
from bench import stores
from bench.figures import Figure

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gatebell.adapters.sqlite.store import SqliteStore

SETTLED = 1_000_000
PENDING = 100_000
FEW_PENDING = 1_000
PAGE = 51
READINGS = 300
ANSWERS = 300
LIMIT = 1.3

# An odd factor permutes the numbers below 2³²: ids as unique and as scattered as random ones.
_ID = "printf('a-%08x', (n * 2654435761) & 4294967295)"
_AT = "strftime('%Y-%m-%dT%H:%M:%f000+00:00', '2026-01-01', n || ' seconds')"
_KEYS = {"asks": "id", "answers": "ask_id", "events": "subject", "outbox": "ask_id"}
_NUMBERS = "WITH RECURSIVE numbers (n) AS (SELECT ?1 UNION ALL SELECT n + 1 FROM numbers LIMIT ?2)"


class Cost(NamedTuple):
    """One run: seconds of processor time and of the wall clock."""

    cpu: float
    wall: float


def measure() -> Iterator[Figure]:
    with stores.folder() as folder:
        began = time.monotonic()
        large = _fill_store(os.path.join(folder, "large.db"), SETTLED, PENDING)
        took = time.monotonic() - began
        small = _fill_store(os.path.join(folder, "small.db"), 0, FEW_PENDING)
        gigabytes = os.path.getsize(os.path.join(folder, "large.db")) / 1e9
        detail = f"{SETTLED + PENDING:,} asks, {gigabytes:.1f} GB"
        yield Figure("filling the large store", took, "s", None, detail)
        yield from _compare("first inbox page", large, small, READINGS, _read_page)
        yield from _compare("answer", large, small, ANSWERS, _answers())
        large.close()
        small.close()


def _compare(
    what: str,
    large: SqliteStore,
    small: SqliteStore,
    times: int,
    work: Callable[[SqliteStore], Cost],
) -> Iterator[Figure]:
    pairs = [(work(large), work(small)) for _ in range(times)]
    for clock, values in (("processor", 0), ("wall clock", 1)):
        in_large = [pair[0][values] * 1e6 for pair in pairs]
        in_small = [pair[1][values] * 1e6 for pair in pairs]
        detail = (
            f"{min(in_large):.0f} µs against {min(in_small):.0f} µs; "
            f"medians {median(in_large):.0f} and {median(in_small):.0f}"
        )
        ratio = min(in_large) / min(in_small)
        yield Figure(f"{what}, large against small store ({clock})", ratio, "×", LIMIT, detail)


def _time_work(work: Callable[[], object]) -> Cost:
    cpu, wall = time.process_time(), time.perf_counter()
    work()
    return Cost(time.process_time() - cpu, time.perf_counter() - wall)


def _read_page(store: SqliteStore) -> Cost:
    return _time_work(lambda: store.asks.pending(PAGE))


def _answers() -> Callable[[SqliteStore], Cost]:
    """Answer a pending ask from anywhere in the list, another one each time."""
    left: dict[SqliteStore, list[str]] = {}

    def answer(store: SqliteStore) -> Cost:
        if store not in left:
            every = [ask.id for ask in store.asks.pending(PENDING)]
            left[store] = every[:: len(every) // ANSWERS]
        ask_id = left[store].pop()
        return _time_work(lambda: stores.answer(store, ask_id))

    return answer


def _fill_store(path: str, settled: int, pending: int) -> SqliteStore:
    store = stores.open_store(path)
    answered, waiting = stores.ask(store), stores.ask(store)
    stores.answer(store, answered)
    store.close()
    database = apsw.Connection(path)
    # A crash here may lose data: no figure depends on it.
    for setting in ("journal_mode = OFF", "synchronous = OFF", "cache_size = -1000000"):
        database.execute(f"PRAGMA {setting}").fetchall()
    with database:
        for table in _KEYS:
            _copy(database, table, answered, 0, settled)
            _copy(database, table, waiting, settled, pending)
    database.execute("PRAGMA journal_mode = WAL").fetchall()
    database.close()
    return stores.open_store(path)


def _copy(database: apsw.Connection, table: str, template: str, first: int, times: int) -> None:
    """Copy an ask's rows of this table this many times, each with its own id and times."""
    columns = [name for _, name, *_ in database.execute(f"PRAGMA table_info({table})")]
    # Outside of the table: SQLite must copy rows first if it reads the table that it writes.
    database.execute("DROP TABLE IF EXISTS temp.template")
    database.execute(
        f"CREATE TEMP TABLE template AS SELECT * FROM {table} WHERE {_KEYS[table]} = ?", (template,)
    )
    values = ", ".join(_value(column, _KEYS[table]) for column in columns)
    database.execute(
        f"{_NUMBERS} INSERT INTO {table} SELECT {values} FROM numbers CROSS JOIN temp.template",
        (first, times),
    )


def _value(column: str, key: str) -> str:
    if column == "seq":
        return "NULL"
    if column == key:
        return _ID
    if column == "at" or column.endswith("_at"):
        return f"iif({column} IS NULL, NULL, {_AT})"
    return column
