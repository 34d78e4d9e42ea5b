"""Messages of chats: their text, their buttons, and the meaning of each button."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from gatebell.domain.asks.asks import Ask, Origin
from gatebell.domain.asks.attachments import Attachment
from gatebell.domain.asks.questions import make_question
from gatebell.domain.asks.requirements import Requirement
from gatebell.domain.enums import AskStatus, ChannelKind, Decision, NoticeKind, Priority
from gatebell.domain.notifications import chat_cards
from gatebell.domain.notifications.chat_cards import Card, count_units
from gatebell.domain.notifications.messages import Delivery, compose
from gatebell.domain.notifications.notes import Note
from gatebell.domain.permissions.calls import Call, headline
from gatebell.domain.sessions.visits import Terms

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
DIGEST = "0123456789abcdef" * 4
LINK = "https://gate.example.org/asks/a-7k2"
TOKEN = "ghp_" + "a1B2" * 9
MORE = "Reply to this message to ask back."
INSIDE_ONLY = "It is not shown whole, so it is approved in the inbox only."


def an_ask(kind="approval", prompt="Deploy build 42?", origin=None, state=None, **more):
    question = make_question(kind, prompt, **more)
    made = Ask("a-7k2", question, origin or Origin("/projects/shop", agent="bot"), NOW, DIGEST)
    return made._replace(**state or {})


def of_call(tool, given, cwd="/projects/shop", **more):
    call = Call(tool, given, cwd, **more)
    return an_ask(prompt=headline(call), call=call)


def card(ask, kind=NoticeKind.OPENED, *, takes_calls=True):
    return chat_cards.build_question(ask, kind, "telegram", LINK, takes_calls=takes_calls)


def labels(ask):
    return [button.label for button in card(ask).buttons]


@pytest.mark.proves("CHAT-1")
def test_approval_has_both_buttons_and_its_asker():
    shown = card(an_ask())
    assert shown.head == "a-7k2 · approval" and shown.foot == MORE and shown.link == LINK
    assert shown.shown == "Deploy build 42?\n\nasked by bot in shop"
    yes, no = shown.buttons
    assert (yes.label, yes.is_yes, yes.is_no) == ("Approve", True, False)
    assert (no.label, no.is_yes, no.is_no) == ("Reject", False, True)
    assert not shown.wants_text


@pytest.mark.proves("CHAT-1")
@pytest.mark.parametrize(
    ("kind", "priority", "head"),
    [
        (NoticeKind.REMINDER, Priority.NORMAL, "a-7k2 · approval · still waiting"),
        (NoticeKind.ESCALATED, Priority.HIGH, "a-7k2 · approval · high · escalated to you"),
        (NoticeKind.OPENED, Priority.URGENT, "a-7k2 · approval · urgent"),
    ],
)
def test_head_says_why_the_message_comes(kind, priority, head):
    assert card(an_ask(state={"priority": priority}), kind).head == head


@pytest.mark.proves("CHAT-1")
@pytest.mark.parametrize(
    ("ask", "lines"),
    [
        (
            of_call("Bash", {"command": "git push", "timeout": 9}),
            ["Run this command?", "", "git push", "", "timeout: 9", "", "in /projects/shop"],
        ),
        (of_call("Bash", {"command": "git push"}, ""), ["Run this command?", "", "git push"]),
        (of_call("Query", {"table": "users"}), ["Use Query?", "", "table: users"]),
        (
            of_call("Edit", {"file_path": "/projects/shop/a.py", "old_string": "one\nx",
                             "new_string": "two\nx", "replace_all": True, "mode": "force"}),
            ["Change a.py?", "", "a.py", "at every place where it occurs", "- one", "+ two", "  x",
             "mode: force"],
        ),
        (
            of_call("Write", {"file_path": "a.py", "content": "x"}, real_path="/etc/a.py"),
            ["Change a.py?", "", "a.py", "the whole file is written", "+ x",
             "After all links, this file: /etc/a.py"],
        ),
        (
            of_call("NotebookEdit", {"notebook_path": "a", "new_source": "x"}, real_path="/etc/a"),
            ["Change a?", "", "notebook_path: a", "new_source: x",
             "After all links, this file: /etc/a"],
        ),
        (
            of_call("Read", {"file_path": "/p/a"}, real_path="/p/a"),
            ["Use Read?", "", "file_path: /p/a"],
        ),
    ],
)  # fmt: skip
def test_call_is_shown_whole(ask, lines):
    assert card(ask).shown.split("\n\nasked by")[0].split("\n") == lines
    assert labels(ask) == ["Approve", "Reject"]


@pytest.mark.proves("CHAT-1", "CHAT-10")
def test_unusual_blanks_and_controls_of_a_call_are_marked():
    ask = of_call("Bash", {"command": "rm\u2003-rf\u202e x"}, "/p\u00a0q", remark="harm\u200bless")
    assert "rm‹U+2003›-rf‹U+202E› x" in card(ask).shown
    assert "in /p‹U+00A0›q" in card(ask).shown
    assert card(ask).shown.split("\n\n")[3] == "the agent's description: harm‹U+200B›less"


@pytest.mark.proves("CHAT-1", "LAW-3")
@pytest.mark.parametrize(
    ("ask", "gone"),
    [
        (of_call("Bash", {"command": f"echo {'a' * 3000}; rm -rf x"}), "rm -rf"),
        (of_call("Bash", {"command": f"deploy --token {TOKEN}"}), TOKEN),
        (an_ask(prompt="👍" * 1300), "👍" * 1251),
    ],
)
def test_question_that_is_not_whole_has_no_yes(ask, gone):
    shown = card(ask)
    assert gone not in shown.shown and shown.foot == f"{MORE} {INSIDE_ONLY}"
    assert [button.label for button in shown.buttons] == ["Reject"]
    assert chat_cards.find_value(ask, "y") is None
    assert chat_cards.find_value(ask, "n") == Decision.REJECTED


@pytest.mark.proves("CHAT-1")
@pytest.mark.parametrize("letter", ["a", "👍", "é"])
@pytest.mark.parametrize("extra", [0, 1, 2])
def test_text_is_cut_as_chats_count_it(letter, extra):
    length = chat_cards.MAX_SHOWN // count_units(letter) + extra
    said = chat_cards.build_plain(letter * length).shown
    kept = said.split("\n")[0]
    assert count_units(kept) <= chat_cards.MAX_SHOWN and set(kept) == {letter}
    left = length - len(kept)
    assert said.removeprefix(kept) == (f"\n… {left} more characters are not shown" if left else "")
    assert bool(left) == bool(extra)


@pytest.mark.proves("CHAT-1")
def test_context_files_and_meanings_are_shown():
    asked = an_ask(
        context={"a": 1}, attachments=(Attachment("plan.png", "image/png", 9, "d"),),
        state={"assume": "I use SQLite"},
    )  # fmt: skip
    shown = card(asked).shown
    assert '"a": 1' in shown and "file: plan.png" in shown
    assert "the agent goes on with: I use SQLite" in shown
    assert "the agent goes on\n" in card(asked._replace(assume="")).shown
    chosen = an_ask("choice", "Which?", options=("A", "B"), context={"A": "fast"})
    assert card(chosen).shown.startswith("Which?\n\nA: fast\n\nasked by")
    nameless = an_ask(origin=Origin())
    assert card(nameless).shown == "Deploy build 42?"


@pytest.mark.proves("CHAT-1")
def test_choice_has_a_button_for_each_option():
    ask = an_ask("choice", "Which?", options=("A", "B"))
    assert labels(ask) == ["A", "B"] and card(ask).foot == MORE
    assert not any(button.is_yes or button.is_no for button in card(ask).buttons)
    other = an_ask("choice", "Which?", options=("A", "Other…"))
    assert labels(other) == ["A"] and card(other).foot.startswith("Reply with other words")
    many = an_ask("choice", "Which?", options=tuple("ABCDEFGHI"))
    assert labels(many) == [] and card(many).foot.endswith(
        "It has many options: choose in the inbox."
    )
    long = an_ask("choice", "Which?", options=("x" * 70, "B"))
    assert labels(long)[0].startswith("xxx") and len(labels(long)[0]) <= 60
    assert f"- {'x' * 70}\n- B" in card(long).shown, "a cut option is shown whole in the text"


@pytest.mark.proves("CHAT-4")
def test_text_is_answered_by_a_reply():
    shown = card(an_ask("text", "Which name?"))
    assert shown.wants_text and not shown.buttons
    assert shown.foot == "Reply to this message to answer it; begin with ? to ask back."


@pytest.mark.proves("CHAT-7")
@pytest.mark.parametrize(
    ("ask", "reason"),
    [
        (an_ask("text", "Password?", secret=True), "The answer is secret"),
        (an_ask("form", "Who?", schema={}), "in the inbox"),
        (an_ask("choice", "Which?", options=("A", "B"), multiple=True), "in the inbox"),
        (an_ask("session", "Look?", session=Terms("approval")), "in the agent's session"),
        (an_ask(state={"token_digest": "t"}), "The answer is secret"),
        (an_ask(requirement=Requirement(via=("web",))), "not answered by telegram: only by web."),
        (
            an_ask(requirement=Requirement(not_via=("slack", "telegram"))),
            "not answered by telegram: not by slack, telegram.",
        ),
    ],
)
def test_answer_of_another_place_has_no_buttons(ask, reason):
    shown = card(ask)
    assert reason in shown.foot and not shown.buttons and not shown.wants_text
    assert chat_cards.why_elsewhere(ask, "telegram", takes_calls=True) == shown.foot


@pytest.mark.proves("CHAT-7")
def test_setting_keeps_calls_out_of_chats():
    held = of_call("Bash", {"command": "ls"})
    shown = card(held, takes_calls=False)
    assert "chat_calls" in shown.foot and not shown.buttons and "ls" in shown.shown
    assert card(an_ask(), takes_calls=False).buttons


@pytest.mark.proves("CHAT-6")
@pytest.mark.parametrize("data", ["", "a|b", "a-7k2|short|y", f"a-7k2|{DIGEST[:32]}|y|n", "|" * 9])
def test_foreign_button_is_not_read(data):
    assert chat_cards.read_button(data) is None


@pytest.mark.proves("CHAT-6")
def test_button_belongs_to_the_question_that_was_shown():
    ask = an_ask()
    pressed = chat_cards.read_button(card(ask).buttons[0].data)
    assert pressed and pressed.ask_id == ask.id and chat_cards.shows(pressed, ask)
    assert not chat_cards.shows(pressed, ask._replace(digest="f" * 64))
    assert chat_cards.find_value(ask, pressed.choice) == Decision.APPROVED
    assert all(len(one.data) <= 64 for one in card(ask).buttons), "the limit of Telegram"


@pytest.mark.proves("CHAT-6")
@pytest.mark.parametrize(
    ("ask", "choice", "value"),
    [
        (an_ask(), "n", Decision.REJECTED),
        (an_ask(), "0", None),
        (an_ask(), "approved", None),
        (an_ask("choice", "Which?", options=("A", "B")), "1", "B"),
        (an_ask("choice", "Which?", options=("A", "B")), "2", None),
        (an_ask("choice", "Which?", options=("A", "B")), "-1", None),
        (an_ask("choice", "Which?", options=("A", "B")), "9" * 5000, None),
        (an_ask("choice", "Which?", options=("y", "n")), "y", None),
        (an_ask("text", "Which?"), "y", None),
    ],
)
def test_button_means_only_what_its_ask_offers(ask, choice, value):
    assert chat_cards.find_value(ask, choice) == value


@pytest.mark.proves("CHAT-3", "CHAT-10")
@pytest.mark.parametrize(
    ("state", "says"),
    [
        ({"status": AskStatus.ANSWERED, "decision": Decision.APPROVED, "settled_via": "web",
          "settled_by": "person:sue, person:ada"}, "approved by ada, web"),
        ({"status": AskStatus.ANSWERED, "decision": Decision.REJECTED, "settled_via": "cli",
          "settled_by": "person:ada", "note": f"no\n{TOKEN}"}, "rejected by ada, cli: no "),
        ({"status": AskStatus.CANCELLED, "settled_by": "agent:claude/s1"}, "cancelled by claude/s1"),
        ({"status": AskStatus.TIMED_OUT, "settled_by": "gate"}, "timed out"),
    ],
)  # fmt: skip
def test_settled_question_says_who_won(state, says):
    found = chat_cards.build_settled(an_ask(state=state), LINK)
    assert found.head == "a-7k2 · settled" and found.link == LINK and not found.buttons
    said, question = found.shown.split("\n\n")
    assert said.startswith(says) and TOKEN not in said and question == "Deploy build 42?"


@pytest.mark.proves("CHAT-4", "CHAT-10")
def test_reply_of_the_agent_is_inert():
    words = Note("agent:claude/s1", "", f"done\x1b[1m {TOKEN}", NOW)
    reply = chat_cards.build_words(words, an_ask(), LINK)
    assert reply.head == "a-7k2 · reply of the agent" and "write to the agent" in reply.foot
    assert reply.shown.startswith("done␛[1m") and TOKEN not in reply.shown
    note = chat_cards.build_words(words, None, LINK)
    assert (note.head, note.foot) == ("note of an agent", "")
    assert note.shown.startswith("claude/s1\n\ndone")


@pytest.mark.proves("CHAT-1")
def test_other_messages_are_plain_text():
    delivery = Delivery("n1", NoticeKind.OPENED, "a-7k2", "", ChannelKind.TELEGRAM, NOW, NOW)
    message = compose(delivery, "https://gate.example.org", an_ask())
    found = chat_cards.find_card(message)
    assert found.head == "gate" and found.shown == f"{message.title}\n{message.body}"
    made = Card("own")
    assert chat_cards.find_card(message._replace(card=made)) is made


@pytest.mark.proves("CHAT-1", "CHAT-6")
def test_options_that_are_not_shown_have_no_buttons():
    options = ("x" * 1300, "x" * 1300 + "y")
    ask = an_ask("choice", "Which?", options=options)
    assert labels(ask) == [] and "Its options are not shown whole" in card(ask).foot
    assert chat_cards.find_value(ask, "0") is None
    short = an_ask("choice", "Which?", options=("A", "B"), context="x" * 3000)
    assert labels(short) == ["A", "B"] and chat_cards.find_value(short, "1") == "B"
