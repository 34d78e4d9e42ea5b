"""Waits of an async program on a store: one thread watches for all of them."""

from __future__ import annotations

import asyncio
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

from gatebell.api.waits.server_waits import CLOSED
from gatebell.errors import UsageError
from gatebell.services.asks import wait_for_ask
from gatebell.services.sessions.lost_visits import is_visited
from gatebell.services.watcher import Watcher

if TYPE_CHECKING:
    from gatebell.domain.asks.asks import Ask
    from gatebell.ports.store import Store

_POLL_SECONDS = 1.0


class StoreWaits:
    """Any number of waits in one event loop."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._waiters: dict[str, set[asyncio.Event]] = {}
        self._watcher: Watcher | None = None
        self._thread: threading.Thread | None = None
        self._failure: BaseException | None = None

    async def wait(self, ask_id: str, seconds: float | None, *, hears: bool) -> Ask:
        """Return the ask when it is settled, or after `seconds`.

        `hears`: return also when a person asked back.
        """
        loop = asyncio.get_running_loop()
        until = None if seconds is None else loop.time() + seconds
        self._watch()
        changed = asyncio.Event()
        waiters = self._waiters.setdefault(ask_id, set())
        waiters.add(changed)
        try:
            while True:
                changed.clear()
                if self._failure:
                    raise self._failure
                ask = await asyncio.to_thread(
                    wait_for_ask.wait, self._store, ask_id, 0, hears=False
                )
                is_over = until is not None and loop.time() >= until
                if is_over or (hears and ask.pending and ask.asked_back > ask.heard):
                    return ask
                if not ask.pending and await asyncio.to_thread(
                    wait_for_ask.is_ready, self._store, ask
                ):
                    return ask
                with suppress(TimeoutError):
                    await asyncio.wait_for(changed.wait(), await self._patience(ask, until))
        finally:
            waiters.discard(changed)
            if not waiters:
                self._waiters.pop(ask_id, None)

    async def close(self) -> None:
        """End all waits; each of them raises a UsageError."""
        if self._watcher and self._thread:
            self._watcher.stop()
            await asyncio.to_thread(self._thread.join)
        self._fail(UsageError(CLOSED))

    def _watch(self) -> None:
        """Start the one thread that watches for every wait."""
        if self._failure:
            raise self._failure
        if self._watcher:
            return
        self._watcher = Watcher(self._store)
        watched = (self._watcher, asyncio.get_running_loop())
        self._thread = threading.Thread(
            target=self._follow, args=watched, name="gatebell-watcher", daemon=True
        )
        self._thread.start()

    def _follow(self, watcher: Watcher, loop: asyncio.AbstractEventLoop) -> None:
        # All waits ended with the loop, if that was closed.
        with suppress(RuntimeError):
            try:
                for ids in watcher.changes():
                    loop.call_soon_threadsafe(self._wake, ids)
            except BaseException as error:
                # All waits must end, because nothing wakes them any more.
                loop.call_soon_threadsafe(self._fail, error)

    def _wake(self, ids: frozenset[str]) -> None:
        for ask_id in ids & self._waiters.keys():
            for changed in self._waiters[ask_id]:
                changed.set()

    def _fail(self, error: BaseException) -> None:
        self._failure = self._failure or error
        self._wake(frozenset(self._waiters))

    async def _patience(self, ask: Ask, until: float | None) -> float | None:
        """Return for how long only an event can change something."""
        # A harness that was killed in its visit writes no event.
        has_events = ask.pending and not await asyncio.to_thread(is_visited, self._store, ask)
        left = None if until is None else max(0.0, until - asyncio.get_running_loop().time())
        if has_events:
            return left
        return _POLL_SECONDS if left is None else min(left, _POLL_SECONDS)
