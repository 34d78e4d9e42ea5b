"""Listen to the chats of the settings."""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

from gatebell.adapters.files import settings_file
from gatebell.adapters.open_channels import open_chat
from gatebell.adapters.system.file_locks import hold, is_held, keep_from_children, release
from gatebell.domain.notifications.routes import CHATS
from gatebell.errors import UsageError
from gatebell.services.chats.bridge import Bridge

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gatebell.domain.enums import ChannelKind
    from gatebell.ports.store import Store

_LOOK_AGAIN_SECONDS = 3.0


def list_set_up() -> list[ChannelKind]:
    """Return the chats whose tokens the settings name."""
    return [chat for chat in CHATS if settings_file.chat_access(os.environ, chat)[1]]


def must_be_set_up(chat: ChannelKind) -> None:
    """Refuse to link an account to a chat without a bot."""
    if chat not in list_set_up():
        raise UsageError(
            f"{chat} is not set up here: name a file with its token in {chat}_token_file "
            "(docs/chat.md)"
        )


def find_bot(chat: ChannelKind, words: Sequence[str] = ()) -> str:
    """Return the name of the bot, with the tokens among these words, or with those of the settings.

    Raises:
        UsageError: There is no token of this chat among the words.
        DeliveryError: The service refuses it, or cannot be reached.
    """
    tokens = settings_file.find_tokens(chat, words)
    if not words:
        _, tokens = settings_file.chat_access(os.environ, chat)
    if not tokens:
        raise UsageError(f"this is not a token of {chat.capitalize()}")
    return open_chat(chat, settings_file.chat_url(os.environ, chat), tokens).check()


def is_heard(store: Store, chat: ChannelKind) -> bool:
    """Return whether a process of this host listens to a chat."""
    return is_held(_lock_path(store, chat))


def begin(store: Store) -> Callable[[], None]:
    """Listen to every chat of the settings, also after they change; return a function that ends it."""
    return _Listening(store).end


class _Listening:
    """The bridges of the chats in the settings."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._bridges: dict[ChannelKind, tuple[object, Bridge]] = {}
        self._ended = threading.Event()
        self._look()
        self._thread = threading.Thread(target=self._watch, name="gatebell-chats", daemon=True)
        self._thread.start()

    def _watch(self) -> None:
        while not self._ended.wait(_LOOK_AGAIN_SECONDS):
            # While the settings cannot be read, the last ones count.
            with suppress(UsageError):
                self._look()

    def _look(self) -> None:
        calls = settings_file.chat_calls(os.environ)
        wanted = {chat: settings_file.chat_access(os.environ, chat) for chat in list_set_up()}
        for chat in CHATS:
            access, running = wanted.get(chat), self._bridges.get(chat)
            if running and running[0] != (access, calls):
                self._bridges.pop(chat)[1].stop()
                running = None
            if access and not running:
                lock = _Lock(_lock_path(self._store, chat))
                bridge = Bridge(self._store, open_chat(chat, *access), lock, chat_calls=calls)
                self._bridges[chat] = ((access, calls), bridge)
                bridge.start()

    def end(self) -> None:
        self._ended.set()
        self._thread.join()
        for _, bridge in self._bridges.values():
            bridge.stop()


def _lock_path(store: Store, chat: ChannelKind) -> str:
    """Return the lock file of a chat, beside the store."""
    return f"{store.local_path}-{chat}"


class _Lock:
    def __init__(self, path: str) -> None:
        self._path = path
        self._descriptor: int | None = None

    def take(self) -> bool:
        self._descriptor = hold(self._path)
        return self._descriptor is not None and keep_from_children(self._descriptor) >= 0

    def release(self) -> None:
        if self._descriptor is not None:
            release(self._descriptor)
            self._descriptor = None
