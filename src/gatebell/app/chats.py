"""Listen to the chats of the settings."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from gatebell.adapters.files import settings_file
from gatebell.adapters.open_channels import open_chat
from gatebell.adapters.system.file_locks import hold, keep_from_children
from gatebell.domain.notifications.routes import CHATS
from gatebell.errors import UsageError
from gatebell.services.chats.bridge import Bridge

if TYPE_CHECKING:
    from collections.abc import Callable

    from gatebell.domain.enums import ChannelKind
    from gatebell.ports.store import Store


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


def begin(store: Store) -> Callable[[], None]:
    """Listen to every chat of the settings; return a function that ends it."""
    calls = settings_file.chat_calls(os.environ)
    bridges = []
    for chat in list_set_up():
        url, tokens = settings_file.chat_access(os.environ, chat)
        bridges.append(
            Bridge(store, open_chat(chat, url, tokens), _Lock(store, chat), chat_calls=calls)
        )
    for bridge in bridges:
        bridge.start()

    def end() -> None:
        for bridge in bridges:
            bridge.stop()

    return end


class _Lock:
    """A lock file beside the store."""

    def __init__(self, store: Store, chat: ChannelKind) -> None:
        self._path = f"{store.local_path}-{chat}"

    def take(self) -> bool:
        descriptor = hold(self._path)
        return descriptor is not None and keep_from_children(descriptor) >= 0
