"""The engine on a Temporal server: an activity for each run that is ready.

A trigger writes what is to be dispatched into the store, in the transaction that makes a run ready.
Every worker relays it to the server.
"""

from __future__ import annotations

import asyncio
import logging
import re
import threading
from collections import Counter
from contextlib import suppress
from datetime import timedelta
from functools import cache
from itertools import groupby
from typing import TYPE_CHECKING

from temporalio import activity
from temporalio.client import Client
from temporalio.common import ActivityIDConflictPolicy, Priority, RetryPolicy
from temporalio.exceptions import ApplicationError
from temporalio.runtime import Runtime, TelemetryConfig
from temporalio.service import RPCError
from temporalio.worker import (
    CustomSlotSupplier,
    FixedSizeSlotSupplier,
    SlotPermit,
    Worker,
    WorkerTuner,
)

from gatebell.adapters.engines.drives import LOOK_SECONDS
from gatebell.adapters.engines.served_engine import (
    BEAT_SECONDS,
    STALLED_SECONDS,
    TASK,
    ServedEngine,
)
from gatebell.domain.runs.places import split_place
from gatebell.errors import GateError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from temporalio.worker import SlotMarkUsedContext, SlotReleaseContext, SlotReserveContext

    from gatebell.adapters.engines.drives import Drives
    from gatebell.ports.engines import Dispatch, Dispatches

_LONGEST = timedelta(days=365)
"""A drive lasts as long as its agents work."""
_TAKEN_SECONDS = 10.0
_AT_ONCE = 50
_FULL_SECONDS = 0.1
_REPLY = timedelta(seconds=5)
_REASON = re.compile(r'message: "([^"]+)"')
_log = logging.getLogger("gatebell.worker")


class TemporalEngine(ServedEngine):
    """Takes the activities at its places, and relays what the store dispatches."""

    def __init__(
        self,
        drives: Drives,
        dispatches: Dispatches,
        server: tuple[str, str],
        pools: Sequence[str],
    ) -> None:
        """Take the address of the server, with the namespace."""
        super().__init__(drives, dispatches, pools)
        self._server = server
        # Its errors have many lines. One line says that the connection is lost.
        logging.getLogger("temporalio").setLevel(logging.CRITICAL)
        self._slots = Slots(drives)
        self._prefix = ""
        """Before the names of queues and activities: other stores may use the same server."""

    async def serve(self) -> None:
        client = await _connect(*self._server)
        self._prefix = f"gate-{await asyncio.to_thread(self.dispatches.store_id)}"
        workers = [self._build_worker(client, queue) for queue in self.places]
        async with asyncio.TaskGroup() as group:
            group.create_task(self._relay(client))
            for worker in workers:
                group.create_task(worker.run())

    def _build_worker(self, client: Client, queue: str) -> Worker:
        fixed = FixedSizeSlotSupplier(1)
        return Worker(
            client,
            task_queue=f"{self._prefix}/{queue}",
            activities=[self._drive],
            tuner=WorkerTuner.create_composite(
                workflow_supplier=fixed,
                activity_supplier=self._slots,
                local_activity_supplier=fixed,
                nexus_supplier=fixed,
            ),
            # A second one would take a run while the first one fills the last slot.
            max_concurrent_activity_task_polls=1,
        )

    @activity.defn(name=TASK)
    async def _drive(self, run_id: int) -> None:
        if not self._slots.has_room(already=1):
            # Another worker may have a slot. This one takes nothing until it has one again.
            raise ApplicationError("all slots are in use", next_retry_delay=timedelta(seconds=1))
        done = self.begin(run_id)
        while not done.is_set():
            activity.heartbeat()
            with suppress(TimeoutError):
                await asyncio.wait_for(done.wait(), BEAT_SECONDS)

    async def _relay(self, client: Client) -> None:
        """Start an activity for each dispatch of the store."""
        bell = self.drives.store.bell()
        try:
            while True:
                patience = LOOK_SECONDS
                try:
                    while found := await asyncio.to_thread(
                        self.dispatches.take, _AT_ONCE, _TAKEN_SECONDS
                    ):
                        await self._start_all(client, found)
                    patience = await asyncio.to_thread(self._patience)
                except (GateError, RPCError) as error:
                    # What was taken is taken again after some seconds.
                    _log.error("%s", error)
                await asyncio.to_thread(bell.wait, patience)
        finally:
            bell.close()

    async def _start_all(self, client: Client, found: list[Dispatch]) -> None:
        # A worker that waits gets the first one, before the server can compare them.
        for _, alike in groupby(sorted(found, key=_urgency), key=_urgency):
            await asyncio.gather(*(self._start(client, one) for one in alike))

    async def _start(self, client: Client, one: Dispatch) -> None:
        where, project = split_place(one.place)
        # The queue of a host has the runs of all its projects.
        queue = where if where.startswith("host:") else one.place
        await client.start_activity(
            TASK,
            one.run,
            # While an activity of this claim is under way, another one is not needed.
            id=f"{self._prefix}/run-{one.run}-{one.claim}",
            id_conflict_policy=ActivityIDConflictPolicy.USE_EXISTING,
            task_queue=f"{self._prefix}/{queue}",
            start_to_close_timeout=_LONGEST,
            heartbeat_timeout=timedelta(seconds=STALLED_SECONDS),
            retry_policy=RetryPolicy(maximum_interval=timedelta(seconds=5)),
            # Temporal counts from 1.
            priority=Priority(priority_key=one.priority + 1, fairness_key=project),
            rpc_timeout=_REPLY,
        )
        await asyncio.to_thread(self.dispatches.finish, one)

    def _patience(self) -> float:
        due = self.dispatches.next_due()
        if due is None:
            return LOOK_SECONDS
        left = (due - self.drives.store.now()).total_seconds()
        return min(LOOK_SECONDS, max(0.005, left))


