"""The flow of the benchmark on DBOS, for its own interpreter: `dbos_flow.py VERB FOLDER [NUMBER]`."""

import asyncio
import itertools
import os
import sqlite3
import sys
import threading
import time
from typing import Any

from dbos import DBOS, DBOSClient, SetWorkflowID
from sqlalchemy import Engine, event

_FOREVER_SECONDS = 10.0**8
_AT_ONCE = 50

_folder = sys.argv[2]
_path = os.path.join(_folder, "dbos.sqlite")
_url = os.environ.get("BENCH_DATABASE") or f"sqlite:///{_path}"
_expected = int(sys.argv[3]) if len(sys.argv) > 3 else 0
_reached = itertools.count(1)
_all_wait = threading.Event()


def append(line: str) -> None:
    with open(os.path.join(_folder, "ledger"), "a", encoding="utf-8") as ledger:
        ledger.write(f"{line} {time.monotonic()}\n")


@DBOS.step()
async def first(number: int) -> int:
    append(f"first {number}")
    return number


@DBOS.step()
async def second(number: int) -> int:
    append(f"second {number}")
    return number


# A coroutine: a plain function would hold a thread of its own while it waits.
@DBOS.workflow()
async def wait(number: int) -> str:
    await first(number)
    if next(_reached) == _expected:
        _all_wait.set()
    answer = await DBOS.recv_async("answer", timeout_seconds=_FOREVER_SECONDS)
    await second(number)
    return str(answer)


def is_first(number: int) -> bool:
    try:
        open(os.path.join(_folder, f"begun-{number}"), "x", encoding="utf-8").close()
    except FileExistsError:
        return False
    return True


@DBOS.step()
async def block_once(number: int) -> int:
    """Block for ever; if a process has begun this before, only append a line."""
    if not is_first(number):
        append(f"second {number}")
        return number
    await asyncio.sleep(3600)
    return number


@DBOS.workflow()
async def block_run(number: int) -> int:
    return await block_once(number)


@DBOS.step()
def count(number: int) -> int:
    return number


# A plain function: the steps of a coroutine took half as long again.
@DBOS.workflow()
def many(calls: int) -> str:
    began = time.monotonic()
    for number in range(calls):
        count(number)
    print(time.monotonic() - began, flush=True)
    return str(DBOS.recv("answer", timeout_seconds=_FOREVER_SECONDS))


def fill(number: int, first: int = 0) -> None:
    """Start this many runs and stay until the end; print a line when all of them wait."""
    if _url.startswith("sqlite"):
        # Making them is not measured, and every engine on SQLite does it like this.
        @event.listens_for(Engine, "connect")
        def hurry(connection: Any, _: Any) -> None:
            connection.execute("PRAGMA synchronous = OFF")

    _launch()

    async def start_all() -> None:
        pause = asyncio.Semaphore(_AT_ONCE)

        async def start(index: int) -> None:
            async with pause:
                with SetWorkflowID(f"run-{index}"):
                    await DBOS.start_workflow_async(wait, index)

        await asyncio.gather(*map(start, range(first, first + number)))
        await asyncio.to_thread(_all_wait.wait)
        # The last ones still have to record that they wait.
        await asyncio.sleep(1)
        print("waiting", flush=True)
        await asyncio.Event().wait()

    asyncio.run(start_all())


def serve(number: int) -> None:
    """Resume the waiting runs and stay; print a line when all of them wait again."""
    _launch()
    _all_wait.wait()
    print("waiting", flush=True)
    threading.Event().wait()


def answer(_: int = 0) -> None:
    """Answer the runs whose numbers arrive line by line."""
    client = DBOSClient(system_database_url=_url)
    client.list_workflows(limit=1)
    print("ready", flush=True)
    for line in sys.stdin:
        client.send(f"run-{int(line)}", "yes", topic="answer")
        print(f"answered {int(line)}", flush=True)


def block(number: int) -> None:
    """Start this many runs whose step blocks this process."""
    _launch()

    async def start_all() -> None:
        for index in range(number):
            await DBOS.start_workflow_async(block_run, index)
        await asyncio.Event().wait()

    asyncio.run(start_all())


def steps(number: int) -> None:
    """Record this many steps, one after another; the run prints the time, and waits."""
    _launch()
    DBOS.start_workflow(many, number)
    threading.Event().wait()


def replay(number: int) -> None:
    """Resume that run; it prints the time until it waits again."""
    _launch()
    threading.Event().wait()


def _launch() -> None:
    if _url.startswith("sqlite"):
        # The mode stays with the file. Without it, steps and starts took half as long again.
        sqlite3.connect(_path).execute("PRAGMA journal_mode = WAL").connection.close()
    DBOS(
        config={
            "name": "bench-flow",
            "system_database_url": _url,
            "application_version": "1",
            "log_level": "ERROR",
        }
    )
    DBOS.launch()


if __name__ == "__main__":
    verbs = {"fill": fill, "serve": serve, "answer": answer, "block": block, "steps": steps}
    (verbs | {"replay": replay})[sys.argv[1]](*map(int, sys.argv[3:]))
