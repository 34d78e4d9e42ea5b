"""Web push for faces: the key that browsers need, and a message to one device."""

from __future__ import annotations

import os
from importlib.util import find_spec
from typing import TYPE_CHECKING

from gatebell.adapters.files import settings_file
from gatebell.errors import StoreError
from gatebell.services.notifications.send_notices import send_test

if TYPE_CHECKING:
    from gatebell.domain.notifications.devices import Device
    from gatebell.ports.store import Store


def find_public_key(store: Store) -> str:
    """Return the public key of the store's web push; empty if messages cannot be sent from here."""
    if find_spec("cryptography") is None:
        return ""
    # Imported here: it is an extra, and loads slowly.
    from gatebell.adapters.push_crypto import get_public_key

    try:
        return get_public_key(store.push_key())
    except StoreError:
        return ""


def list_services() -> tuple[str, ...]:
    """Return the hosts of the push services that may be called."""
    return settings_file.push_services(os.environ)


def send_test_message(store: Store, device: Device, url: str) -> str:
    """Send a test message to a device; return the problem, or an empty text."""
    # Imported here: only this needs it.
    from gatebell.adapters.files.post_settings import read_post
    from gatebell.domain.notifications.devices import build_route

    post = read_post(store, device.person)
    (tried,) = send_test(store, post._replace(url=post.url or url), [build_route(device)])
    return tried.problem
