"""Telegram: from an ask to an imitation of its service and back."""

from __future__ import annotations

import pytest
from tests.support.chat_room import TelegramRoom, ask, link, room, service
from tests.support.people import a_person, an_agent
from tests.support.telegram_service import TelegramService, busy

from gatebell.domain.asks.answers import Given
from gatebell.domain.asks.asks import Origin
from gatebell.domain.asks.attachments import Attachment
from gatebell.domain.audit.events import EventKind
from gatebell.domain.enums import AskStatus, ChannelKind, Decision, NoticeKind
from gatebell.domain.notifications.chat_cards import build_question, find_value
from gatebell.domain.permissions.calls import make_call
from gatebell.errors import RefusedError, StoreError
from gatebell.services import audit
from gatebell.services.asks import answer_ask, ask_messages, create_ask
from gatebell.services.chats import bridge, link_chat

__all__ = ["room", "service"]

SERVICE, ROOM = TelegramService, TelegramRoom


@pytest.mark.proves("CHAT-1", "CHAT-2", "CHAT-3")
def test_button_answers_and_message_shows_who_won(room, service):
    room.listen()
    asked, number = room.show(context="build 42 is green")
    shown = service.messages[number]
    assert "Deploy build 42?" in shown["text"] and "build 42 is green" in shown["text"]
    assert f"https://gate.example.org/asks/{asked.id}" in shown["text"]
    assert service.labels(number) == ["Approve", "Reject"]
    room.press(number, "Approve")
    after = room.get(asked)
    assert after.decision == Decision.APPROVED and after.settled_by == "person:ada"
    assert after.settled_via == "telegram"
    (event,) = [
        one.event for one in room.store.audit.of_subject(asked.id)
        if one.event.kind == EventKind.ASK_ANSWERED
    ]  # fmt: skip
    assert event.content["verified"] is True and event.content["evidence"]["account"] == "7"
    service.wait(lambda: [one for name, one in service.calls if name == "answerCallbackQuery"])
    room.send()
    edited = service.messages[number]
    assert "approved by ada, telegram" in edited["text"] and "reply_markup" not in edited
    assert audit.verify(room.store) == []


@pytest.mark.proves("CHAT-2", "CHAT-3")
def test_answer_from_elsewhere_changes_the_message(room, service):
    room.listen()
    asked, number = room.show(kind="choice", options=["blue", "red"])
    answer_ask.answer(room.store, asked.id, a_person("bob"), Given("red"))
    room.press(number, "blue")
    assert room.get(asked).value == "red"
    (toast,) = service.called("answerCallbackQuery")
    assert "already answered by person:bob" in toast["text"] and toast["show_alert"]
    room.send()
    assert "answered by bob, cli" in service.messages[number]["text"]
    withdrawn, other = room.show("Delete the branch?")
    create_ask.cancel(room.store, withdrawn.id, a_person("sue"), "not needed")
    room.send()
    assert "cancelled by sue: not needed" in service.messages[other]["text"]


@pytest.mark.proves("CHAT-4")
def test_reply_answers_a_text_and_asks_back(room, service):
    room.listen()
    asked, number = room.show("Which name?", "text")
    assert service.messages[number]["reply_markup"] == {"force_reply": True}
    room.say("? for which module", about=number)
    (message,) = room.store.asks.messages(asked.id)
    assert (message.author, message.text) == ("person:ada", "for which module")
    ask_messages.reply(room.store, asked.id, an_agent("s1"), "for the parser")
    room.send()
    reply = service.find("for the parser")
    assert service.messages[reply]["reply_parameters"]["message_id"] == number
    room.say("block_reader", about=reply)
    assert room.get(asked).value == "block_reader"
    approval, number = room.show()
    room.say("yes", about=number)
    # A free text never approves: it asks back.
    assert room.get(approval).pending
    assert [one.text for one in room.store.asks.messages(approval.id)] == ["yes"]


@pytest.mark.proves("CHAT-4")
def test_reply_is_an_option_of_its_own_words(room):
    room.listen()
    asked, number = room.show(kind="choice", options=["blue", "Other…"])
    room.say("green", about=number)
    assert room.get(asked).value == {"other": "green"}


