"""Browsers that get notifications, and the buttons by which they decide."""

from __future__ import annotations

import pytest
from tests.support.devices import HERE, BrowserKeys, add_device
from tests.support.people import a_person, an_agent
from tests.support.recorded_channels import Recorder, open_ask, post_to, send_all
from tests.support.stores import make_lasting

from gatebell.domain.asks.answers import Given
from gatebell.domain.audit.events import EventKind
from gatebell.domain.enums import Decision
from gatebell.domain.notifications.devices import MAX_DEVICES
from gatebell.domain.notifications.routes import Route
from gatebell.domain.people.logins import SCOPES, Login
from gatebell.errors import (
    AgentRefusedError,
    AlreadySettledError,
    DeliveryError,
    NotFoundError,
    RefusedError,
    UsageError,
)
from gatebell.services.asks import answer_ask
from gatebell.services.notifications import push_devices
from gatebell.services.notifications.push_devices import Pressed
from gatebell.services.people import manage_people
from gatebell.testing import MemoryStore

ADA = a_person(verified=True)
YES, NO = Decision.APPROVED, Decision.REJECTED


@pytest.fixture
def store():
    made = MemoryStore()
    make_lasting(made)
    return made


def send(store, asked, **more):
    """Send the message of an ask to the devices; return its buttons."""
    channel = Recorder()
    store.clock.advance(120)
    send_all(store, post_to(channel, *push_devices.list_routes(store)))
    (message,) = [one for one in channel.sent if one.ask_id == asked.id]
    return dict(message.buttons)


@pytest.mark.proves("PUSH-8")
def test_device_needs_a_person_and_a_lasting_browser(store):
    login = Login("ada", verified=True, scopes=SCOPES, expires_at=store.now(), seal="s")
    given = BrowserKeys().subscription("https://fcm.googleapis.com/x")
    with pytest.raises(AgentRefusedError):
        push_devices.add(store, an_agent(), login, given, "Firefox", HERE)
    with pytest.raises(RefusedError, match="keeps no data"):
        push_devices.add(store, ADA, login._replace(seal=""), given, "Firefox", HERE)
    assert store.devices.all() == [] and store.audit.head().seq == 0
    made = add_device(store)
    assert push_devices.get_own(store, ADA, made.id) == made
    with pytest.raises(NotFoundError, match="of yours"):
        push_devices.get_own(store, a_person("sue"), made.id)


@pytest.mark.proves("PUSH-4")
def test_device_ends_with_its_token(store):
    manage_people.add(store, ADA, "ada")
    (token,) = store.people.tokens()
    add_device(store, token_id=token.id)
    manage_people.revoke(store, ADA, token.id)
    assert push_devices.list_routes(store) == ()
    with pytest.raises(RefusedError, match="was revoked"):
        add_device(store, token_id=token.id)


@pytest.mark.proves("PUSH-4")
def test_one_person_has_a_bounded_number_of_devices(store):
    for number in range(MAX_DEVICES):
        add_device(store, endpoint=f"https://fcm.googleapis.com/{number}")
    with pytest.raises(UsageError, match="remove one first"):
        add_device(store, endpoint="https://fcm.googleapis.com/more")
    # The same browser again, and that of another person.
    add_device(store, endpoint="https://fcm.googleapis.com/0")
    add_device(store, "sue", "https://fcm.googleapis.com/hers")
    assert len(store.devices.all()) == MAX_DEVICES + 1


@pytest.mark.proves("PUSH-4", "PUSH-8")
def test_person_removes_a_device(store):
    made = add_device(store)
    with pytest.raises(AgentRefusedError):
        push_devices.remove(store, an_agent(), made.id)
    push_devices.remove(store, ADA, made.id)
    with pytest.raises(NotFoundError, match="gate person list"):
        push_devices.remove(store, ADA, made.id)
    kinds = [entry.event.kind for entry in store.audit.entries()]
    assert kinds == ["device.added", "device.removed"] and push_devices.list_routes(store) == ()


def list_removals(store):
    events = [entry.event for entry in store.audit.entries()]
    return [one for one in events if one.kind == EventKind.DEVICE_REMOVED]


