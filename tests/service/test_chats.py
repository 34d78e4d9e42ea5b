"""Chats: what an account may do, and the thread that brings its updates."""

from __future__ import annotations

import threading

import pytest
from tests.support.chat_room import ask, link
from tests.support.people import a_person, an_agent
from tests.support.stores import make_lasting

from gatebell.domain.asks.answers import Given
from gatebell.domain.asks.attachments import hash_bytes
from gatebell.domain.enums import AskStatus, ChannelKind, Decision, NoticeKind
from gatebell.domain.notifications.chat_cards import build_question
from gatebell.domain.notifications.chats import CODES_LIVE, ChatMessage, ChatUpdate
from gatebell.domain.permissions.calls import make_call
from gatebell.errors import (
    AgentRefusedError,
    DeliveryError,
    NotFoundError,
    RefusedError,
    StoreError,
)
from gatebell.services.asks import answer_ask, create_ask
from gatebell.services.chats import bridge, link_chat
from gatebell.services.chats.bridge import Bridge
from gatebell.services.chats.take_update import take_update
from gatebell.services.people import manage_people
from gatebell.testing import MemoryStore

TELEGRAM, SLACK = ChannelKind.TELEGRAM, ChannelKind.SLACK
ADA = a_person(verified=True)
OLD = "This message is not known here any more. Open the question in the inbox."
WHICH = "Reply to the message of a question, so that it is clear which one you mean."


@pytest.fixture
def store():
    made = MemoryStore()
    make_lasting(made)
    return made


def update(store, text="", button="", about="", account="7", room=None, key=None, **more):
    number = key or f"u{store.audit.head().seq}-{text}-{button[-1:]}"
    return ChatUpdate(TELEGRAM, number, account, room or account, about, text, button, **more)


def take(store, chat_calls=True, **words):
    return take_update(store, update(store, **words), chat_calls=chat_calls)


def buttons(asked):
    card = build_question(asked, NoticeKind.OPENED, TELEGRAM, "", takes_calls=True)
    return [button.data for button in card.buttons]


def show(store, asked, message="m1", room="7"):
    """Record a message about an ask, as the sender does."""
    sent = ChatMessage(TELEGRAM, room, message, asked.id, asked.digest, "opened", store.now())
    store.chats.add_message(sent)
    return message


@pytest.mark.proves("CHAT-5")
def test_code_links_one_account_once(store):
    code = link_chat.invite(store, ADA, TELEGRAM)
    assert take(store, text=f"/start {code}", account="8", room="8").startswith(
        "This account now answers for ada."
    )
    assert "ada" in take(store, text=f"/start {code}", account="8"), "the same update again"
    assert take(store, text=f"/start {code}", account="9") == ""
    assert store.chats.of_account(TELEGRAM, "9") is None
    linked = store.chats.of_account(TELEGRAM, "8")
    assert (linked.person, linked.verified, linked.code) == ("ada", True, "")
    kinds = [entry.event.kind for entry in store.audit.entries()]
    assert kinds == ["chat.invited", "chat.linked"]


@pytest.mark.proves("CHAT-5")
@pytest.mark.parametrize("how", ["late", "other", "wrong"])
def test_code_that_is_not_good_links_nothing(store, how):
    code = link_chat.invite(store, ADA, SLACK if how == "other" else TELEGRAM)
    if how == "late":
        store.clock.advance(CODES_LIVE.total_seconds())
    given = code[:-4] + "AAAA" if how == "wrong" else code
    assert take(store, text=f"link {given}") == ""
    assert not any(one.account for one in store.chats.all())


@pytest.mark.proves("CHAT-5")
def test_link_ends_with_its_token(store):
    manage_people.add(store, ADA, "ada")
    (token,) = store.people.tokens()
    made = link(store, token_id=token.id)
    asked = ask(store)
    manage_people.revoke(store, ADA, token.id)
    assert take(store, button=buttons(asked)[0]) == "" and store.asks.get(asked.id).pending
    assert made.id not in [one.id for one in store.chats.all()]
    with pytest.raises(RefusedError, match="was revoked"):
        link_chat.invite(store, ADA._replace(token_id=token.id), TELEGRAM)


