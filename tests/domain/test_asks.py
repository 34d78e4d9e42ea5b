"""The life of an ask without its answer."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from tests.support.people import a_person, an_agent

from gatebell.domain.asks import asks, deadlines, messages
from gatebell.domain.asks.asks import (
    Ask,
    Change,
    Origin,
    iso,
    make_id,
    parse_priority,
    question_digest,
)
from gatebell.domain.asks.questions import Question, make_question
from gatebell.domain.asks.requirements import Requirement
from gatebell.domain.sessions.visits import Terms
from gatebell.errors import AlreadySettledError, UsageError

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def later(seconds):
    return NOW + timedelta(seconds=seconds)


def an_ask(kind="text", default=None, owner="", **clock):
    question = make_question(kind, "Why?", options=("A", "B") if kind == "choice" else ())
    return Ask(
        "a-222", question._replace(default=default), Origin(owner=owner), NOW, "d",
        deadlines=deadlines.start(NOW, **clock),
    )  # fmt: skip


@pytest.mark.proves("LAW-10")
@pytest.mark.parametrize(
    ("kind", "prompt", "more", "sentence"),
    [
        ("poll", "Q", {}, "a kind of ask"),
        ("text", " \n", {}, "question is empty"),
        ("text", "x" * 200_001, {}, "--context"),
        ("choice", "Q", {}, "needs options"),
        ("text", "Q", {"options": ("A",)}, "has no options"),
        ("form", "Q", {}, "needs a schema"),
        ("text", "Q", {"schema": {}}, "has no schema"),
        ("text", "Q", {"multiple": True}, "only a choice"),
        ("approval", "Q", {"secret": True}, "only a text"),
        ("choice", "Q", {"options": ("A", "A")}, "differ"),
        ("choice", "Q", {"options": ("A", " ")}, "differ"),
    ],
)
def test_invalid_question_is_refused(kind, prompt, more, sentence):
    with pytest.raises(UsageError, match=sentence):
        make_question(kind, prompt, **more)


@pytest.mark.proves("ASK-15")
@pytest.mark.parametrize("kind", ["text", "choice", "form", "approval"])
@pytest.mark.parametrize("in_a_session", [False, True])
@pytest.mark.parametrize("rule", [{"n": 2}, {"reject": 2}, {"veto": ("bob",)}])
def test_only_approvals_are_decided_by_more_than_one_person(kind, in_a_session, rule):
    more = {"choice": {"options": ("A", "B")}, "form": {"schema": {}}}.get(kind, {})
    decided = kind == "approval"
    if in_a_session:
        kind, more = "session", more | {"session": Terms(kind)}
    if decided:
        assert make_question(kind, "Q", requirement=Requirement(**rule), **more)
    else:
        with pytest.raises(UsageError, match="several people"):
            make_question(kind, "Q", requirement=Requirement(**rule), **more)
    assert make_question(kind, "Q", requirement=Requirement(of=("ada",)), **more)


@pytest.mark.proves("ASK-9")
def test_bare_ask_has_only_its_question():
    question = make_question("text", "Q")
    nothing = (None, (), False, False, None, None, False, Requirement(), None, None, ())
    assert question == ("text", "Q", *nothing)
    assert Question("text", "Q") == question
    assert Origin() == ("",) * 9
    ask = Ask("a-2", question, Origin(), NOW, "d")
    assert ask[5:10] == (2, None, "", "", deadlines.NO_DEADLINES)
    assert ask[10:] == ("pending", None, None, "", None, "", "", None, "", 0, 0, 1, False, (), None)


@pytest.mark.proves("LAW-10")
def test_longest_question_fits():
    assert make_question("text", "x" * 200_000).prompt


@pytest.mark.proves("LAW-4", "ASK-27")
def test_digest_covers_everything_shown_and_decided():
    base = make_question("choice", "Q", options=("A", "B", "Other…"))
    origin = Origin(project="/p")
    variants = [
        base._replace(kind="text"), base._replace(prompt="q"), base._replace(context={"a": 1}),
        base._replace(options=("B", "A")), base._replace(multiple=True), base._replace(other=False),
        base._replace(schema={}), base._replace(default="A"), base._replace(secret=True),
        base._replace(requirement=Requirement(n=2)), base._replace(session=Terms("choice")),
        base._replace(session=Terms("choice", model="opus")),
    ]  # fmt: skip
    digests = {question_digest(variant, origin) for variant in [base, *variants]}
    digests |= {
        question_digest(base, other)
        for other in (Origin(project="/q"), Origin("/p", owner="run:1"))
    }
    assert len(digests) == len(variants) + 3
    assert question_digest(base, origin) == question_digest(base, Origin(project="/p", cwd="/x"))


@pytest.mark.proves("X-32")
def test_one_scale_of_priorities():
    words = ["urgent", "high", "normal", "low", "backlog"]
    assert [parse_priority(word) for word in words] == [0, 1, 2, 3, 4]
    assert [parse_priority(str(number)) for number in range(5)] == [0, 1, 2, 3, 4]
    assert [parse_priority(word) for word in ("critical", "medium", "P0", "p4")] == [0, 2, 0, 4]
    for wrong in ("5", "-1", "soon", ""):
        with pytest.raises(UsageError):
            parse_priority(wrong)


@pytest.mark.proves("ASK-7")
def test_ids_grow_when_a_tenth_is_used():
    size = len(asks.ID_ALPHABET)
    assert not set("01ilo") & set(asks.ID_ALPHABET)
    assert [asks.id_length(n) for n in (0, size**3 // 10, size**3 // 10 + 1)] == [3, 3, 4]
    assert asks.id_length(1_000_000) == 5
    assert make_id(3, b"\0") == "a-222"
    assert make_id(4, (size**3).to_bytes(4)) == "a-2223"
    assert make_id(3, b"\x1f") == "a-232"


@pytest.mark.proves("ASK-33", "X-26")
def test_cancelling_names_who_and_why():
    ask = an_ask(owner="job:7")
    change = asks.cancel(ask, a_person(), "changed my mind", later(5))
    after = change.ask
    assert (after.status, after.decision, after.note) == ("cancelled", None, "changed my mind")
    assert (after.settled_by, after.settled_via, after.settled_at) == (
        "person:ada",
        "cli",
        later(5),
    )
    assert change.wakes == ("job:7",) and change.notices[0].kind == "settled"
    event = change.events[0]
    assert (event.kind, event.actor) == ("ask.cancelled", "person:ada")
    at = "2026-01-01T00:00:05.000000+00:00"
    assert event.content == {
        "note": "changed my mind",
        "via": "cli",
        "at": at,
        "evidence": {"uid": 1000},
    }
    assert after.version == 2
    with pytest.raises(
        AlreadySettledError, match="cancelled by person:ada at 2026-01-01 00:00:05 UTC: changed"
    ):
        asks.cancel(after, a_person(), "", NOW)
    assert asks.settled_sentence(after._replace(note="", settled_at=None)).endswith(
        "an unknown time"
    )
    assert asks.settled_word(after) == "cancelled"
    assert asks.settled_word(after._replace(settled_via="failed")) == "failed"


@pytest.mark.proves("ASK-18", "LAW-3", "X-11")
def test_ask_expires_at_its_time_and_not_before():
    ask = an_ask("choice", "B", owner="run:1", expires_seconds=10)
    assert asks.fall_due(ask, later(9.999)) is None
    change = asks.fall_due(ask, later(10))
    after = change.ask
    assert (after.status, after.decision, after.value) == ("timed_out", None, "B")
    assert (after.settled_at, after.settled_via, after.settled_by) == (later(10), "deadline", "")
    assert change.wakes == ("run:1",) and change.notices[0].kind == "settled"
    assert (change.events[0].kind, change.events[0].actor) == ("ask.timed_out", "gate")
    at = "2026-01-01T00:00:10.000000+00:00"
    assert change.events[0].content == {"value": "B", "via": "deadline", "at": at}
    assert after.version == 2
    assert asks.fall_due(after, later(99)) is None
    assert asks.settled_sentence(after) == "a-222 timed out at 2026-01-01 00:00:10 UTC"
    assert asks.settled_word(after) == "timed out"


@pytest.mark.proves("ASK-18", "LAW-3")
def test_expired_approval_is_not_a_decision():
    after = asks.fall_due(an_ask("approval", expires_seconds=1), later(9)).ask
    assert (after.status, after.decision, after.value) == ("timed_out", None, None)


@pytest.mark.proves("ASK-16", "ASK-29")
def test_reminders_repeat_and_missed_ones_are_skipped():
    ask = an_ask(remind_every_seconds=10)
    assert asks.fall_due(ask, later(9)) is None
    change = asks.fall_due(ask, later(10))
    assert change.notices == (asks.Notice("reminder", "a-222"),)
    assert change.events == (("ask.reminded", "a-222", "gate", {}),)
    assert change.ask.deadlines.remind_at == later(20) and change.ask.version == 2
    assert asks.fall_due(ask, later(35)).ask.deadlines.remind_at == later(40)
    assert asks.fall_due(ask, later(40)).ask.deadlines.remind_at == later(50)


@pytest.mark.proves("ASK-17", "ASK-29")
def test_escalation_goes_along_its_list_each_step_once():
    steps = (deadlines.Escalation(60, "boss"), deadlines.Escalation(30, "bob"))
    ask = an_ask(escalations=steps)
    assert asks.fall_due(ask, later(29)) is None
    first = asks.fall_due(ask, later(30))
    assert first.notices == (asks.Notice("escalated", "a-222", "bob"),)
    assert first.events == (("ask.escalated", "a-222", "gate", {"to": "bob"}),)
    assert asks.fall_due(first.ask, later(59)) is None
    second = asks.fall_due(first.ask, later(60))
    assert second.notices[0].to == "boss" and second.ask.deadlines.escalate_at is None
    assert asks.fall_due(second.ask, later(9999)) is None


@pytest.mark.proves("ASK-16", "ASK-17", "ASK-18")
def test_due_events_happen_in_order_of_rank():
    ask = an_ask(
        expires_seconds=10, remind_every_seconds=10, escalations=(deadlines.Escalation(10, "x"),)
    )
    assert ask.deadlines.due_at == later(10)
    assert asks.fall_due(ask, later(10)).ask.status == "timed_out"
    soft = an_ask(remind_every_seconds=10, escalations=(deadlines.Escalation(10, "x"),))
    assert asks.fall_due(soft, later(10)).notices[0].kind == "escalated"


@pytest.mark.proves("ASK-19", "ASK-20")
def test_draft_holds_only_a_pending_soft_deadline():
    soft = an_ask(expires_seconds=10)
    change = asks.hold_deadlines(soft, "person:ada", NOW)
    assert (change.ask.deadlines.expires_at, change.ask.version) == (later(120), 2)
    (told,) = change.events
    assert told == ("ask.held", soft.id, "person:ada", {"until": iso(later(120))})
    for ask in (an_ask(), an_ask(expires_seconds=10, hard=True), soft._replace(status="cancelled")):
        assert asks.hold_deadlines(ask, "person:ada", NOW) == Change(ask, ())


@pytest.mark.proves("LAW-4", "S0-B20")
def test_answer_is_taken_once():
    ask = an_ask()
    assert asks.take(ask, "agent:x", NOW) is None
    answered = ask._replace(status="answered", value="because")
    change = asks.take(answered, "agent:x", later(3))
    assert (change.ask.delivered_at, change.ask.delivered_to) == (later(3), "agent:x")
    assert change.erase_secret and change.events[0][:3] == ("ask.taken", "a-222", "agent:x")
    assert change.ask.version == 2
    assert asks.take(change.ask, "agent:y", NOW) is None


@pytest.mark.proves("ASK-21", "RUN-448")
@pytest.mark.parametrize(
    ("owner", "session", "wakes"),
    [("run:4/2", "claude/s", ("run:4/2",)), ("run:4/2", "", ()), ("job:4", "claude/s", ()), ("", "claude/s", ())],
)  # fmt: skip
def test_asking_back_wakes_the_run_of_the_agent(owner, session, wakes):
    ask = an_ask()._replace(origin=Origin(owner=owner, session=session))
    assert messages.ask_back(ask, a_person(), "which one?", NOW).wakes == wakes


@pytest.mark.proves("ASK-21")
def test_talking_settles_nothing():
    ask = an_ask()
    back = messages.ask_back(ask, a_person(), "which one?", later(1))
    assert (back.ask.asked_back, back.ask.heard, back.ask.pending, back.ask.version) == (
        1,
        0,
        True,
        2,
    )
    assert back.message == asks.Message("a-222", "person:ada", False, "which one?", later(1))
    assert back.events[0].kind == "ask.asked_back"
    assert back.events[0].content == {"text": "which one?", "via": "cli", "evidence": {"uid": 1000}}
    reply = messages.reply(back.ask, an_agent(), "the first", later(2))
    assert (reply.ask.heard, reply.ask.pending, reply.ask.version) == (0, True, 3)
    assert reply.events[0].kind == "ask.replied" and reply.notices[0].kind == "replied"
    assert (
        reply.message.by_asker
        and reply.message.author == reply.events[0].actor == "agent:claude/s1"
    )
    with pytest.raises(UsageError):
        messages.ask_back(ask, a_person(), " ", NOW)
    for say in (messages.ask_back, messages.reply):
        with pytest.raises(AlreadySettledError):
            say(ask._replace(status="timed_out"), a_person(), "hi", NOW)


@pytest.mark.proves("CLI-7")
def test_messages_are_heard_once():
    ask = an_ask()._replace(asked_back=2)
    assert asks.hear(ask, 0) is None
    assert (asks.hear(ask, 1).ask.heard, asks.hear(ask, 1).ask.version) == (1, 2)
    assert asks.hear(asks.hear(ask, 2).ask, 2) is None


@pytest.mark.proves("LAW-9", "ASK-29")
def test_opening_writes_outbox_and_audit():
    change = asks.open_ask(an_ask(), "agent:claude/1")
    assert change.notices == (asks.Notice("opened", "a-222"),)
    content = {"digest": "d", "kind": "text", "record": asks.record_digest(an_ask())}
    assert change.events[0] == ("ask.opened", "a-222", "agent:claude/1", content)
    assert asks.wakes(an_ask()) == ()


@pytest.mark.proves("STORE-8", "LAW-9")
@pytest.mark.parametrize(
    "change",
    [{"priority": 0}, {"confidence": 0.1}, {"activity": "x"}, {"token_digest": "t"}, {"opened_at": later(1)},
     {"origin": Origin(started_by="person:boss")}, {"deadlines": deadlines.start(NOW, remind_every_seconds=5)},
     {"deadlines": deadlines.start(NOW, 5, hard=True)},
     {"deadlines": deadlines.start(NOW, escalations=(deadlines.Escalation(5, "x"),))}],
)  # fmt: skip
def test_record_covers_every_other_fixed_field(change):
    assert asks.record_digest(an_ask()._replace(**change)) != asks.record_digest(an_ask())
    moving = an_ask()._replace(status="answered", deadlines=deadlines.start(NOW, 5))
    assert asks.record_digest(moving) == asks.record_digest(an_ask())


@pytest.mark.proves("TUI-1")
@pytest.mark.parametrize(("secret", "word"), [(True, "secret"), (False, "text")])
def test_secret_is_named_as_its_kind(secret, word):
    assert make_question("text", "Password?", secret=secret).kind_word == word
