"""Compare the commands on a backlog of ten thousand tasks with those on one of fifty."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from functools import partial
from typing import TYPE_CHECKING

from bench import stores
from bench.figures import Figure

from gatebell.domain.tasks import tasks
from gatebell.domain.tasks.tasks import Task
from gatebell.services.tasks import backlog

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gatebell.adapters.sqlite.store import SqliteStore

MANY, FEW = 10_000, 50
PAGE = 50
TIMES = 20
READINGS = 200
LIMIT = 1.3


def measure() -> Iterator[Figure]:
    with stores.folder() as folder:
        large, small = (_fill_store(folder, number) for number in (MANY, FEW))
        for what in (("list",), ("list", "--ready"), ("next",)):
            works = [partial(_command, folder, path, what) for path in (large, small)]
            named = f"gate task {' '.join(what)}, {MANY:,} tasks against {FEW}"
            yield _compare(named, works, TIMES)
        yield from _inside(large, small, folder)


def _inside(large: str, small: str, folder: str) -> Iterator[Figure]:
    opened = [stores.open_store(path) for path in (large, small)]
    for name, read in (
        ("first page of tasks, inside", lambda store: store.tasks.page(folder, "unfinished", PAGE)),
        ("the next task, inside", lambda store: store.tasks.next(folder)),
    ):
        works = [partial(_time_work, partial(read, store)) for store in opened]
        yield _compare(f"{name}, {MANY:,} against {FEW}", works, READINGS)
    for store in opened:
        store.close()


def _fill_store(folder: str, number: int) -> str:
    """Make a store with this many tasks: all but every tenth need the one before, their parent."""
    path = os.path.join(folder, f"{number}.db")
    store = stores.open_store(path)
    now = store.now()
    made = []
    for count in range(number):
        kin = {"parent": _name(count - 1), "needs": (_name(count - 1),)} if count % 10 else {}
        title = f"Task {count} of {number}"
        made.append(
            Task(_name(count), title, folder, now, now, "person:ada", priority=count % 5, **kin)
        )
    store.tasks.add([tasks.create_task(task, stores.CALLER) for task in made])
    _close_some(store, made[: number // 10])
    store.close()
    return path


def _close_some(store: SqliteStore, some: list[Task]) -> None:
    for task in some:
        backlog.close(store, task.id, stores.CALLER)


def _name(number: int) -> str:
    return f"tm-{number:05d}"


def _compare(what: str, works: list[Callable[[], float]], times: int) -> Figure:
    """Return the least of each, measured in turns because the machine is not quiet."""
    pairs = [[work() for work in works] for _ in range(times)]
    large, small = (min(column) * 1e3 for column in zip(*pairs, strict=True))
    return Figure(what, large / small, "×", LIMIT, f"{large:.2f} ms against {small:.2f} ms")


def _time_work(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


def _command(folder: str, path: str, words: tuple[str, ...]) -> float:
    process = subprocess.Popen(
        [sys.executable, "-m", "gatebell", "task", *words],
        env=stores.environment(path),
        cwd=folder,
        stdout=subprocess.DEVNULL,
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"gate task {' '.join(words)} ended with {process.returncode}")
    return usage.ru_utime + usage.ru_stime
