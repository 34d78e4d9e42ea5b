"""Sign browsers up for notifications, and decide asks by the buttons of a notification."""

from __future__ import annotations

import hmac
from typing import TYPE_CHECKING, NamedTuple

from gatebell.domain.asks.answers import Given
from gatebell.domain.audit.events import Event, EventKind
from gatebell.domain.digests import token_digest
from gatebell.domain.enums import ChannelKind, Decision
from gatebell.domain.notifications import push
from gatebell.domain.notifications.devices import (
    MAX_DEVICES,
    Device,
    build_route,
    check_endpoint,
    check_keys,
    describe_browser,
    make_device_id,
)
from gatebell.domain.people.principals import must_be_a_person
from gatebell.errors import NotFoundError, RefusedError, UsageError
from gatebell.services.asks import answer_ask, create_ask

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gatebell.domain.asks.asks import Ask
    from gatebell.domain.notifications.messages import Delivery
    from gatebell.domain.notifications.routes import Route
    from gatebell.domain.people.logins import Login
    from gatebell.domain.people.principals import Caller
    from gatebell.ports.store import Store

VIA = "push"
"""How an answer was given that came from a notification's button."""
_OPEN_IT = "open the ask in the inbox, and decide there"


class Subscription(NamedTuple):
    """The address and the keys that a browser made."""

    endpoint: str
    p256dh: str
    auth: str


class Pressed(NamedTuple):
    """A button of a notification that was pressed."""

    device_id: str
    ask_id: str
    decision: str
    token: str


def add(
    store: Store,
    caller: Caller,
    login: Login,
    given: Subscription,
    browser: str,
    services: Sequence[str],
) -> Device:
    """Sign the browser of a login up for the notices of its person.

    Args:
        browser: its own description, of the header user-agent
        services: the hosts of push services that may be called
    """
    must_be_a_person(caller, "signs up a device")
    if not login.seal:
        raise RefusedError(
            "this browser keeps no data of the inbox, so it cannot be told from others: allow it to "
            "keep data, then sign in again"
        )
    check_endpoint(given.endpoint, services)
    check_keys(given.p256dh, given.auth)
    made = Device(
        make_device_id(given.endpoint), login.person, *given, login.seal, login.token_id,
        describe_browser(browser), store.now(),
    )  # fmt: skip
    others = [one for one in store.devices.all() if one.person == made.person and one.id != made.id]
    if len(others) >= MAX_DEVICES:
        raise UsageError(f"you have {len(others)} devices already: remove one first")
    if not store.devices.add(made, [_event(EventKind.DEVICE_ADDED, made, caller)]):
        raise RefusedError("your token was revoked: sign in again")
    return made


def get_own(store: Store, caller: Caller, device_id: str) -> Device:
    """Return a device of this person."""
    found = store.devices.get(device_id)
    if found is None or found.person != caller.name:
        raise NotFoundError(f"there is no device {device_id} of yours. List all: gate person list")
    return found


def remove(store: Store, caller: Caller, device_id: str) -> None:
    """Remove a device: no more messages are sent to it, and its buttons do nothing."""
    if not store.throwaway:
        must_be_a_person(caller, "removes a device")
    found = store.devices.get(device_id)
    if found is None or not store.devices.remove(
        device_id, [_event(EventKind.DEVICE_REMOVED, found, caller)]
    ):
        raise NotFoundError(f"there is no device {device_id}. List all: gate person list")


def remove_gone(store: Store, device_id: str) -> None:
    """Remove a device that its push service does not know any more."""
    if found := store.devices.get(device_id):
        content = {"id": found.id, "label": found.label, "reason": "its push service forgot it"}
        store.devices.remove(
            device_id, [Event(EventKind.DEVICE_REMOVED, found.person, "gate", content)]
        )


def _event(kind: EventKind, device: Device, caller: Caller) -> Event:
    about = {"id": device.id, "label": device.label}
    content = {**about, "via": caller.via, "evidence": caller.evidence}
    return Event(kind, device.person, caller.actor, content)


def list_routes(store: Store) -> tuple[Route, ...]:
    """Return a route to each device."""
    return tuple(build_route(device) for device in store.devices.all())


def make_buttons(
    store: Store, route: Route, delivery: Delivery, ask: Ask | None
) -> tuple[tuple[Decision, str], ...]:
    """Return the buttons of a message; none if the ask must be seen before it is decided."""
    if route.via != ChannelKind.WEBPUSH or ask is None or not push.has_buttons(delivery.kind, ask):
        return ()
    secret = store.push_key()
    return tuple((one, push.make_button(secret, route.target, ask, one)) for one in Decision)


def answer(store: Store, caller: Caller, pressed: Pressed) -> Ask:
    """Decide an ask by a button; the login of the device's person must come with it.

    Raises:
        RefusedError: The button is not one of this device, ask and decision, or was used before.
        AlreadySettledError: The ask is settled.
    """
    device = store.devices.get(pressed.device_id)
    if device is None or device.person != caller.name:
        raise RefusedError(f"this device is not signed up for you any more: {_OPEN_IT}")
    ask = create_ask.get(store, pressed.ask_id)
    if pressed.decision not in tuple(Decision):
        raise UsageError(f"expected one of the decisions {', '.join(Decision)}")
    expected = push.make_button(store.push_key(), device.id, ask, Decision(pressed.decision))
    if not hmac.compare_digest(expected.encode(), pressed.token.encode()):
        raise RefusedError(f"this button does not belong to {ask.id}: {_OPEN_IT}")
    key = f"push {token_digest(pressed.token)[:32]}"
    if store.asks.answer_with_key(ask.id, caller.actor, key):
        raise RefusedError(f"this button was used before: {_OPEN_IT}")
    evidence = caller.evidence | {"device": device.id}
    by_push = caller._replace(via=VIA, evidence=evidence)
    given = Given(pressed.decision, digest=ask.digest, key=key)
    return answer_ask.answer(store, ask.id, by_push, given)[1]
