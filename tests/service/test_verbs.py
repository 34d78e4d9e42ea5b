"""The verbs that all faces use, on the store in memory."""

from __future__ import annotations

import pytest
from tests.support.people import a_person, an_agent
from tests.support.stores import make_lasting

from gatebell.domain.asks.answers import Given
from gatebell.domain.asks.asks import Origin
from gatebell.domain.permissions.calls import Call
from gatebell.domain.permissions.rules import Scope
from gatebell.errors import (
    AgentRefusedError,
    AlreadySettledError,
    NotFoundError,
    RefusedError,
    UsageError,
)
from gatebell.services import audit
from gatebell.services.asks import (
    answer_ask,
    apply_deadlines,
    ask_messages,
    create_ask,
    wait_for_ask,
)
from gatebell.services.asks.create_ask import Request
from gatebell.services.people import manage_people
from gatebell.testing import MemoryStore, ScriptedPerson


@pytest.fixture
def store():
    return MemoryStore()


def open_ask(store, prompt="Why?", kind="text", session="", **more):
    origin = Origin(
        project="/p", session=session, started_by="person:sue", owner=more.pop("owner", "")
    )
    return create_ask.ask(store, Request(prompt, kind, **more), origin, a_person("sue"))


def answer(store, ask_id, value, caller=None, **more):
    return answer_ask.answer(store, ask_id, caller or a_person(), Given(value, **more))


@pytest.mark.proves("LAW-1")
def test_asking_writes_a_row_and_waiting_finds_the_answer(store):
    ask_id = open_ask(store).ask.id
    assert wait_for_ask.wait(store, ask_id, 0).pending
    answer(store, ask_id, "because")
    assert wait_for_ask.wait(store, ask_id).value == "because"


@pytest.mark.proves("ASK-24", "ASK-25", "LAW-4", "S1-66")
def test_second_question_after_the_answer_is_a_new_ask(store):
    first = open_ask(store, "Continue?", session="claude/1")
    again = open_ask(store, "Continue?", session="claude/1")
    assert again.attached and again.ask.id == first.ask.id
    _, ask = answer(store, first.ask.id, "yes, go")
    assert open_ask(store, "Continue?", session="claude/1").ask.value == "yes, go"
    assert wait_for_ask.take(store, ask, "agent:claude/1")
    assert not wait_for_ask.take(store, store.asks.get(ask.id), "agent:claude/1")
    second = open_ask(store, "Continue?", session="claude/1")
    assert not second.attached and second.ask.id != first.ask.id


@pytest.mark.proves("LAW-4")
def test_take_decided_on_an_old_version_is_decided_again(store):
    ask = open_ask(store).ask
    _, settled = answer(store, ask.id, "x")
    conflicting = settled._replace(version=1)
    assert wait_for_ask.take(store, conflicting, "agent:a/1")
    assert not wait_for_ask.take(store, conflicting, "agent:b/2")
    assert store.asks.get(ask.id).delivered_to == "agent:a/1"


@pytest.mark.proves("ASK-6", "LAW-6", "S1-B15")
def test_invalid_answer_is_kept_and_the_ask_stays_pending(store):
    ask_id = open_ask(store, kind="choice", options=("A", "B")).ask.id
    with pytest.raises(RefusedError, match="'A', 'B'"):
        answer(store, ask_id, "C", note="I want C")
    assert store.asks.get(ask_id).pending
    (kept,) = store.asks.answers(ask_id)
    assert (kept.outcome, kept.value, kept.note) == ("refused", "C", "I want C")
    assert answer(store, ask_id, "A")[1].value == "A"


@pytest.mark.proves("ASK-22")
def test_retry_with_the_same_key_returns_the_first_result(store):
    ask_id = open_ask(store).ask.id
    first, _ = answer(store, ask_id, "x", key="k")
    again, ask = answer(store, ask_id, "x", key="k")
    assert again == first and ask.value == "x"
    assert len(store.asks.answers(ask_id)) == 1
    with pytest.raises(RefusedError, match="another answer"):
        answer(store, ask_id, "y", key="k")
    with pytest.raises(AlreadySettledError):
        answer(store, ask_id, "y", a_person("bob"), key="k")
    with pytest.raises(AlreadySettledError):
        answer(store, ask_id, "y", a_person("bob"), key="k")
    other = open_ask(store).ask.id
    for _ in range(2):
        with pytest.raises(RefusedError, match="not empty"):
            answer(store, other, " ", key="k")
    assert len(store.asks.answers(other)) == 1


