"""Devices in every store."""

from __future__ import annotations

import pytest
from tests.support.devices import add_device
from tests.support.people import a_person

from gatebell.domain.digests import token_digest
from gatebell.services import audit
from gatebell.services.notifications import push_devices
from gatebell.services.people import manage_logins


@pytest.mark.proves("PUSH-4")
def test_device_is_kept_replaced_and_removed(store):
    first = add_device(store, "ada")
    assert store.devices.get(first.id) == first and store.devices.all() == [first]
    second = add_device(store, "bob", seal="t")
    assert second.id == first.id and store.devices.all() == [second]
    push_devices.remove_gone(store, second.id)
    push_devices.remove_gone(store, second.id)
    assert store.devices.get(second.id) is None and not store.devices.remove(second.id, [])
    assert audit.verify(store) == []


@pytest.mark.proves("PUSH-4")
def test_device_ends_with_the_login_of_its_browser(store):
    def enter(name):
        link = manage_logins.make_link(store, a_person(name))
        return manage_logins.enter_by_link(store, link, {}, "seal")

    secret = enter("ada")
    other = add_device(store, "ada", "https://fcm.googleapis.com/other", seal="another")
    add_device(store, "ada", seal=token_digest("seal"))
    manage_logins.leave(store, secret, manage_logins.whose_login(store, secret))
    assert store.devices.all() == [other]
    add_device(store, "ada", seal=token_digest("seal"))
    enter("ada")
    assert len(store.devices.all()) == 2
    enter("bob")
    assert store.devices.all() == [other] and audit.verify(store) == []