@pytest.mark.proves("CHAT-4", "CHAT-7")
def test_forms_and_secrets_are_answered_in_the_inbox(room, service):
    room.listen()
    schema = {"type": "object", "properties": {"port": {"type": "integer"}}}
    form, shown = room.show("Where?", "form", schema=schema)
    assert service.labels(shown) == [] and f"/asks/{form.id}" in service.messages[shown]["text"]
    secret, number = room.show("The key?", "text", secret=True)
    assert "reply_markup" not in service.messages[number]
    room.say("hunter2", about=number)
    assert room.get(secret).pending and not room.store.asks.messages(secret.id)
    assert service.find("the answer is secret")
    told = [one.event.content for one in room.store.audit.of_subject(secret.id)]
    assert "hunter2" not in str(told)


@pytest.mark.proves("CHAT-5")
def test_unknown_account_sees_and_does_nothing(room, service):
    room.listen()
    asked, number = room.show()
    before = len(service.calls)
    room.press(number, "Approve", account=8)
    room.say("/start", account=8)
    room.say("/start AAAA-AAAA-AAAA-AAAA-AAAA-AAAA", account=8)
    room.say("approve", about=number, account=8)
    assert room.get(asked).pending
    assert {name for name, _ in service.calls[before:]} == {"getUpdates"}
    # Ada's account in a group, and her account as another bot sends it.
    group = {"chat": {"id": -5, "type": "group"}}
    for wrong in (group, {"from": {"id": 7, "is_bot": True}}):
        service.wait_confirmed(service.say("yes", number, **wrong))
    assert not room.store.asks.messages(asked.id)


@pytest.mark.proves("CHAT-6")
def test_forged_button_decides_nothing(room, service):
    room.listen()
    asked, number = room.show()
    other = ask(room.store, "Drop the table?")
    mine = service.messages[number]["reply_markup"]["inline_keyboard"][0][0]["callback_data"]
    for forged in (
        mine.replace(asked.id, other.id), f"{asked.id}|{'0' * 32}|y", f"{asked.id}|y", "x" * 64,
        mine[:-1] + "7", "a-nothere|" + "0" * 32 + "|y",
    ):  # fmt: skip
        update = service.pressed(number, "", data=forged)
        service.wait_confirmed(service.give(update))
    assert room.get(asked).pending and room.get(other).pending


@pytest.mark.proves("CHAT-8")
def test_updates_twice_and_out_of_order_act_once(room, service):
    asked, number = room.show("Which name?", "text")
    back = service.words("? why", about=number)
    answer = service.words("parser", about=number)
    service.give(answer, number=205)
    service.give(back, number=204)
    service.give(back, number=206)
    service.give(answer, number=207)
    room.listen()
    service.wait_confirmed(207)
    # The order of their numbers counts.
    assert room.get(asked).value == "parser"
    assert [one.text for one in room.store.asks.messages(asked.id)] == ["why"]
    assert len(room.store.asks.answers(asked.id)) == 1
    approval, number = room.show()
    pressed = service.pressed(number, "Reject")
    service.give(pressed, pressed)
    service.wait_confirmed(service.give(pressed))
    assert len(room.store.asks.answers(approval.id)) == 1


@pytest.mark.proves("CHAT-8")
def test_quiet_week_with_smaller_numbers_loses_nothing(room, service):
    room.listen()
    asked, number = room.show()
    room.say("hello")
    service.end_poll()
    service.give(service.pressed(number, "Approve"), number=3)
    service.wait(lambda: service.called("answerCallbackQuery"))
    assert room.get(asked).decision == Decision.APPROVED


@pytest.mark.proves("CHAT-8")
def test_update_waits_until_the_store_is_back(room, service, monkeypatch, caplog):
    monkeypatch.setattr(bridge, "_AGAIN_AFTER_SECONDS", 0.01)
    faults = [StoreError("the store is away")] * 3
    monkeypatch.setattr(room.store.chats, "of_account", _fail_first(room.store.chats, faults))
    asked, number = room.show()
    room.listen()
    room.press(number, "Approve")
    assert room.get(asked).decision == Decision.APPROVED and not faults
    assert caplog.text.count("the store is away") == 1


@pytest.mark.proves("CHAT-8")
def test_update_that_always_fails_keeps_no_other_away(room, service, monkeypatch):
    monkeypatch.setattr(bridge, "_AGAIN_AFTER_SECONDS", 0.01)
    faults = [ValueError("a bug")] * 5
    monkeypatch.setattr(room.store.chats, "of_account", _fail_first(room.store.chats, faults))
    asked, number = room.show()
    room.listen()
    room.press(number, "Reject")
    assert room.get(asked).pending
    assert "could not be recorded" in service.called("answerCallbackQuery")[0]["text"]
    room.press(number, "Approve")
    assert room.get(asked).decision == Decision.APPROVED