@pytest.mark.proves("ASK-22", "ASK-30")
def test_retried_secret_returns_the_first_result(store):
    ask_id = open_ask(store, secret=True).ask.id
    first, _ = answer(store, ask_id, "hunter2", key="k")
    assert answer(store, ask_id, "hunter2", key="k")[0] == first


@pytest.mark.proves("ASK-18", "ASK-23", "LAW-3")
def test_answer_after_an_unswept_deadline_is_late(store):
    ask_id = open_ask(store, kind="approval", expires_seconds=10).ask.id
    store.clock.advance(10)
    with pytest.raises(AlreadySettledError, match="timed out"):
        answer(store, ask_id, "yes")
    ask = store.asks.get(ask_id)
    assert (ask.status, ask.decision) == ("timed_out", None)
    assert store.asks.answers(ask_id)[0].outcome == "late"


@pytest.mark.proves("ASK-18", "ASK-28", "LAW-3", "S2-B5")
def test_any_live_process_enforces_the_deadline(store):
    ask_id = open_ask(store, expires_seconds=30, default="blue", owner="job:3").ask.id
    ask = wait_for_ask.wait(store, ask_id)
    assert (ask.status, ask.value) == ("timed_out", "blue")
    assert store.asks.woken() == ["job:3"]


@pytest.mark.proves("ASK-16", "ASK-17", "ASK-31")
def test_sweeping_reminds_escalates_and_erases(store):
    reminded = open_ask(store, remind_every_seconds=10).ask.id
    from gatebell.domain.asks.deadlines import Escalation

    store.people.add("bob", [])
    open_ask(store, escalations=(Escalation(15, "bob"),))
    secret = open_ask(store, secret=True).ask.id
    answer(store, secret, "hunter2")
    store.clock.advance(20)
    assert apply_deadlines.sweep(store) == 2
    assert apply_deadlines.sweep(store) == 0
    kinds = [(notice.kind, notice.to) for notice in store.outbox.waiting(99)]
    assert ("reminder", "") in kinds and ("escalated", "bob") in kinds
    assert store.asks.get(reminded).pending
    store.clock.advance(86400)
    apply_deadlines.sweep(store)
    assert store.asks.secret(secret) is None


@pytest.mark.proves("LAW-2")
def test_overtaken_change_is_decided_again(store):
    ask = open_ask(store, expires_seconds=5).ask
    store.clock.advance(9)
    stale = ask._replace(version=99)
    assert apply_deadlines.fall_due(store, stale).status == "timed_out"


@pytest.mark.proves("ASK-8")
def test_abbreviations_only_read(store):
    ask_id = open_ask(store).ask.id
    assert create_ask.look_up(store, ask_id[:4]).id == ask_id
    assert create_ask.look_up(store, ask_id[2:].upper()).id == ask_id
    assert create_ask.get(store, ask_id.upper()).id == ask_id
    for verb in (
        lambda i: answer(store, i, "x"),
        lambda i: create_ask.cancel(store, i, a_person(), ""),
    ):
        with pytest.raises(NotFoundError):
            verb(ask_id[:4])
    with pytest.raises(NotFoundError, match="gate inbox"):
        create_ask.look_up(store, "zzzz")
    with pytest.raises(NotFoundError, match=f"write {ask_id}"):
        create_ask.get(store, ask_id[:4])


@pytest.mark.proves("ASK-8")
def test_ambiguous_abbreviation_is_refused(store):
    ids = [open_ask(store, str(n)).ask.id for n in range(9)]
    with pytest.raises(UsageError, match="matches a-"):
        create_ask.look_up(store, "a-")
    assert create_ask.look_up(store, ids[3]).id == ids[3]


