"""Measure an ask and its answer in one process, beyond two bare synced commits."""

from __future__ import annotations

import os
import time
from contextlib import closing
from typing import TYPE_CHECKING

import apsw
from bench import stores
from bench.figures import Figure

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

BLOCKS = 15
PAIRS = 200
LIMIT_MICROSECONDS = 200.0


def measure() -> Iterator[Figure]:
    with stores.folder() as folder:
        yield _compare(folder, "FULL")._replace(limit=LIMIT_MICROSECONDS)
    with stores.folder() as folder:
        # Without the waits for the disk, after which the same code takes longer.
        yield _compare(folder, "OFF")


def _compare(folder: str, synchronous: str) -> Figure:
    with (
        closing(stores.open_store(os.path.join(folder, "gate.db"))) as store,
        closing(_bare_database(os.path.join(folder, "bare.db"))) as bare,
    ):
        setting = f"PRAGMA synchronous = {synchronous}"
        store.connection.rows(setting)
        bare.execute(setting)
        ours, raw = [], []
        for _ in range(BLOCKS):
            raw.append(_microseconds(lambda: _two_commits(bare)))
            ours.append(_microseconds(lambda: stores.answer(store, stores.ask(store))))
    what = f"ask + answer beyond two commits, synchronous = {synchronous}"
    detail = f"{min(ours):.0f} µs against {min(raw):.0f} µs"
    return Figure(what, min(ours) - min(raw), "µs", detail=detail)


def _bare_database(path: str) -> apsw.Connection:
    database = apsw.Connection(path)
    database.execute("PRAGMA journal_mode = WAL").fetchall()
    database.execute("CREATE TABLE notes (seq INTEGER PRIMARY KEY, text TEXT NOT NULL) STRICT")
    return database


def _two_commits(database: apsw.Connection) -> None:
    for text in ("a question", "an answer"):
        database.execute("BEGIN IMMEDIATE")
        database.execute("INSERT INTO notes VALUES (NULL, ?)", (text,))
        database.execute("COMMIT")


def _microseconds(work: Callable[[], None]) -> float:
    """Return the processor time of one piece of work, averaged over a block of them."""
    before = time.process_time()
    for _ in range(PAIRS):
        work()
    return (time.process_time() - before) / PAIRS * 1e6
