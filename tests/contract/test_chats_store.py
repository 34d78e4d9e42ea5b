"""Chat links and chat messages in every store."""

from __future__ import annotations

import threading
from datetime import timedelta

import pytest
from tests.support.chat_room import ask, link
from tests.support.interleaving import together
from tests.support.past_calls import ask_about, decide
from tests.support.people import a_person, an_agent

from gatebell.domain.digests import token_digest
from gatebell.domain.enums import ChannelKind, ShadowState
from gatebell.domain.notifications.chats import CODES_LIVE, ChatMessage, ChatUpdate
from gatebell.domain.people.logins import make_token_id
from gatebell.errors import AgentRefusedError, NotFoundError, RefusedError
from gatebell.services import audit
from gatebell.services.asks import create_ask
from gatebell.services.chats import link_chat
from gatebell.services.chats.take_update import take_update
from gatebell.services.people import manage_people
from gatebell.services.permissions import standing_rules

__all__ = ["together"]

TELEGRAM = ChannelKind.TELEGRAM


def invite(store, **more):
    return link_chat.invite(store, a_person(**more), TELEGRAM)


def use(store, code, account="7", chat=TELEGRAM, key="1"):
    return link_chat.use_code(store, ChatUpdate(chat, key, account, account), code)


@pytest.mark.proves("CHAT-5")
def test_code_links_one_account_once(store):
    code = invite(store)
    assert use(store, "AAAA") is None and use(store, code, chat=ChannelKind.SLACK) is None
    made = use(store, code)
    assert made.account == "7" and store.chats.of_account(TELEGRAM, "7") == made
    # The same update again is the same link; another account gets nothing.
    assert use(store, code) == made and use(store, code, "8") is None
    assert store.chats.of_account(TELEGRAM, "") is None
    link_chat.remove(store, a_person(), made.id)
    with pytest.raises(NotFoundError):
        link_chat.remove(store, a_person(), made.id)
    assert store.chats.all() == [] and audit.verify(store) == []


@pytest.mark.proves("CHAT-5")
def test_code_ends_after_its_time(store, monkeypatch):
    code, made_at = invite(store), store.now()
    monkeypatch.setattr(type(store), "now", lambda _: made_at + CODES_LIVE)
    assert use(store, code) is None


@pytest.mark.proves("CHAT-5")
def test_old_codes_are_removed(store):
    old = invite(store)
    found = store.chats.get(link_chat.make_link_id(old))
    store.chats.remove(found.id, [])
    ancient = found._replace(made_at=found.made_at - 2 * CODES_LIVE)
    store.chats.invite(ancient, [])
    assert not store.chats.use(ancient, "7", "7", [])
    invite(store)
    assert len(store.chats.all()) == 1


@pytest.mark.proves("CHAT-5")
def test_link_ends_with_its_token_or_person(store):
    secret = manage_people.add(store, a_person(), "ada")
    token_id = make_token_id(token_digest(secret))
    link(store, token_id=token_id)
    link(store, "bob", "9")
    manage_people.revoke(store, a_person(), token_id)
    assert [one.person for one in store.chats.all()] == ["bob"]
    with pytest.raises(RefusedError):
        link(store, token_id=token_id)
    link(store)
    invite(store, name="ada")
    manage_people.remove(store, a_person(), "ada")
    # A link of the OS user is not one of the person's.
    assert [(one.person, one.verified) for one in store.chats.all()] == [
        ("ada", False), ("bob", True),
    ]  # fmt: skip
    assert audit.verify(store) == []


@pytest.mark.proves("CHAT-11")
def test_agent_neither_links_nor_unlinks(store):
    made = link(store)
    with pytest.raises(AgentRefusedError):
        link_chat.invite(store, an_agent(), TELEGRAM)
    with pytest.raises(AgentRefusedError):
        link_chat.remove(store, an_agent(), made.id)
    assert store.chats.all() == [made]


@pytest.mark.proves("CHAT-5")
def test_account_linked_twice_at_once_has_one_person(store):
    codes = [invite(store, name=name) for name in ("ada", "bob")]
    results = []
    threads = [
        threading.Thread(target=lambda code=code: results.append(use(store, code)))
        for code in codes
    ]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert len(results) == 2 and any(results)
    assert len([one for one in store.chats.all() if one.account]) == 1
    assert audit.verify(store) == []


@pytest.mark.proves("CHAT-3")
def test_message_is_kept_once_and_for_months(store):
    now = store.now()
    first = ChatMessage(TELEGRAM, "7", "1", "a-x", "d", "opened", now)
    store.chats.add_message(first)
    store.chats.add_message(first._replace(ask_id="a-y"))
    assert store.chats.message(TELEGRAM, "7", "1") == first
    assert store.chats.message(ChannelKind.SLACK, "7", "1") is None
    old = first._replace(message="2", sent_at=now - timedelta(days=91))
    store.chats.add_message(old)
    assert store.chats.messages_about("a-x") == [first]