@pytest.mark.proves("LAW-10", "ASK-14")
def test_requirement_needs_people_with_tokens(store):
    with pytest.raises(RefusedError, match="bob must have a personal token first: gate person add"):
        open_ask(store, kind="approval", requirement={"n": 1, "of": ["bob"]})
    with pytest.raises(RefusedError, match="2 people must have"):
        open_ask(store, kind="approval", requirement={"n": 2})
    root = a_person("root")
    for name in ("ada", "bob"):
        manage_people.add(store, root, name)
    manage_people.set_group(store, root, "ops", ["ada", "bob"])
    ask = open_ask(store, kind="approval", requirement={"n": 2, "of": "ops"}).ask
    answer(store, ask.id, "yes", a_person("ada", verified=True))
    assert store.asks.get(ask.id).pending
    manage_people.set_group(store, root, "ops", ["ada"])
    _, after = answer(store, ask.id, "yes", a_person("bob", verified=True))
    assert after.decision == "approved"


@pytest.mark.proves("ASK-10", "ASK-11")
def test_last_vote_of_a_person_counts(store):
    for name in ("ada", "bob", "cy"):
        manage_people.add(store, a_person("root"), name)
    ask = open_ask(store, kind="approval", requirement={"n": 2, "reject": 2}).ask
    for name, word in (("ada", "no"), ("ada", "yes"), ("bob", "no")):
        _, after = answer(store, ask.id, word, a_person(name, verified=True))
        assert after.pending
    _, after = answer(store, ask.id, "yes", a_person("cy", verified=True))
    assert after.decision == "approved"


@pytest.mark.proves("STORE-8", "ASK-10", "LAW-3")
def test_vote_without_an_event_does_not_count(store):
    for name in ("ada", "bob"):
        manage_people.add(store, a_person("root"), name)
    ask = open_ask(store, kind="approval", requirement={"n": 2}).ask
    answer(store, ask.id, "yes", a_person("ada", verified=True))
    store.connection.raw.execute(
        "CREATE TEMP TABLE forged AS SELECT * FROM answers;"
        "UPDATE forged SET seq = NULL, principal = 'person:bob';"
        "INSERT INTO answers SELECT * FROM forged"
    )
    assert answer(store, ask.id, "yes", a_person("ada", verified=True))[1].pending


@pytest.mark.proves("LAW-10", "TASK-328")
def test_confidence_is_a_share(store):
    assert open_ask(store, confidence=1).ask.confidence == 1
    for wrong in (-0.1, 1.1, float("nan"), float("inf")):
        with pytest.raises(UsageError, match="0 to 1"):
            open_ask(store, confidence=wrong)
    for wrong in (True, "0.9", "30%"):
        with pytest.raises(UsageError, match="confidence must be a number"):
            open_ask(store, confidence=wrong)


@pytest.mark.proves("ASK-26")
def test_activity_summary_is_bounded(store):
    assert len(open_ask(store, activity="x" * 300_000).ask.activity) == 256_000


@pytest.mark.proves("RED-5")
def test_activity_summary_is_stored_without_secrets(store):
    for before in (0, 255_990):
        activity = "x" * before + "\nDB_PASS=hunter2-and-more"
        kept = open_ask(store, activity=activity, prompt=f"Why {before}?").ask.activity
        assert "hunter2" not in kept and kept.startswith(("x" * before, "\nDB_PASS=‹hidden›"))


@pytest.mark.proves("ASK-33")
def test_cancelling_is_a_verb_with_a_reason(store):
    ask_id = open_ask(store).ask.id
    assert (
        create_ask.cancel(store, ask_id, a_person(), "no longer needed").note == "no longer needed"
    )
    with pytest.raises(AlreadySettledError):
        create_ask.cancel(store, ask_id, a_person(), "")
    with pytest.raises(NotFoundError):
        create_ask.cancel(store, "a-zzz", a_person(), "")


@pytest.mark.proves("ASK-30", "LAW-10")
def test_secret_is_given_once_to_its_token_holder(store):
    made = open_ask(store, secret=True)
    _, ask = answer(store, made.ask.id, "hunter2")
    for wrong in ("", "guess"):
        with pytest.raises(RefusedError, match="holder of its token"):
            wait_for_ask.reveal(store, ask, wrong)
    assert wait_for_ask.reveal(store, ask, made.token) == "hunter2"
    assert wait_for_ask.reveal(store, ask, made.token) == "hunter2"
    wait_for_ask.take(store, ask, "x")
    with pytest.raises(RefusedError, match="secret answer was already taken"):
        wait_for_ask.reveal(store, store.asks.get(ask.id), made.token)