@pytest.mark.proves("CHAT-11")
def test_agent_links_and_ends_nothing(store):
    made, before = link(store), store.audit.head().seq
    for deed in (
        lambda: link_chat.invite(store, an_agent(), TELEGRAM),
        lambda: link_chat.remove(store, an_agent(), made.id),
    ):
        with pytest.raises(AgentRefusedError):
            deed()
    assert store.audit.head().seq == before
    with pytest.raises(NotFoundError, match="gate person list"):
        link_chat.remove(store, ADA, "c-none")
    assert link_chat.remove(store, ADA, made.id) == made
    assert take(store, text="hello") == "" and link_chat.list_routes(store, [TELEGRAM]) == ()


@pytest.mark.proves("CHAT-5")
def test_routes_are_those_of_linked_accounts(store):
    link(store)
    link_chat.invite(store, ADA, TELEGRAM)
    link(store, "sue", "9", SLACK)
    assert [(one.via, one.person) for one in link_chat.list_routes(store, [TELEGRAM])] == [
        ("telegram", "ada")
    ]
    assert len(link_chat.list_routes(store, [TELEGRAM, SLACK])) == 2
    assert link_chat.list_routes(store, []) == ()


@pytest.mark.proves("CHAT-2", "CHAT-6")
@pytest.mark.parametrize(("number", "decision"), [(0, Decision.APPROVED), (1, Decision.REJECTED)])
def test_button_decides_as_the_linked_person(store, number, decision):
    made = link(store)
    asked = ask(store)
    assert take(store, button=buttons(asked)[number], about="m1") == f"{asked.id}: {decision}"
    after = store.asks.get(asked.id)
    assert (after.decision, after.settled_by, after.settled_via) == (
        decision, "person:ada", "telegram"
    )  # fmt: skip
    event = store.audit.of_subject(asked.id)[-1].event
    assert (
        event.content["evidence"]["account"] == "7" and event.content["evidence"]["link"] == made.id
    )
    assert store.chats.message(TELEGRAM, "7", "m1").ask_id == asked.id


@pytest.mark.proves("CHAT-5", "LAW-3")
@pytest.mark.parametrize(
    "where", [{"account": "8"}, {"room": "-100"}, {"account": "8", "room": "7"}]
)
def test_stranger_and_other_rooms_hear_nothing(store, where):
    link(store)
    asked = ask(store)
    for words in ({"button": buttons(asked)[0]}, {"text": "yes", "about": show(store, asked)}):
        assert take(store, **words, **where) == ""
    assert store.asks.get(asked.id).pending and store.asks.messages(asked.id) == []


@pytest.mark.proves("CHAT-6", "LAW-3", "LAW-4")
def test_foreign_button_decides_nothing(store):
    link(store)
    asked, other = ask(store), ask(store, "Delete the branch?")
    long = ask(store, "x" * 3000)
    strange = f"{asked.id}|{buttons(other)[0].split('|')[1]}|y"
    assert take(store, button="rubbish") == OLD
    for button, named in (
        (strange, asked),
        (buttons(asked)[0][:-1] + "0", asked),
        (f"{long.id}|{long.digest[:32]}|y", long),
    ):
        assert take(store, button=button) == (
            f"This button does not belong to {named.id}. Open it in the inbox."
        )
    gone = f"a-zzzz|{'0' * 32}|y"
    assert "there is no ask a-zzzz" in take(store, button=gone)
    assert all(store.asks.get(one.id).pending for one in (asked, other, long))


