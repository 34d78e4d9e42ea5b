"""Listen to the chats of a store, each in its own thread."""

from __future__ import annotations

import logging
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

from gatebell.errors import DeliveryError, GateError
from gatebell.services.chats.take_update import take_update

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gatebell.domain.notifications.chats import ChatMessage, ChatUpdate
    from gatebell.ports.channels import Chat, ChatLock
    from gatebell.ports.store import Store

_AGAIN_AFTER_SECONDS = 5.0
_MAX_PAUSE_SECONDS = 300.0
_MAX_THREADS = 200
_MAX_FAILURES = 5
_GIVEN_UP = "This could not be recorded. Open the question in the inbox."
_ENDS_WITHIN_SECONDS = 3.0

_log = logging.getLogger(__name__)


class Bridge:
    """Brings the updates of one chat to the store, while no other process of this host does."""

    def __init__(self, store: Store, chat: Chat, lock: ChatLock, *, chat_calls: bool) -> None:
        self._store = store
        self._chat = chat
        self._lock = lock
        self._chat_calls = chat_calls
        self._stopped = threading.Event()
        self._problem = ""
        self._failing, self._failures = "", 0
        self._thread = threading.Thread(target=self._run, name=f"gatebell-{chat.kind}", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Give a running update a moment; the service brings it again if it was not confirmed."""
        self._stopped.set()
        with suppress(Exception):
            self._chat.stop()
        self._thread.join(_ENDS_WITHIN_SECONDS)

    def _run(self) -> None:
        is_held = False
        while not self._stopped.is_set():
            pause = _AGAIN_AFTER_SECONDS
            try:
                is_held = is_held or self._lock.take()
                if is_held:
                    self._chat.listen(self._take, self._list_threads)
                    self._problem = ""
            except Exception as error:
                pause = self._complain(error)
            self._stopped.wait(pause)
        # Here, so that an update that lasts longer keeps it until its end, and no longer.
        self._lock.release()

    def _complain(self, error: Exception) -> float:
        """Log an error, the same one once; return how long to wait."""
        problem = repr(error)
        if problem != self._problem:
            self._problem = problem
            place = None if isinstance(error, GateError) else error
            _log.warning("%s: %s; it is tried again", self._chat.kind, error, exc_info=place)
        wanted = error.wait_seconds if isinstance(error, DeliveryError) else 0.0
        return min(max(_AGAIN_AFTER_SECONDS, wanted), _MAX_PAUSE_SECONDS)

    def _take(self, update: ChatUpdate) -> str:
        try:
            said = take_update(self._store, update, chat_calls=self._chat_calls)
        except Exception:
            if update.key != self._failing:
                self._failing, self._failures = update.key, 0
            self._failures += 1
            # A store that is out of reach must not lose an update. But one that always fails must
            # not keep the others away.
            if self._failures < _MAX_FAILURES or not self._is_reached():
                raise
            _log.exception("%s: an update was given up", self._chat.kind)
            return _GIVEN_UP
        return said

    def _is_reached(self) -> bool:
        try:
            self._store.asks.waiting_counts()
        except GateError:
            return False
        return True

    def _list_threads(self) -> Iterator[ChatMessage]:
        """Yield the first message of each conversation of this chat about a pending ask."""
        for ask in self._store.asks.pending(_MAX_THREADS):
            seen = set()
            for message in self._store.chats.messages_about(ask.id):
                if message.chat == self._chat.kind and message.room not in seen:
                    seen.add(message.room)
                    yield message