@pytest.mark.proves("CHAT-2", "CHAT-8")
def test_update_that_comes_again_acts_once(store):
    link(store)
    asked, text = ask(store), ask(store, "Which name?", "text")
    store.chats.add_message(
        ChatMessage(TELEGRAM, "7", "2", text.id, text.digest, "opened", store.now())
    )
    button = f"{asked.id}|{asked.digest[:32]}|n"
    pressed = ChatUpdate(TELEGRAM, "press/1", "7", "7", "1", button=button)
    written = ChatUpdate(TELEGRAM, "7/9", "7", "7", "2", "?why")
    for _ in range(2):
        assert take_update(store, pressed, chat_calls=True) == f"{asked.id}: rejected"
        assert "Sent to the agent" in take_update(store, written, chat_calls=True)
    (given,) = store.asks.answers(asked.id)
    assert (given.principal, given.via, given.verified) == ("person:ada", "telegram", True)
    assert [one.text for one in store.asks.messages(text.id)] == ["why"]
    again = take_update(store, written._replace(is_again=True), chat_calls=True)
    assert again == "" and audit.verify(store) == []


def press(store, asked, choice="y"):
    button = f"{asked.id}|{asked.digest[:32]}|{choice}"
    # Without a message, which would be recorded in a transaction of its own.
    update = ChatUpdate(TELEGRAM, "press/1", "7", "7", button=button)
    return take_update(store, update, chat_calls=True)


def say(store, asked):
    return take_update(store, ChatUpdate(TELEGRAM, "7/9", "7", "7", "2", "?why"), chat_calls=True)


@pytest.mark.proves("CHAT-14")
@pytest.mark.parametrize("act", [press, say])
def test_account_that_is_unlinked_at_this_moment_does_nothing(store, monkeypatch, act):
    made, asked = link(store), ask(store)
    shown = ChatMessage(TELEGRAM, "7", "2", asked.id, asked.digest, "opened", store.now())
    store.chats.add_message(shown)
    change = type(store.asks).change

    def unlink_first(self, *given):
        if store.chats.get(made.id):
            link_chat.remove(store, a_person(), made.id)
        return change(self, *given)

    monkeypatch.setattr(type(store.asks), "change", unlink_first)
    assert act(store, asked) == ""
    assert store.asks.get(asked.id).pending and not store.asks.messages(asked.id)
    assert audit.verify(store) == []


@pytest.mark.proves("CHAT-14", "PG-3")
@pytest.mark.parametrize("is_press_first", [True, False])
def test_press_and_unlink_at_once(together, is_press_first):
    store = together.store
    made, asked = link(store), ask(store)
    deeds = [
        lambda own: press(own, asked), lambda own: link_chat.remove(own, a_person(), made.id),
    ]  # fmt: skip
    together.run(*(deeds if is_press_first else deeds[::-1]))
    assert store.asks.get(asked.id).pending is not is_press_first
    kinds = [one.event.kind for one in store.audit.entries()]
    if is_press_first:
        assert kinds.index("ask.answered") < kinds.index("chat.unlinked")
    assert audit.verify(store) == []


@pytest.mark.proves("LESS-4", "CHAT-2")
@pytest.mark.parametrize("choice", ["y", "n", "back", "gone"])
def test_decision_in_a_chat_counts_for_rules(store, choice):
    link(store)
    for number in range(3):
        decide(store, f"npm test {number}")
    shadow = standing_rules.begin_shadow(store, a_person(), "/p", "Bash(npm test *)")
    asked = ask_about(store, "npm test x")
    if choice == "back":
        shown = ChatMessage(TELEGRAM, "7", "2", asked.id, asked.digest, "opened", store.now())
        store.chats.add_message(shown)
        say(store, asked)
    if choice == "gone":
        create_ask.cancel(store, asked.id, a_person(), "gone")
    else:
        press(store, asked, "y" if choice == "back" else choice)
    (compared,) = standing_rules.list_shadows(store, a_person())
    counted = {"y": (1, 0, 0), "n": (0, 1, 0), "back": (0, 0, 1), "gone": (0, 0, 0)}[choice]
    tally = compared.tally
    assert (tally.approved, tally.rejected, tally.conditional) == counted
    assert (compared.shadow.state == ShadowState.ACTIVE) is (choice in ("y", "gone"))
    assert compared.shadow.id == shadow.id and audit.verify(store) == []