@pytest.mark.proves("CHAT-7")
def test_setting_decides_whether_a_call_is_approved_there(store):
    link(store)
    call = make_call("Bash", {"command": "git push"}, "/p")
    asked = ask(store, "Push?", call=call)
    yes = buttons(asked)[0]
    assert "chat_calls" in take(store, chat_calls=False, button=yes)
    assert store.asks.get(asked.id).pending
    assert take(store, button=yes) == f"{asked.id}: approved"


@pytest.mark.proves("CHAT-7", "LAW-3")
def test_approval_is_never_given_by_words(store):
    link(store)
    asked = ask(store)
    for text in ("yes", "approve", "y", "ok!"):
        assert take(store, text=text, about=show(store, asked)).startswith("Sent to the agent")
    assert store.asks.get(asked.id).pending
    assert [one.text for one in store.asks.messages(asked.id)] == ["yes", "approve", "y", "ok!"]


@pytest.mark.proves("CHAT-4")
@pytest.mark.parametrize(
    ("more", "text", "value"),
    [
        ({"kind": "text"}, " blue\n", "blue"),
        ({"kind": "choice", "options": ["A", "Other…"]}, "blue", {"other": "blue"}),
    ],
)
def test_reply_answers_with_words(store, more, text, value):
    link(store)
    asked = ask(store, "Which?", **more)
    assert take(store, text=text, about=show(store, asked)) == f"{asked.id}: answered"
    assert store.asks.get(asked.id).value == value


@pytest.mark.proves("CHAT-4")
@pytest.mark.parametrize(
    ("more", "text", "said"),
    [
        ({"kind": "text"}, "? why", "why"),
        ({"kind": "text"}, "?", "?"),
        ({"kind": "choice", "options": ["A", "B"]}, "A", "A"),
        ({"kind": "choice", "options": ["A", "Other…"]}, "?which", "which"),
        ({"kind": "form", "schema": {}}, "{}", "{}"),
    ],
)
def test_other_reply_asks_back(store, more, text, said):
    link(store)
    asked = ask(store, "Which?", **more)
    assert take(store, text=text, about=show(store, asked)).startswith("Sent to the agent")
    assert store.asks.get(asked.id).pending
    (message,) = store.asks.messages(asked.id)
    assert (message.text, message.author, message.by_asker) == (said, "person:ada", False)


@pytest.mark.proves("CHAT-4")
def test_text_without_its_question_goes_nowhere(store):
    link(store)
    asked = ask(store, "Which?", "text")
    show(store, asked, "m1")
    show(store, ask(store, "Other?", "text"), "m2", room="8")
    assert take(store, text="blue") == WHICH and take(store, text=" \n", about="m1") == WHICH
    assert take(store, text="blue", about="m9") == OLD
    assert take(store, text="blue", about="m2") == OLD, "a message of another conversation"
    assert store.asks.get(asked.id).pending and store.asks.messages(asked.id) == []


@pytest.mark.proves("CHAT-7")
def test_reply_to_a_secret_ask_is_not_passed_on(store):
    link(store)
    asked = ask(store, "Password?", "text", secret=True)
    said = take(store, text="hunter2", about=show(store, asked))
    assert said.startswith("Nothing was sent on") and "Delete your message" in said
    trail = str([entry.event.content for entry in store.audit.entries()])
    assert store.asks.get(asked.id).pending and "hunter2" not in trail


@pytest.mark.proves("CHAT-6", "LAW-4")
def test_reply_answers_the_question_that_was_shown(store):
    link(store)
    asked = ask(store, "Which?", "text")
    old = ChatMessage(
        TELEGRAM, "7", "m1", asked.id, hash_bytes(b"old"), NoticeKind.OPENED, store.now()
    )
    store.chats.add_message(old)
    said = take(store, text="blue", about="m1")
    assert store.asks.get(asked.id).pending and asked.id in said


