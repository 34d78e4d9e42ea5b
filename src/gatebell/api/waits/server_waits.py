"""Waits of an async program on a server: each is one request at a time, and no thread."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from gatebell.errors import ServerError, UsageError

if TYPE_CHECKING:
    from gatebell.domain.asks.asks import Ask
    from gatebell.ports.calls.waiting_requests import WaitingRequest, WaitingRequests

CLOSED = "this AsyncGate is closed"
_CONNECT_SECONDS = 10.0
_PART_BYTES = 65_536


class ServerWaits:
    """Any number of waits in one event loop."""

    def __init__(self, requests: WaitingRequests) -> None:
        self._requests = requests
        self._waits: set[asyncio.Task[Ask]] = set()
        self._is_closed = False

    async def wait(self, ask_id: str, seconds: float | None, *, hears: bool) -> Ask:
        """Return the ask when it is settled, or after `seconds`.

        `hears`: return also when a person asked back.
        """
        if self._is_closed:
            raise UsageError(CLOSED)
        # A task of its own, so that `close` ends the wait and not its caller.
        wait = asyncio.create_task(self._wait(ask_id, seconds, hears))
        self._waits.add(wait)
        wait.add_done_callback(self._waits.discard)
        try:
            return await wait
        except asyncio.CancelledError:
            if (caller := asyncio.current_task()) and caller.cancelling():
                raise
            raise UsageError(CLOSED) from None

    async def close(self) -> None:
        """End all waits; each of them raises a UsageError."""
        self._is_closed = True
        ending = list(self._waits)
        for wait in ending:
            wait.cancel()
        await asyncio.gather(*ending, return_exceptions=True)
        self._requests.close()

    async def _wait(self, ask_id: str, seconds: float | None, hears: bool) -> Ask:
        loop = asyncio.get_running_loop()
        until = None if seconds is None else loop.time() + seconds
        pauses = self._requests.choose_pauses(seconds)
        while True:
            left = None if until is None else max(0.0, until - loop.time())
            try:
                ask = await self._send(self._requests.build(ask_id, left, hears))
            except ServerError:
                pause = pauses.choose_pause()
                if pause is None:
                    raise
                await asyncio.sleep(pause)
                continue
            if until is None:
                # Each outage has its own time.
                pauses = self._requests.choose_pauses(None)
            pauses.begin_again()
            if not ask.pending or (hears and ask.asked_back > ask.heard) or left == 0:
                return ask

    async def _send(self, request: WaitingRequest) -> Ask:
        try:
            async with asyncio.timeout(request.seconds):
                return await _exchange(request)
        except (OSError, ValueError) as error:
            raise self._requests.describe_failure(error) from None


async def _exchange(request: WaitingRequest) -> Ask:
    name = request.host if request.context else None
    async with asyncio.timeout(_CONNECT_SECONDS):
        reader, writer = await asyncio.open_connection(
            request.host, request.port, ssl=request.context, server_hostname=name
        )
    try:
        writer.write(request.content)
        await writer.drain()
        received = b""
        while True:
            part = await reader.read(_PART_BYTES)
            received += part
            if ask := request.read(received):
                return ask
            if not part:
                raise OSError("it has closed the connection")
    finally:
        # Not awaited: a wait that is cancelled must end at once.
        writer.close()