def _fail_first(chats, faults):
    real = chats.of_account

    def of_account(*words):
        if faults:
            raise faults.pop()
        return real(*words)

    return of_account


@pytest.mark.proves("CHAT-8")
def test_edited_message_changes_nothing(room, service):
    room.listen()
    asked, number = room.show("Which name?", "text")
    service.wait_confirmed(service.give({"edited_message": service.words("x", number)["message"]}))
    assert room.get(asked).pending


@pytest.mark.proves("CHAT-5")
@pytest.mark.parametrize("name", ["forward_origin", "forward_date", "via_bot"])
def test_forwarded_words_are_not_those_of_the_account(room, service, name):
    room.listen()
    asked, number = room.show("Which name?", "text")
    service.wait_confirmed(service.say("evil", number, **{name: {"id": 9}}))
    code = link_chat.invite(room.store, a_person("bob"), ChannelKind.TELEGRAM)
    service.wait_confirmed(service.say(f"/start {code}", **{name: {"id": 9}}))
    assert room.get(asked).pending
    assert [one.person for one in room.store.chats.all() if one.account] == ["ada"]


@pytest.mark.proves("CHAT-9")
def test_busy_and_broken_service_gets_the_message_later(room, service):
    service.faults["sendMessage"] = [busy(30), (502, b"<html>"), (500, {"ok": False})]
    asked = ask(room.store)
    room.send()
    assert not service.messages and not room.store.outbox.problems(5)
    room.store.clock.advance(31)
    room.send()
    (problem,) = room.store.outbox.problems(5)
    assert problem.problem == "Telegram answered 502"
    for _ in range(2):
        room.store.clock.advance(120)
        room.send()
    assert service.labels(service.find(asked.id)) == ["Approve", "Reject"]
    assert not room.store.outbox.problems(5)


@pytest.mark.proves("CHAT-9")
def test_bridge_outlives_errors_and_lost_polls(room, service, monkeypatch, caplog):
    monkeypatch.setattr(bridge, "_AGAIN_AFTER_SECONDS", 0.01)
    service.faults["getUpdates"] = [
        (500, {}), (409, {"description": "Conflict"}), (502, b"no JSON"), (200, b"[]"),
        (200, {"ok": True, "result": [{"update_id": "x"}, 5, {"update_id": 3, "message": []}]}),
    ]  # fmt: skip
    asked, number = room.show()
    room.listen()
    room.press(number, "Approve")
    assert room.get(asked).decision == Decision.APPROVED
    assert "stand-in-token" not in caplog.text and "another program reads" in caplog.text


@pytest.mark.proves("CHAT-1", "CHAT-7")
def test_call_is_shown_whole_or_not_approved(room, service):
    def hold(command, **more):
        call = make_call("Bash", {"command": command, **more}, "/projects/shop")
        return room.show(f"Run this command? {command}", call=call)

    _, number = hold("git push --force")
    assert "git push --force" in service.messages[number]["text"]
    assert service.labels(number) == ["Approve", "Reject"]
    cut, number = hold("true\n" * 700 + "rm -rf /")
    assert service.labels(number) == ["Reject"]
    assert "more characters are not shown" in service.messages[number]["text"]
    reject = service.messages[number]["reply_markup"]["inline_keyboard"][0][0]["callback_data"]
    room.listen()
    forged = service.give(service.pressed(number, "", data=f"{reject[:-1]}y"))
    service.wait_confirmed(forged)
    assert room.get(cut).pending
    _, number = hold("curl -H 'Authorization: Bearer abcdefghijklmnop1234567890'")
    assert service.labels(number) == ["Reject"]
    call = make_call(
        "Edit",
        {"file_path": "/projects/shop/a.py", "old_string": "x = 1", "new_string": "x = 2"},
        "/projects/shop",
    )
    _, number = room.show("Change /projects/shop/a.py?", call=call)
    assert "- x = 1" in service.messages[number]["text"]
    assert "+ x = 2" in service.messages[number]["text"]
    # In a high message, harmless lines would be beside the buttons.
    for lines, labels in ((70, ["Approve", "Reject"]), (100, ["Reject"])):
        _, number = hold("rm notes" + "\n" * lines + "true")
        assert service.labels(number) == labels
    asked = ask(room.store, "Use Deploy?", call=make_call("Deploy", {"to": "prod"}))
    room.store.clock.advance(61)
    room.send(chat_calls=False)
    number = service.find(asked.id)
    assert service.labels(number) == [] and "setting chat_calls" in service.messages[number]["text"]