@pytest.mark.proves("ASK-31")
def test_secret_erased_by_time_says_so(store):
    made = open_ask(store, secret=True)
    _, ask = answer(store, made.ask.id, "hunter2")
    store.asks.erase_secrets(store.now().replace(year=2030))
    with pytest.raises(RefusedError, match="24 hours"):
        wait_for_ask.reveal(store, ask, made.token)


@pytest.mark.proves("CLI-7", "ASK-21")
def test_message_ends_a_wait_once(store):
    ask_id = open_ask(store).ask.id
    ask_messages.ask_back(store, ask_id, a_person(), "which one?")
    ask = wait_for_ask.wait(store, ask_id, 60)
    assert ask.pending and ask.asked_back == 1
    wait_for_ask.hear(store, ask._replace(version=1))
    wait_for_ask.hear(store, ask)
    assert wait_for_ask.wait(store, ask_id, 0).heard == 1
    ask_messages.reply(store, ask_id, an_agent(), "the left one")
    assert [m.author for m in store.asks.messages(ask_id)] == ["person:ada", "agent:claude/s1"]


@pytest.mark.proves("LAW-6", "ASK-19")
def test_draft_is_kept_and_holds_the_deadline(store):
    ask_id = open_ask(store, expires_seconds=10).ask.id
    answer_ask.save_draft(store, ask_id, a_person(), "half a \0 thought")
    assert answer_ask.draft(store, ask_id, a_person()) == "half a \ufffd thought"
    assert answer_ask.draft(store, ask_id, a_person("bob")) == ""
    store.clock.advance(60)
    apply_deadlines.sweep(store)
    assert answer(store, ask_id, "whole")[1].status == "answered"


@pytest.mark.proves("LAW-6", "LAW-8")
def test_unstorable_text_is_replaced_everywhere(store):
    ask = open_ask(store, "a\0b", kind="form", schema={}).ask
    assert ask.question.prompt == "a\ufffdb"
    value = {"k\0": ["\0", 3, None, {"x": "\0"}]}
    assert answer(store, ask.id, value)[1].value == {
        "k\ufffd": ["\ufffd", 3, None, {"x": "\ufffd"}]
    }


@pytest.mark.proves("WHO-6", "WHO-7", "LAW-10")
def test_only_people_manage_people(store):
    make_lasting(store)
    for verb in (
        lambda c: manage_people.add(store, c, "eve"),
        lambda c: manage_people.token(store, c, "eve"),
        lambda c: manage_people.remove(store, c, "eve"),
        lambda c: manage_people.set_group(store, c, "g", []),
    ):
        with pytest.raises(AgentRefusedError, match="your own terminal"):
            verb(an_agent())
    assert store.people.all() == []
    assert manage_people.add(store, an_agent()._replace(verified=True), "eve").startswith("gate_")
    demo = MemoryStore()
    token = manage_people.add(demo, an_agent(), "zoe")
    assert manage_people.whose(demo, f" {token}\n").person == "zoe"


@pytest.mark.proves("LAW-10", "WHO-7")
def test_names_and_groups_must_make_sense(store):
    root = a_person("root")
    token = manage_people.add(store, root, "ada")
    manage_people.set_group(store, root, "ops", ["ada"])
    for wrong in ("", "a b", "x" * 65, "ada:b", "ops"):
        with pytest.raises(UsageError):
            manage_people.add(store, root, wrong)
    with pytest.raises(UsageError, match="exists already"):
        manage_people.add(store, root, "ada")
    for verb in (lambda: manage_people.token(store, root, "eve"), lambda: manage_people.remove(store, root, "eve"),
                 lambda: manage_people.set_group(store, root, "ops", ["eve"])):  # fmt: skip
        with pytest.raises(NotFoundError):
            verb()
    for wrong in ("ada", "all", ""):
        with pytest.raises(UsageError):
            manage_people.set_group(store, root, wrong, [])
    assert manage_people.whose(store, token, "ada").person == "ada"
    with pytest.raises(RefusedError, match="does not belong to bob"):
        manage_people.whose(store, token, "bob")
    with pytest.raises(RefusedError, match="token is unknown"):
        manage_people.whose(store, "gate_x")
    manage_people.remove(store, root, "ada")
    with pytest.raises(RefusedError):
        manage_people.whose(store, token)


