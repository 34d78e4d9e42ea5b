"""The flow of the benchmark as a Temporal workflow: `temporal_flow.py VERB FOLDER [NUMBER]`."""

import asyncio
import os
import sys
import time
from datetime import timedelta

from temporalio import activity, workflow
from temporalio.client import Client
from temporalio.worker import Worker

_AT_ONCE = 50
_BEAT_SECONDS = 2
# As long as our own engine waits for a silent worker.
_SILENT = timedelta(seconds=6)
_STEP = timedelta(hours=1)

_folder = sys.argv[2]
# A queue and names of its own for each stage: all of them use one server.
_queue = os.path.basename(_folder)
_begun: set[int] = set()
"""The runs whose first step this process has made."""


def append(line: str) -> None:
    with open(os.path.join(_folder, "ledger"), "a", encoding="utf-8") as ledger:
        ledger.write(f"{line} {time.monotonic()}\n")


@activity.defn
async def first(number: int) -> int:
    append(f"first {number}")
    _begun.add(number)
    return number


@activity.defn
async def second(number: int) -> int:
    append(f"second {number}")
    return number


def is_first(number: int) -> bool:
    try:
        open(os.path.join(_folder, f"begun-{number}"), "x", encoding="utf-8").close()
    except FileExistsError:
        return False
    return True


@activity.defn
async def block_once(number: int) -> int:
    """Block for ever; if a process has begun this before, only append a line."""
    if not is_first(number):
        append(f"second {number}")
        return number
    while True:
        activity.heartbeat()
        await asyncio.sleep(_BEAT_SECONDS)


@workflow.defn
class Waiting:
    """A step, a wait for a person, a step."""

    def __init__(self) -> None:
        self._answer: str | None = None

    @workflow.run
    async def run(self, number: int) -> str:
        await workflow.execute_activity(first, number, start_to_close_timeout=_STEP)
        await workflow.wait_condition(lambda: self._answer is not None)
        await workflow.execute_activity(second, number, start_to_close_timeout=_STEP)
        return str(self._answer)

    @workflow.signal
    def answer(self, value: str) -> None:
        self._answer = value


@workflow.defn
class Blocking:
    """A step that blocks its worker."""

    @workflow.run
    async def run(self, number: int) -> int:
        return await workflow.execute_activity(
            block_once, number, start_to_close_timeout=_STEP, heartbeat_timeout=_SILENT
        )


async def connect() -> Client:
    return await Client.connect(os.environ["BENCH_TEMPORAL"])


def build_worker(client: Client) -> Worker:
    return Worker(
        client,
        task_queue=_queue,
        workflows=[Waiting, Blocking],
        activities=[first, second, block_once],
    )


async def fill(number: int, offset: int = 0) -> None:
    """Start this many runs and stay until the end; print a line when all of them wait."""
    client = await connect()
    pause = asyncio.Semaphore(_AT_ONCE)

    async def start(index: int) -> None:
        async with pause:
            await client.start_workflow(
                Waiting.run, index, id=f"{_queue}-{index}", task_queue=_queue
            )

    async with build_worker(client):
        await asyncio.gather(*map(start, range(offset, offset + number)))
        while len(_begun) < number:  # noqa: ASYNC110  a few looks while nothing is measured
            await asyncio.sleep(0.1)
        # The last ones still have to record that they wait.
        await asyncio.sleep(1)
        print("waiting", flush=True)
        await asyncio.Event().wait()


async def serve(_: int = 0) -> None:
    """Resume the runs whose answers come, and stay."""
    async with build_worker(await connect()):
        print("waiting", flush=True)
        await asyncio.Event().wait()


async def answer(_: int = 0) -> None:
    """Answer the runs whose numbers arrive line by line."""
    client = await connect()
    print("ready", flush=True)
    while line := await asyncio.to_thread(sys.stdin.readline):
        await client.get_workflow_handle(f"{_queue}-{int(line)}").signal(Waiting.answer, "yes")
        print(f"answered {int(line)}", flush=True)


async def block(number: int) -> None:
    """Start this many runs whose step blocks the process that runs it first."""
    client = await connect()
    for index in range(number):
        await client.start_workflow(Blocking.run, index, id=f"{_queue}-{index}", task_queue=_queue)
    print("ready", flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    verbs = {"fill": fill, "serve": serve, "answer": answer, "block": block}
    asyncio.run(verbs[sys.argv[1]](*map(int, sys.argv[3:])))