@pytest.mark.proves("CHAT-1", "CHAT-6")
def test_hidden_option_cannot_be_chosen(room, service):
    """A file is not shown, and so are long options below a long context."""
    room.listen()
    asked = ask(room.store, "Send this?")
    file = Attachment("plan.pdf", "application/pdf", 9, "d" * 64)
    filed = asked._replace(question=asked.question._replace(attachments=(file,)))
    card = build_question(filed, NoticeKind.OPENED, "telegram", "", takes_calls=True)
    assert [one.label for one in card.buttons] == ["Reject"] and "not shown whole" in card.foot
    assert find_value(filed, "y") is None and find_value(asked, "y") == Decision.APPROVED
    options = [f"{'delete ' * 20}{name}" for name in ("nothing", "all")]
    _, number = room.show("Which?", "choice", options=options, context="see below")
    assert len(service.labels(number)) == 2
    long, number = room.show("Which one?", "choice", options=options, context="x" * 3000)
    assert (
        service.labels(number) == [] and "choose in the inbox" in service.messages[number]["text"]
    )
    data = f"{long.id}|{long.digest[:32]}|1"
    service.wait_confirmed(service.give(service.pressed(number, "", data=data)))
    assert room.get(long).pending


@pytest.mark.proves("CHAT-7")
def test_requirement_excludes_chats_or_demands_the_web(room, service):
    room.listen()
    by_web, number = room.show(requirement={"via": "web"})
    assert service.labels(number) == [] and "only by web" in service.messages[number]["text"]
    not_so, other = room.show("And this?", requirement={"not_via": ["telegram"]})
    data = f"{not_so.id}|{not_so.digest[:32]}|y"
    service.wait_confirmed(service.give(service.pressed(other, "", data=data)))
    assert room.get(not_so).pending and service.labels(other) == []
    assert "not by telegram" in service.called("answerCallbackQuery")[-1]["text"]
    # The rule is that of the ask, not of the message.
    chat_ada = a_person("ada", verified=True)._replace(via="telegram")
    for asked in (by_web, not_so):
        with pytest.raises(RefusedError):
            answer_ask.answer(room.store, asked.id, chat_ada, Given("yes"))
    answer_ask.answer(room.store, not_so.id, a_person("ada"), Given("yes"))
    assert room.get(not_so).status == AskStatus.ANSWERED


@pytest.mark.proves("CHAT-10")
def test_text_of_others_is_inert(room, service):
    evil = "*Hi* <b>x</b> @ada [x](http://evil.example) \u202e\x1b[2J 😀 ```\n/start"
    _, number = room.show(evil, origin=Origin("/p/@everyone", agent="<!channel>"), context=evil)
    shown = service.messages[number]
    assert "parse_mode" not in shown and shown["link_preview_options"] == {"is_disabled": True}
    pre = next(one for one in shown["entities"] if one["type"] == "pre")
    text = shown["text"].encode("utf-16-le")
    inside = text[pre["offset"] * 2 : (pre["offset"] + pre["length"]) * 2].decode("utf-16-le")
    outside = shown["text"].replace(inside, "")
    assert "@ada" in inside and "@" not in outside and "<" not in outside and "evil" not in outside
    assert "\u202e" not in shown["text"] and "\x1b" not in shown["text"]
    _, number = room.show("😀" * 4000)
    assert service.labels(number) == ["Reject"]


@pytest.mark.proves("CHAT-5")
def test_revoked_link_sees_and_does_nothing(room, service):
    room.listen()
    asked, number = room.show()
    link_chat.remove(room.store, a_person(), room.link.id)
    room.press(number, "Approve")
    assert room.get(asked).pending
    later = ask(room.store, "And now?")
    room.send()
    assert not service.find(later.id)


@pytest.mark.proves("CHAT-5")
def test_account_belongs_to_the_last_who_linked_it(room):
    later = link(room.store, "bob")
    (only,) = [one for one in room.store.chats.all() if one.account]
    assert only == later and only.person == "bob"
    assert audit.verify(room.store) == []


@pytest.mark.proves("CHAT-8")
def test_button_of_a_message_that_was_not_recorded_works(room, service):
    """As after the end of a sender between the message and its record."""
    room.listen()
    asked, number = room.show()
    with room.store.quiet_transaction():
        room.store.connection.write("DELETE FROM chat_messages", {})
    room.press(number, "Reject")
    assert room.get(asked).decision == Decision.REJECTED
    room.send()
    assert "rejected by ada" in service.messages[number]["text"]