def forge(store, ask_id, **columns):
    """Change the row of an ask without a verb."""
    raw = store.connection.raw
    raw.execute("PRAGMA ignore_check_constraints = ON")
    for name, value in columns.items():
        raw.execute(f"UPDATE asks SET {name} = ? WHERE id = ?", (value, ask_id))


@pytest.mark.proves("STORE-8", "LAW-9")
@pytest.mark.parametrize(
    ("tamper", "sentence"),
    [
        ({"decision": "approved"}, "a different answer"),
        ({"note": "do it"}, "a different answer"),
        ({"settled_by": "person:boss"}, "says something different"),
        ({"status": "timed_out"}, "says something different"),
        ({"digest": "0" * 64}, "changed after it was opened"),
        ({"activity": "nothing"}, "changed after it was opened"),
        ({"settled_at": None}, "a different answer"),
        ({"prompt": "Something else?"}, "changed after it was opened"),
    ],
)
def test_ask_changed_outside_the_verbs_is_found(store, tamper, sentence):
    ask_id = open_ask(store, kind="approval").ask.id
    open_ask(store, "Another?")
    answer(store, ask_id, "no")
    assert list(audit.verify(store)) == []
    forge(store, ask_id, **tamper)
    assert any(sentence in fault for fault in audit.verify(store))


@pytest.mark.proves("STORE-8")
def test_ask_settled_or_removed_without_an_event_is_found(store):
    ask_id = open_ask(store, kind="approval").ask.id
    forge(store, ask_id, status="answered", decision="approved")
    assert f"{ask_id} is in a state that no event explains" in audit.verify(store)
    store.connection.raw.execute("DELETE FROM asks")
    assert f"{ask_id} has events, but its row is missing" in audit.verify(store)


@pytest.mark.proves("STORE-8", "ASK-33", "ASK-18")
def test_changed_cancellation_timeout_or_taking_is_found(store):
    cancelled = open_ask(store).ask.id
    create_ask.cancel(store, cancelled, a_person(), "why")
    late = wait_for_ask.wait(store, open_ask(store, expires_seconds=5, default="x").ask.id).id
    taken = open_ask(store).ask.id
    wait_for_ask.take(store, answer(store, taken, "x")[1], "agent:a/1")
    assert list(audit.verify(store)) == []
    for ask_id, tamper in (
        (cancelled, {"note": "other"}),
        (late, {"value": '"y"'}),
        (taken, {"delivered_to": "b"}),
    ):
        forge(store, ask_id, **tamper)
        assert any(fault.startswith(f"{ask_id} ") for fault in audit.verify(store))


@pytest.mark.proves("ASK-13", "LAW-10")
def test_excluding_the_author_needs_an_identified_author(store):
    root = a_person("root")
    with pytest.raises(RefusedError, match="gate person add sue"):
        open_ask(store, kind="approval", requirement={"not_author": True})
    for name in ("sue", "bob"):
        manage_people.add(store, root, name)
    ask = open_ask(store, kind="approval", requirement={"not_author": True}).ask
    with pytest.raises(RefusedError, match="excludes its author"):
        answer(store, ask.id, "yes", a_person("sue", verified=True))
    assert answer(store, ask.id, "yes", a_person("bob", verified=True))[1].decision == "approved"


@pytest.mark.proves("ASK-21", "LAW-6")
def test_reply_leaves_unread_messages_unread(store):
    ask_id = open_ask(store).ask.id
    ask_messages.ask_back(store, ask_id, a_person(), "which?")
    wait_for_ask.hear(store, wait_for_ask.wait(store, ask_id))
    ask_messages.ask_back(store, ask_id, a_person(), "STOP")
    ask_messages.reply(store, ask_id, an_agent(), "the first")
    assert wait_for_ask.wait(store, ask_id).asked_back == 2 > wait_for_ask.wait(store, ask_id).heard
    assert wait_for_ask.wait(store, ask_id, 0, hears=False).pending


@pytest.mark.proves("LAW-6", "ASK-30")
def test_no_draft_of_a_secret_is_kept(store):
    ask_id = open_ask(store, secret=True).ask.id
    answer_ask.save_draft(store, ask_id, a_person(), "hunt")
    assert answer_ask.draft(store, ask_id, a_person()) == ""


