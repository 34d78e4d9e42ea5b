"""Pipes to and from an agent that can neither block this process nor fill its memory."""

from __future__ import annotations

import os
import queue
import select
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

from gatebell.errors import GateError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

CHUNK_BYTES = 65_536
# The most that a pipe can hold.
_MAX_LAST_BYTES = 1_048_576
_MAX_UNSENT_BYTES = 16_000_000


class Over:
    """The end of an agent, as a file descriptor that can be polled together with its pipes."""

    def __init__(self) -> None:
        self.end, self._other_end = os.pipe()

    def come(self) -> None:
        os.close(self._other_end)

    def close(self) -> None:
        os.close(self.end)


def read(pipe: int, over: Over) -> Iterator[bytes]:
    """Yield the chunks of a pipe; once `over` has come, at most as much as a pipe can hold.

    The agent's output is in the pipe then, but a process that escaped may go on writing.
    """
    os.set_blocking(pipe, False)
    while not _is_over(pipe, select.POLLIN, over):
        with suppress(BlockingIOError):
            if not (some := os.read(pipe, CHUNK_BYTES)):
                return
            yield some
    left = _MAX_LAST_BYTES
    with suppress(BlockingIOError):
        while left > 0 and (some := os.read(pipe, CHUNK_BYTES)):
            left -= len(some)
            yield some


def split_lines(chunks: Iterable[bytes], most_bytes: int) -> Iterator[bytes]:
    """Yield complete lines, with their ends; a line above the limit comes in pieces."""
    line = bytearray()
    for chunk in chunks:
        *ends, rest = chunk.split(b"\n")
        for end in ends:
            yield bytes(line) + end + b"\n"
            line.clear()
        line += rest
        if len(line) > most_bytes:
            yield bytes(line)
            line.clear()
    if line:
        yield bytes(line)


class Sender:
    """Writes to a pipe on its own thread, as fast as the other end reads."""

    def __init__(self, pipe: int, over: Over) -> None:
        os.set_blocking(pipe, False)
        self._pipe, self._over = pipe, over
        self._texts: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._counting = threading.Lock()
        self._unsent_bytes = 0
        self._finished = False

    def send(self, text: bytes) -> None:
        with self._counting:
            if self._finished:
                return
            # Replies must not pile up here while the agent reads nothing.
            if self._unsent_bytes > _MAX_UNSENT_BYTES:
                raise GateError("the agent did not read its input, so it was ended")
            self._unsent_bytes += len(text)
        self._texts.put(text)

    def finish(self) -> None:
        """Declare that nothing more will be sent."""
        with self._counting:
            self._finished = True
        self._texts.put(None)

    def work(self) -> None:
        """Write all texts until `finish`; drop those that can no longer be written."""
        while (text := self._texts.get()) is not None:
            with suppress(BrokenPipeError):
                self._write(memoryview(text))
            with self._counting:
                self._unsent_bytes -= len(text)

    def _write(self, text: memoryview) -> None:
        while text and not _is_over(self._pipe, select.POLLOUT, self._over):
            with suppress(BlockingIOError):
                text = text[os.write(self._pipe, text) :]


def _is_over(pipe: int, event: int, over: Over) -> bool:
    """Wait until a pipe is ready or the agent is gone; return whether it is gone."""
    poll = select.poll()
    poll.register(pipe, event)
    poll.register(over.end, select.POLLIN)
    return any(end == over.end for end, _ in poll.poll())
