"""A store whose chats have people, and the processes around it."""

from __future__ import annotations

import pytest

from gatebell.adapters.channels.slack import SlackChat
from gatebell.adapters.channels.telegram import TelegramChat
from gatebell.adapters.open_channels import NotificationChannels
from gatebell.domain.asks.asks import Origin
from gatebell.domain.enums import ChannelKind
from gatebell.domain.notifications.chats import ChatUpdate
from gatebell.ports.channels import Post
from gatebell.services.asks import create_ask
from gatebell.services.asks.create_ask import Request
from gatebell.services.chats import link_chat
from gatebell.services.chats.bridge import Bridge
from gatebell.services.chats.take_update import take_update
from gatebell.services.notifications import send_notices
from gatebell.testing import MemoryStore
from tests.support.people import a_person
from tests.support.slack_service import TOKENS
from tests.support.telegram_service import TOKEN

URL = "https://gate.example.org"
AGENT = Origin("/projects/shop", agent="bot", session="claude/s1")


def link(store, name="ada", account="7", chat=ChannelKind.TELEGRAM, room=None, token_id=""):
    """Link an account as a person does; return the link."""
    caller = a_person(name, verified=True)._replace(token_id=token_id)
    code = link_chat.invite(store, caller, chat)
    update = ChatUpdate(chat, f"code {code}", account, room or account, text=f"/start {code}")
    assert "answers for" in take_update(store, update, chat_calls=True)
    return store.chats.of_account(chat, account)


def ask(store, prompt="Deploy build 42?", kind="approval", origin=AGENT, **more):
    return create_ask.ask(store, Request(prompt, kind, **more), origin, a_person("sue")).ask


def build_post(store, access, *, chat_calls=True, url=URL):
    channels = NotificationChannels(store, store.push_key, (), url, access)
    return Post(link_chat.list_routes(store, access), channels, url, chat_calls=chat_calls)


def send(store, post):
    """Send everything that is due."""
    send_notices.spread(store, post)
    for route in post.routes:
        while send_notices.send_next(store, post, route):
            pass


@pytest.fixture
def service(request):
    """The service that the module names as SERVICE."""
    made = request.module.SERVICE()
    yield made
    made.close()


@pytest.fixture
def room(request, service):
    """A store beside that service, of the kind that the module names as ROOM."""
    made = request.module.ROOM(MemoryStore(), service)
    yield made
    made.close()
    made.store.close()


class Free:
    """The lock of a chat that only this test listens to."""

    def take(self):
        return True

    def release(self):
        """Keep nothing."""


class _Room:
    """A store with a linked account, its sender and its bridge, beside an imitated service."""

    def __init__(self, store, service):
        self.store, self.service = store, service
        self.link, self.access, self.bridge = None, {}, None

    def send(self, **more):
        send(self.store, build_post(self.store, self.access, **more))

    def open_chat(self):
        raise NotImplementedError

    def listen(self, *, chat_calls=True):
        self.bridge = Bridge(self.store, self.open_chat(), Free(), chat_calls=chat_calls)
        self.bridge.start()

    def show(self, *words, **more):
        """Open an ask and send it; return it and its message."""
        asked = ask(self.store, *words, **more)
        # A host may show a call in its own dialog first.
        self.store.clock.advance(61)
        self.send()
        return asked, self.service.find(asked.id)

    def get(self, asked):
        return self.store.asks.get(asked.id)

    def close(self):
        if self.bridge:
            self.bridge.stop()


class TelegramRoom(_Room):
    def __init__(self, store, service):
        super().__init__(store, service)
        self.link = link(store)
        self.access = {ChannelKind.TELEGRAM: (service.url, (TOKEN,))}

    def open_chat(self):
        return TelegramChat(self.service.url, TOKEN)

    def press(self, number, label, account=7):
        self.service.wait_confirmed(self.service.press(number, label, account))

    def say(self, text, about=0, account=7):
        self.service.wait_confirmed(self.service.say(text, about, account))


class SlackRoom(_Room):
    def __init__(self, store, service):
        super().__init__(store, service)
        self.link = link(store, account="U7", room="D7", chat=ChannelKind.SLACK)
        self.access = {ChannelKind.SLACK: (service.url, TOKENS)}

    def open_chat(self):
        return SlackChat(self.service.url, *TOKENS, ping_seconds=0.2)

    def listen(self, **more):
        super().listen(**more)
        self.service.wait(lambda: self.service.links)
