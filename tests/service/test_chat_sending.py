"""Messages to chats: sent, remembered, and changed when their ask is settled."""

from __future__ import annotations

import pytest
from tests.support.chat_room import URL, ask, link
from tests.support.people import a_person, an_agent
from tests.support.recorded_channels import Channels, Recorder, fail, send_all

from gatebell.domain.asks.answers import Given
from gatebell.domain.asks.asks import Origin
from gatebell.domain.enums import ChannelKind, NoticeKind
from gatebell.domain.notifications.messages import Delivery
from gatebell.domain.notifications.routes import Route
from gatebell.domain.permissions.calls import make_call
from gatebell.errors import DeliveryError
from gatebell.ports.channels import Post
from gatebell.services.asks import answer_ask, ask_messages
from gatebell.services.chats import link_chat
from gatebell.services.notifications import chat_messages, notes, withdraw_notices
from gatebell.testing import MemoryStore

ADA = a_person(verified=True)


@pytest.fixture
def store():
    made = MemoryStore()
    link(made)
    return made


class Bot(Recorder):
    """A chat that numbers its messages."""

    def send(self, letter):
        super().send(letter)
        return f"m{len(self.sent)}"

    @property
    def cards(self):
        return [letter.card for letter in self.sent]


def post_of(store, bot, *more, **settings):
    routes = (*link_chat.list_routes(store, [ChannelKind.TELEGRAM]), *more)
    return Post(routes, Channels(bot), URL, **settings)


def messages(store, asked):
    return [(one.message, one.kind) for one in store.chats.messages_about(asked.id)]


@pytest.mark.proves("CHAT-1")
def test_question_is_sent_as_a_card_and_remembered(store):
    bot, asked = Bot(), ask(store)
    send_all(store, post_of(store, bot))
    (card,) = bot.cards
    assert card.head == f"{asked.id} · approval" and card.link == f"{URL}/asks/{asked.id}"
    assert card.buttons and card.thread == ""
    (known,) = store.chats.messages_about(asked.id)
    assert (known.room, known.message, known.digest) == ("7", "m1", asked.digest)


@pytest.mark.proves("CHAT-7")
def test_setting_of_calls_reaches_the_card(store):
    bot = Bot()
    for takes, url in ((False, ""), (True, URL)):
        ask(store, f"Run it {takes}?", call=make_call("Bash", {"command": "make"}))
        # Its host may show it first.
        store.clock.advance(120)
        send_all(store, post_of(store, bot, chat_calls=takes)._replace(url=url))
    without, with_ = bot.cards
    assert not without.buttons and "chat_calls" in without.foot and without.link == ""
    assert with_.buttons and with_.link


@pytest.mark.proves("CHAT-4")
def test_reply_comes_below_the_question(store):
    bot, asked = Bot(), ask(store, "Which?", "text")
    send_all(store, post_of(store, bot))
    ask_messages.ask_back(store, asked.id, ADA, "why?")
    ask_messages.reply(store, asked.id, an_agent("s1"), "because")
    send_all(store, post_of(store, bot))
    reply = bot.cards[-1]
    assert reply.head == f"{asked.id} · reply of the agent" and reply.shown == "because"
    assert reply.thread == "m1"
    assert messages(store, asked) == [("m1", "opened"), ("m2", "replied")]


@pytest.mark.proves("CHAT-1")
def test_note_of_an_agent_has_its_own_message(store):
    bot = Bot()
    notes.tell(store, Origin("/p", agent="bot"), an_agent(), "half done")
    send_all(store, post_of(store, bot))
    (card,) = bot.cards
    assert card.head == "note of an agent" and "half done" in card.shown
    assert (card.thread, card.link) == ("", "")


@pytest.mark.proves("CHAT-3")
def test_every_message_of_the_question_says_who_won(store):
    bot, asked = Bot(), ask(store, "Which?", "text", remind_every_seconds=60)
    post = post_of(store, bot)
    send_all(store, post)
    ask_messages.reply(store, asked.id, an_agent("s1"), "look")
    send_all(store, post)
    answer_ask.answer(store, asked.id, ADA, Given("blue"))
    send_all(store, post)
    (withdrawal,) = bot.withdrawn
    assert withdrawal.receipt == "m1" and withdrawal.rest is None
    card = withdrawal.news.card
    assert card.head == f"{asked.id} · settled" and "answered by ada, cli" in card.shown
    assert not card.buttons


@pytest.mark.proves("CHAT-3", "CHAT-9")
def test_change_of_a_message_is_tried_again(store):
    bot, asked = Bot(), ask(store)
    post = post_of(store, bot)
    send_all(store, post)
    answer_ask.answer(store, asked.id, ADA, Given("yes"))
    bot.deeds = [fail]
    send_all(store, post)
    assert bot.withdrawn == []
    store.clock.advance(3600)
    send_all(store, post)
    assert [one.receipt for one in bot.withdrawn] == ["m1"]


@pytest.mark.proves("CHAT-3")
def test_message_of_an_ask_settled_too_early_is_changed(store):
    asked = ask(store)
    bot = Bot(lambda _: answer_ask.answer(store, asked.id, ADA, Given("yes")))
    send_all(store, post_of(store, bot))
    assert bot.withdrawn and {one.receipt for one in bot.withdrawn} == {"m1"}
    assert "approved by ada" in bot.withdrawn[0].news.card.shown


@pytest.mark.proves("CHAT-9")
def test_busy_chat_costs_no_attempt(store):
    def busy(_):
        raise DeliveryError("busy", wait_seconds=90.0)

    bot, asked = Bot(*[busy] * 9), ask(store)
    post = post_of(store, bot)
    (route,) = post.routes
    for _ in range(9):
        send_all(store, post)
        assert bot.sent == [] and store.outbox.problems(9) == []
        store.clock.advance(89)
        send_all(store, post)
        store.clock.advance(1)
    send_all(store, post)
    assert len(bot.sent) == 1 and messages(store, asked) == [("m1", "opened")]
    assert chat_messages.list_messages(store, route, asked.id)[0].message == "m1"


@pytest.mark.proves("CHAT-9")
def test_message_that_another_channel_sent_is_not_remembered(store):
    asked, now = ask(store), store.now()
    delivery = Delivery("n1", NoticeKind.OPENED, asked.id, "", "desktop", now, now)
    chat_messages.record(store, Route("desktop", ""), delivery, "9")
    (route,) = link_chat.list_routes(store, [ChannelKind.TELEGRAM])
    chat_messages.record(store, route, delivery, "")
    chat_messages.record(store, route, delivery._replace(ask_id="a-zzzz"), "9")
    assert messages(store, asked) == []


@pytest.mark.proves("CHAT-3", "PUSH-5")
def test_only_some_messages_are_taken_back_at_once(store):
    asked, now = ask(store), store.now()
    bot = Bot()
    chat, desktop, hook = (
        *link_chat.list_routes(store, [ChannelKind.TELEGRAM]),
        Route("desktop", ""),
        Route("webhook", "https://x"),
    )
    post = post_of(store, bot, desktop, hook)
    for route, tried in ((chat, 0), (hook, 0), (desktop, 1)):
        delivery = Delivery("n1", NoticeKind.OPENED, asked.id, "", route.name, now, now)
        withdraw_notices.try_at_once(store, post, route, delivery)
        assert len(bot.withdrawn) == tried, route
    withdraw_notices.try_at_once(store, post, desktop, delivery._replace(ask_id="a-zzzz"))
    assert len(bot.withdrawn) == 1