@pytest.mark.proves("PUSH-4")
def test_device_that_its_service_forgot_is_removed(store):
    made = add_device(store)
    asked = open_ask(store, kind="approval")

    def forget(_):
        raise DeliveryError("gone", is_gone=True)

    channel = Recorder(forget)
    store.clock.advance(120)
    send_all(store, post_to(channel, *push_devices.list_routes(store)))
    assert store.devices.all() == [] and channel.sent == []
    (event,) = list_removals(store)
    assert event.actor == "gate"
    assert event.content["reason"] == "its push service forgot it"
    assert store.outbox.problems(9) == [] and store.asks.get(asked.id).pending
    push_devices.remove_gone(store, made.id)
    assert list_removals(store) == [event]


@pytest.mark.proves("PUSH-6")
@pytest.mark.parametrize(
    ("more", "has"),
    [({"kind": "approval"}, True), ({"kind": "approval", "context": "x"}, False), ({}, False)],
)
def test_only_a_short_approval_has_buttons(store, more, has):
    add_device(store)
    assert set(send(store, open_ask(store, **more))) == ({YES, NO} if has else set())


@pytest.mark.proves("PUSH-6")
def test_other_channels_have_no_buttons(store):
    channel, asked = Recorder(), open_ask(store, kind="approval")
    send_all(store, post_to(channel, Route("desktop", "")))
    assert channel.sent[0].buttons == () and channel.sent[0].ask_id == asked.id


@pytest.mark.proves("PUSH-7")
@pytest.mark.parametrize("decision", [YES, NO])
def test_button_decides_its_ask_as_its_person(store, decision):
    made = add_device(store)
    asked = open_ask(store, "Deploy?", kind="approval")
    token = send(store, asked)[decision]
    after = push_devices.answer(store, ADA, Pressed(made.id, asked.id, decision, token))
    assert (after.decision, after.settled_by, after.settled_via) == (decision, "person:ada", "push")
    event = store.audit.of_subject(asked.id)[-1].event
    assert event.content["evidence"]["device"] == made.id and event.content["verified"]


@pytest.mark.proves("PUSH-7", "PUSH-8", "LAW-3")
def test_button_works_for_nothing_else(store):
    mine, hers = add_device(store), add_device(store, "sue", "https://fcm.googleapis.com/hers")
    asked, other = (open_ask(store, prompt, kind="approval") for prompt in ("Deploy?", "Delete?"))
    channel = Recorder()
    store.clock.advance(120)
    (route,) = [one for one in push_devices.list_routes(store) if one.target == mine.id]
    send_all(store, post_to(channel, route))
    token = push_devices.make_buttons(store, route, _delivery(store, asked, route), asked)
    good = Pressed(mine.id, asked.id, YES, dict(token)[YES])
    for caller, pressed, says in (
        (a_person("sue"), good, "not signed up for you"),
        (ADA, good._replace(device_id=hers.id), "not signed up for you"),
        (ADA, good._replace(device_id="d-none"), "not signed up for you"),
        (ADA, good._replace(ask_id=other.id), "does not belong to"),
        (ADA, good._replace(decision=NO), "does not belong to"),
        (ADA, good._replace(token="é"), "does not belong to"),
        (ADA, good._replace(decision="maybe"), "expected one of the decisions"),
    ):
        with pytest.raises((RefusedError, UsageError), match=says):
            push_devices.answer(store, caller, pressed)
    assert all(store.asks.get(one.id).pending for one in (asked, other))
    assert push_devices.answer(store, ADA, good).decision == YES
    with pytest.raises(RefusedError, match="was used before"):
        push_devices.answer(store, ADA, good)


def _delivery(store, asked, route):
    (found,) = [one for one in store.outbox.list_about(asked.id) if one.route == route.name]
    return found


@pytest.mark.proves("PUSH-7")
def test_late_button_is_refused(store):
    made = add_device(store)
    asked = open_ask(store, "Deploy?", kind="approval")
    token = send(store, asked)[YES]
    answer_ask.answer(store, asked.id, a_person("sue"), Given("no"))
    with pytest.raises(AlreadySettledError):
        push_devices.answer(store, ADA, Pressed(made.id, asked.id, YES, token))
    assert store.asks.get(asked.id).decision == NO