@pytest.mark.proves("CHAT-8")
def test_update_that_comes_twice_changes_nothing(store):
    link(store)
    asked = ask(store, "Which?", "text")
    about = show(store, asked)
    back = update(store, text="? why", about=about, key="k1")
    answer = update(store, text="blue", about=about, key="k2")
    for one in (back, back, answer, answer):
        take_update(store, one, chat_calls=True)
    assert len(store.asks.messages(asked.id)) == 1 and len(store.asks.answers(asked.id)) == 1
    before = store.audit.head().seq
    for one in (back, answer, update(store, text="late", about=about, key="k3")):
        assert take_update(store, one._replace(is_again=True), chat_calls=True) == ""
    assert store.audit.head().seq == before


@pytest.mark.proves("CHAT-8")
def test_missed_reply_that_is_found_later_counts(store):
    link(store)
    asked = ask(store, "Which?", "text")
    missed = update(store, text="blue", about=show(store, asked), is_again=True)
    assert take_update(store, missed, chat_calls=True) == f"{asked.id}: answered"


@pytest.mark.proves("CHAT-2")
def test_vote_says_who_is_still_needed(store):
    for name in ("ada", "sue"):
        manage_people.add(store, ADA, name)
    token = next(one.id for one in store.people.tokens() if one.person == "ada")
    link(store, token_id=token)
    asked = ask(store, requirement={"n": 2})
    said = take(store, button=buttons(asked)[0])
    assert said.startswith(f"Recorded. {asked.id} is not settled yet: it needs 2 people")


@pytest.mark.proves("CHAT-12")
def test_late_answer_says_who_was_first(store):
    link(store)
    asked = ask(store)
    yes, _ = buttons(asked)
    answer_ask.answer(store, asked.id, a_person("bob"), Given("no"))
    assert "already answered by person:bob" in take(store, button=yes)
    withdrawn = ask(store, "Again?")
    yes, _ = buttons(withdrawn)
    create_ask.cancel(store, withdrawn.id, ADA, "not needed")
    assert "not needed" in take(store, button=yes)
    assert store.asks.get(withdrawn.id).status == AskStatus.CANCELLED


@pytest.mark.proves("CHAT-8")
def test_broken_store_raises_so_that_the_update_comes_again(store, monkeypatch):
    link(store)
    asked = ask(store)
    yes = update(store, button=buttons(asked)[0])
    with monkeypatch.context() as patch:
        patch.setattr(answer_ask, "answer", _raise(StoreError("the disk is full")))
        with pytest.raises(StoreError):
            take_update(store, yes, chat_calls=True)
    assert take_update(store, yes, chat_calls=True) == f"{asked.id}: approved"


def _raise(error):
    def fail(*_, **__):
        raise error

    return fail


class Chat:
    """A chat that follows a script: each entry is done in one call of `listen`."""

    kind = TELEGRAM

    def __init__(self, *script):
        self.script, self.said, self.pauses = list(script), [], 0
        self.over = threading.Event()

    def listen(self, take, threads):
        if not self.script:
            self.over.set()
            return
        deed = self.script.pop(0)
        if isinstance(deed, Exception):
            raise deed
        self.said.append(deed(take, threads))

    def stop(self):
        self.over.set()
        raise RuntimeError("it never ran")


class Lock:
    def __init__(self, *free):
        self.free, self.taken, self.is_released = list(free), 0, False

    def take(self):
        self.taken += 1
        return self.free.pop(0) if self.free else True

    def release(self):
        self.is_released = True


@pytest.fixture
def listen(store, monkeypatch):
    """Return a function that lets a bridge follow a script to its end; its pauses take no time."""
    pauses = []

    def run(chat, lock=None):
        made = Bridge(store, chat, lock or Lock(), chat_calls=True)
        monkeypatch.setattr(made._stopped, "wait", pauses.append)
        made.start()
        assert chat.over.wait(20)
        made.stop()
        assert not made._thread.is_alive()
        return pauses

    return run


