"""Read the routes and channels of a sender from the settings."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from gatebell.adapters.files import settings_file
from gatebell.adapters.open_channels import NotificationChannels
from gatebell.adapters.system import folders
from gatebell.errors import UsageError
from gatebell.ports.channels import Post

if TYPE_CHECKING:
    from gatebell.ports.store import Store


def read_post(store: Store) -> Post:
    """Read the routes and find their channels."""
    routes, url = settings_file.routes(os.environ), settings_file.inbox_url(os.environ)
    return Post(routes, NotificationChannels(store), url)


class ChangedPost:
    """Reads the settings again whenever the file has changed; ignores unreadable ones."""

    def __init__(self, store: Store, url: str) -> None:
        """`url` is the address of the inbox, if the settings name none."""
        self._store, self._url = store, url
        self._path = folders.settings_file(os.environ)
        self._seen = _read_change_time(self._path)

    def renew(self) -> Post | None:
        if (now := _read_change_time(self._path)) == self._seen:
            return None
        self._seen = now
        try:
            made = read_post(self._store)
        except UsageError:
            return None
        return made._replace(url=made.url or self._url)


def _read_change_time(path: str) -> int:
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return 0