class Permit(SlotPermit):
    """A permit to take a run from a queue."""

    def __init__(self, queue: str) -> None:
        self.queue = queue


class Slots(CustomSlotSupplier):
    """The slots of this process, for the workers of all its queues.

    A worker holds a permit while it waits for a run, perhaps for ever. So the permits of other
    queues do not count until they are used.
    """

    def __init__(self, drives: Drives) -> None:
        self._drives = drives
        self._used = 0
        self._reserved: Counter[str] = Counter()
        self._lock = threading.Lock()

    def has_room(self, already: int = 0) -> bool:
        """Return whether another run fits beside those that were taken."""
        return self._drives.has_room and self._used - already < self._drives.slots

    async def reserve_slot(self, ctx: SlotReserveContext) -> SlotPermit:
        while not (permit := self.try_reserve_slot(ctx)):  # noqa: ASYNC110  drives end on other threads
            await asyncio.sleep(_FULL_SECONDS)
        return permit

    def try_reserve_slot(self, ctx: SlotReserveContext) -> SlotPermit | None:
        with self._lock:
            taken = self._used + self._reserved[ctx.task_queue]
            if not self._drives.has_room or taken >= self._drives.slots:
                return None
            self._reserved[ctx.task_queue] += 1
        return Permit(ctx.task_queue)

    def mark_slot_used(self, ctx: SlotMarkUsedContext) -> None:
        assert isinstance(ctx.permit, Permit)
        with self._lock:
            self._reserved[ctx.permit.queue] -= 1
            self._used += 1

    def release_slot(self, ctx: SlotReleaseContext) -> None:
        assert isinstance(ctx.permit, Permit)
        with self._lock:
            if ctx.slot_info:
                self._used -= 1
            else:
                self._reserved[ctx.permit.queue] -= 1


async def _connect(address: str, namespace: str) -> Client:
    return await Client.connect(address, namespace=namespace, runtime=_find_runtime())


@cache
def _find_runtime() -> Runtime:
    """Return the part of the library that is not Python; by default it writes on stdout."""
    return Runtime(telemetry=TelemetryConfig(logging=None))


def _urgency(one: Dispatch) -> int:
    return one.priority


def list_problems(address: str, namespace: str) -> list[str]:
    """Return what is wrong with the server."""

    async def look() -> None:
        client = await asyncio.wait_for(_connect(address, namespace), _REPLY.total_seconds())
        await client.count_activities(f"ActivityType = '{TASK}'", rpc_timeout=_REPLY)

    try:
        asyncio.run(look())
    except Exception as error:  # the library has many errors, and each means the same here
        what = "check GATE_TEMPORAL and GATE_TEMPORAL_NAMESPACE"
        return [f"the Temporal server {address} cannot be used ({_explain(error)}): {what}"]
    return []


def _explain(error: Exception) -> str:
    # The library shows an error of the network as a term of Rust, with the reason inside.
    reason = _REASON.search(str(error))
    return reason[1] if reason else str(error) or type(error).__name__