@pytest.mark.proves("ASK-24")
def test_ask_of_another_owner_or_unnamed_session_is_separate(store):
    first = open_ask(store, session="claude/1", owner="run:1")
    assert not open_ask(store, session="claude/1", owner="run:2").attached
    assert open_ask(store, session="claude/1", owner="run:1").ask.id == first.ask.id
    open_ask(store, session="claude/")
    assert not open_ask(store, session="claude/").attached


@pytest.mark.proves("LAW-6", "LAW-10", "STORE-8")
def test_unstorable_texts_are_harmless(store):
    from gatebell.domain.asks.deadlines import Escalation

    ask = open_ask(
        store, kind="form", schema={"title": "\ud800"}, default={"a": "\ud83d"}, context={2: "\ud800", 10: 1},
        expires_seconds=5,
    ).ask  # fmt: skip
    with pytest.raises(NotFoundError):
        open_ask(store, escalations=(Escalation(1, "\ud800"),))
    store.clock.advance(9)
    apply_deadlines.sweep(store)
    assert store.asks.get(ask.id).value == {"a": "\ufffd"} and list(audit.verify(store)) == []


@pytest.mark.proves("PY-5")
def test_scripted_person_answers_and_asks_back(store):
    person = ScriptedPerson(store, "ada")
    person.will_ask_back("Why", "why what?").will_answer("Why", "because")
    ask_id = open_ask(store).ask.id
    assert wait_for_ask.wait(store, ask_id).asked_back == 1
    wait_for_ask.hear(store, store.asks.get(ask_id))
    assert wait_for_ask.wait(store, ask_id).settled_by == "person:ada"


@pytest.mark.proves("PY-5")
def test_endless_wait_fails_the_test_instead_of_hanging(store):
    with pytest.raises(AssertionError, match="this wait never ends"):
        wait_for_ask.wait(store, open_ask(store).ask.id)


@pytest.mark.proves("WEB-23")
def test_one_answer_for_several_asks_reports_each_result(store):
    def ask(prompt, kind="text"):
        origin = Origin("/p", "/p", "coder", "", "", "person:sue")
        return create_ask.ask(store, create_ask.Request(prompt, kind), origin, a_person("sue")).ask

    first, second, third = (ask("Which port?") for _ in range(3))
    answer_ask.answer(store, second.id, a_person("bob"), Given("81"))
    shown = [(first.id, first.digest), (second.id, second.digest), (third.id, "another")]
    results = answer_ask.answer_alike(store, shown, a_person(), Given("80"))
    assert [type(error) for _, error in results] == [type(None), AlreadySettledError, RefusedError]
    assert [ask.value for ask, _ in results] == ["80", "81", None]
    other = ask("Which port?", "approval")
    shown = [(third.id, third.digest), (other.id, other.digest)]
    with pytest.raises(RefusedError, match=other.id):
        answer_ask.answer_alike(store, shown, a_person(), Given("yes"))
    assert store.asks.get(third.id).pending and store.asks.get(other.id).pending


@pytest.mark.proves("WHO-9")
def test_vote_of_a_removed_person_does_not_count(store):
    for name in ("ada", "bob", "carol"):
        manage_people.add(store, a_person(), name)
    ask_id = open_ask(
        store, kind="approval", requirement={"n": 2, "of": ["ada", "bob", "carol"]}
    ).ask.id
    answer(store, ask_id, "yes", a_person("carol", verified=True))
    manage_people.remove(store, a_person(), "carol")
    answer(store, ask_id, "yes", a_person("bob", verified=True))
    assert store.asks.get(ask_id).pending
    answer(store, ask_id, "yes", a_person("ada", verified=True))
    assert store.asks.get(ask_id).decision == "approved"


@pytest.mark.proves("LAW-2")
def test_retry_with_a_wider_reach_is_another_answer(store):
    call = Call("Bash", {"command": "ls"}, "/p")
    ask_id = open_ask(store, kind="approval", session="claude/s1", call=call).ask.id
    answer(store, ask_id, "yes", key="k")
    answer(store, ask_id, "yes", key="k")
    with pytest.raises(RefusedError, match="another answer"):
        answer(store, ask_id, "yes", key="k", scope=Scope("session"))