@pytest.mark.proves("CHAT-2", "CHAT-8")
def test_bridge_brings_updates_and_waits_for_its_lock(store, listen):
    link(store)
    asked = ask(store)
    yes = update(store, button=buttons(asked)[0])
    chat, lock = Chat(lambda take, _: take(yes)), Lock(False, False, True)
    listen(chat, lock)
    assert chat.said == [f"{asked.id}: approved"] and lock.taken == 3
    assert lock.is_released


@pytest.mark.proves("CHAT-8", "CHAT-13")
def test_update_that_outlasts_the_stop_keeps_the_lock(store, monkeypatch):
    monkeypatch.setattr(bridge, "_ENDS_WITHIN_SECONDS", 0)
    begun, over, lock = threading.Event(), threading.Event(), Lock()
    chat = Chat(lambda _take, _threads: begun.set() or over.wait(20))
    made = Bridge(store, chat, lock, chat_calls=True)
    made.start()
    assert begun.wait(20)
    made.stop()
    assert not lock.is_released
    over.set()
    made._thread.join(20)
    assert lock.is_released


@pytest.mark.proves("CHAT-9")
def test_bridge_goes_on_after_errors_and_logs_each_once(listen, caplog):
    busy = DeliveryError("busy", wait_seconds=42.0)
    again = DeliveryError("no network")
    chat = Chat(
        busy, again, again, ValueError("a fault of ours"), DeliveryError("x", wait_seconds=9e9)
    )
    pauses = listen(chat)
    assert pauses[:5] == [42.0, 5.0, 5.0, 5.0, 300.0]
    said = [(record.getMessage(), record.exc_info) for record in caplog.records]
    assert [words for words, _ in said] == [
        f"telegram: {problem}; it is tried again"
        for problem in ("busy", "no network", "a fault of ours", "x")
    ]
    assert [bool(trace) for _, trace in said] == [False, False, True, False]


@pytest.mark.proves("CHAT-8")
def test_update_that_always_fails_is_given_up(store, listen, monkeypatch, caplog):
    monkeypatch.setattr(bridge, "take_update", _raise(StoreError("a bad row")))
    bad, other = update(store, text="a", key="k1"), update(store, text="b", key="k2")
    deeds = [bad] * 4 + [other] + [bad] * 5
    chat = Chat(*[lambda take, _, one=one: take(one) for one in deeds])
    listen(chat)
    # Another update between them begins the count again.
    assert chat.said == [bridge._GIVEN_UP]
    assert any("an update was given up" in record.getMessage() for record in caplog.records)


@pytest.mark.proves("CHAT-8", "LAW-6")
def test_update_waits_for_a_store_out_of_reach(store, listen, monkeypatch):
    error = _raise(StoreError("the server is away"))
    monkeypatch.setattr(bridge, "take_update", error)
    monkeypatch.setattr(type(store.asks), "waiting_counts", error)
    bad = update(store, text="a", key="k1")
    chat = Chat(*[lambda take, _: take(bad)] * 9)
    listen(chat)
    assert chat.said == []


@pytest.mark.proves("CHAT-8")
def test_missed_replies_are_looked_for_below_first_messages(store, listen):
    link(store)
    open_, settled = ask(store, "Which?", "text"), ask(store, "Done?", "text")
    for asked, message, room in (
        (open_, "m1", "7"), (open_, "m2", "7"), (open_, "m3", "8"), (settled, "m4", "7")
    ):  # fmt: skip
        show(store, asked, message, room)
        store.clock.advance(1)
    foreign = ChatMessage(SLACK, "7", "m5", open_.id, open_.digest, "opened", store.now())
    store.chats.add_message(foreign)
    answer_ask.answer(store, settled.id, ADA, Given("yes"))
    chat = Chat(lambda _, threads: [(one.message, one.room) for one in threads()])
    listen(chat)
    assert chat.said == [[("m1", "7"), ("m3", "8")]]
