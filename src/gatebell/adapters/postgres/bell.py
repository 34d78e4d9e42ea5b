"""The bell: one connection of this process hears the commits of all others.

A NOTIFY in the transaction would make all commits of the cluster wait for one another. So a thread
sends it after the commit, at most fifty times a second, and then seals the events.
"""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from time import monotonic
from typing import TYPE_CHECKING

import psycopg

from gatebell.adapters.postgres.wire import LASTING
from gatebell.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Callable

    from gatebell.adapters.postgres.wire import Wire

# If a writer dies between commit and bell, its waiters look again after this time.
_SAFETY_NET_SECONDS = 1.0
_PAUSE_SECONDS = 0.02
_MAX_UNSEALED_SECONDS = 0.1
"""Events that follow one another are sealed together, which costs less; the first not later."""
_RING = "NOTIFY gate_events"


class Ringer:
    """Rings after commits, in a thread of its own that begins with the first one."""

    def __init__(self, ring: Callable[[], None], seal: Callable[[], object]) -> None:
        self._ring, self._seal = ring, seal
        self._wanted = threading.Event()
        self._closing = threading.Event()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def ring(self) -> None:
        """Ring soon; it does not wait, and one ring may stand for many commits."""
        self._wanted.set()
        if self._thread is None:
            with self._lock:
                if self._thread is None:
                    self._thread = threading.Thread(target=self._run, daemon=True, name="gate-bell")
                    self._thread.start()

    def _run(self) -> None:
        sealed_at = 0.0
        while True:
            self._wanted.wait()
            self._wanted.clear()
            # If it fails, waiters look again after a second.
            with suppress(psycopg.Error, StoreError):
                self._ring()
            # At first, the server is left to those that the bell has woken.
            self._closing.wait(_PAUSE_SECONDS)
            if self._wanted.is_set() and monotonic() - sealed_at < _MAX_UNSEALED_SECONDS:
                continue
            sealed_at = monotonic()
            # If it fails, the next process seals.
            with suppress(psycopg.Error, StoreError):
                self._seal()
            if self._closing.is_set() and not self._wanted.is_set():
                return

    def close(self) -> None:
        """Ring for the last commits, and end the thread."""
        if self._thread:
            self._closing.set()
            self._wanted.set()
            # The garbage collector may end a store on any thread, also on this one.
            if self._thread is not threading.current_thread():
                self._thread.join(timeout=2)


class Listener:
    """Hears the bell for all waiters of this process; connects with the first one."""

    def __init__(self, dsn: str) -> None:
        self._dsn = dsn
        self._changed = threading.Condition()
        self._rung = 0
        self._closed = False
        self._ready = threading.Event()
        self._thread: threading.Thread | None = None

    def listen(self) -> PostgresBell:
        with self._changed:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, daemon=True, name="gate-listener")
                self._thread.start()
        # Listen first, then look: else a commit in between is noticed late.
        self._ready.wait(_SAFETY_NET_SECONDS)
        return PostgresBell(self)

    def _run(self) -> None:
        while not self._closed:
            with suppress(psycopg.Error):
                self._hear()
            self._ready.clear()
            self._ring()
            time.sleep(_SAFETY_NET_SECONDS)

    def _hear(self) -> None:
        with psycopg.connect(
            self._dsn, autocommit=True, application_name="gatebell bell", **LASTING
        ) as heard:
            heard.execute("LISTEN gate_events")
            self._ready.set()
            # Commits may have come while nothing listened.
            self._ring()
            while not self._closed:
                for _ in heard.notifies(timeout=_SAFETY_NET_SECONDS, stop_after=1):
                    self._ring()

    def _ring(self) -> None:
        with self._changed:
            self._rung += 1
            self._changed.notify_all()

    def count(self) -> int:
        return self._rung

    def wait(self, heard: int, seconds: float) -> int:
        """Wait until the bell has rung more often than that; return how often it has."""
        with self._changed:
            self._changed.wait_for(lambda: self._rung != heard, min(seconds, _SAFETY_NET_SECONDS))
            return self._rung

    def close(self) -> None:
        self._closed = True


class PostgresBell:
    """One waiter of this process."""

    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self._heard = listener.count()

    def wait(self, seconds: float) -> None:
        self._heard = self._listener.wait(self._heard, seconds)

    def close(self) -> None:
        """Do nothing: the process keeps listening."""


def ring(lent: Wire) -> None:
    """Wake the waiters of every process."""
    lent.execute(_RING)
