"""Scripted channels that record messages, and routes that use them."""

from __future__ import annotations

import threading
from datetime import UTC

from gatebell.domain.asks.asks import Origin
from gatebell.domain.notifications.routes import Route
from gatebell.errors import DeliveryError
from gatebell.ports.channels import Post
from gatebell.services.asks import create_ask
from gatebell.services.asks.create_ask import Request
from gatebell.services.notifications import send_notices
from tests.support.people import a_person

ROAD = Route("desktop", "")
HOOK = Route("webhook", "https://x")


class Recorder:
    """A channel of any route: it records messages and follows a script first."""

    def __init__(self, *deeds):
        self.sent = []
        self.withdrawn = []
        self.deeds = list(deeds)
        self.arrived = threading.Semaphore(0)

    def send(self, letter):
        if self.deeds:
            self.deeds.pop(0)(letter)
        self.sent.append(letter)
        self.arrived.release()

    def withdraw(self, withdrawal):
        if self.deeds:
            self.deeds.pop(0)(withdrawal)
        self.withdrawn.append(withdrawal)


def fail(_):
    raise DeliveryError("no such luck")


class Channels:
    """Open one channel for every route, or the one with the name of the route."""

    def __init__(self, channel=None, named=None):
        self._channel = channel
        self._named = named or {}

    def open(self, route):
        return self._named.get(route.name, self._channel)


def post_to(channel, *routes, **more):
    return Post(routes or (ROAD,), Channels(channel), zone=UTC, **more)


def open_ask(store, prompt="Why?", **more):
    return create_ask.ask(store, Request(prompt, **more), Origin(agent="coder"), a_person()).ask


def send_all(store, post):
    send_notices.spread(store, post)
    for route in post.routes:
        while send_notices.send_next(store, post, route):
            pass
