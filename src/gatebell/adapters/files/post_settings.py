"""Read the routes and channels of a sender from the settings."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from gatebell.adapters.files import settings_file
from gatebell.adapters.open_channels import NotificationChannels
from gatebell.adapters.system import folders
from gatebell.domain.notifications.routes import CHATS
from gatebell.errors import UsageError
from gatebell.ports.channels import Post
from gatebell.services.chats import link_chat
from gatebell.services.notifications import push_devices

if TYPE_CHECKING:
    from gatebell.domain.notifications.routes import Route
    from gatebell.ports.store import Store


def read_post(store: Store, person: str) -> Post:
    """Read the routes of a person, of devices and of chats, and find their channels."""
    routes, url = settings_file.routes(os.environ), settings_file.inbox_url(os.environ)
    services = settings_file.push_services(os.environ)
    access = {chat: settings_file.chat_access(os.environ, chat) for chat in CHATS}
    set_up = [chat for chat in CHATS if access[chat][1]]
    channels = NotificationChannels(store, store.push_key, services, url, access)
    devices, chats = push_devices.list_routes(store), link_chat.list_routes(store, set_up)
    calls = settings_file.chat_calls(os.environ)
    return Post((*routes, *devices, *chats), channels, url, chat_calls=calls, person=person)


class ChangedPost:
    """Reads the settings again whenever the file, a device or a chat has changed; ignores unreadable ones."""

    def __init__(self, store: Store, url: str, person: str) -> None:
        """`url` is the address of the inbox, if the settings name none."""
        self._store, self._url, self._person = store, url, person
        self._path = folders.settings_file(os.environ)
        self._seen = self._look()

    def _look(self) -> tuple[int, tuple[Route, ...]]:
        accounts = (
            *push_devices.list_routes(self._store), *link_chat.list_routes(self._store, CHATS)
        )  # fmt: skip
        return _read_change_time(self._path), accounts

    def renew(self) -> Post | None:
        if (now := self._look()) == self._seen:
            return None
        self._seen = now
        try:
            made = read_post(self._store, self._person)
        except UsageError:
            return None
        return made._replace(url=made.url or self._url)


def _read_change_time(path: str) -> int:
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return 0
