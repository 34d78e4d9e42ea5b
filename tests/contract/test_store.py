"""Behaviours that each store has."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from tests.support.people import a_person

from gatebell.domain.asks import asks, deadlines, messages
from gatebell.domain.asks.answers import Given, answer
from gatebell.domain.asks.asks import Ask, Change, Origin, question_digest
from gatebell.domain.asks.history_filters import HistoryFilter
from gatebell.domain.asks.owners import describe_owner
from gatebell.domain.asks.questions import make_question
from gatebell.domain.asks.requirements import Requirement
from gatebell.domain.audit.events import Event, Head, verify
from gatebell.domain.digests import GENESIS
from gatebell.domain.notifications.notes import Note
from gatebell.domain.people.logins import Login, Token
from gatebell.domain.permissions.calls import Call
from gatebell.domain.permissions.rules import Rule, Scope
from gatebell.ports.results import Conflict, Done

NOW = datetime(2026, 1, 1, tzinfo=UTC)
EVENT = Event("person.added", "ada", "person:root", {})


def an_ask(store, ask_id="a-222", session="", prompt="Why?", **more):
    question = more.pop("question", make_question("text", prompt))
    origin = more.pop("origin", Origin(project="/p", cwd="/p/x", agent="coder", session=session))
    digest = question_digest(question, origin)
    return Ask(ask_id, question, origin, store.now(), digest, **more)


def open_ask(store, *args, **more):
    ask = an_ask(store, *args, **more)
    assert store.asks.open(asks.open_ask(ask, "person:ada")) == Done()
    return ask


def settle(store, ask, value="because", caller=None, **more):
    verdict = answer(ask, (), caller or a_person(), Given(value, **more), store.now(), b"k" * 32)
    result = store.asks.change(verdict.change, ask.version, verdict.answer, verdict.secret)
    return verdict.change.ask, result


@pytest.mark.proves("STORE-1", "LAW-1")
def test_ask_is_read_as_written(store):
    question = make_question(
        "choice", "Quoi? \x1b[1m 日本 🙂", context={"a": [1, None, "é"]}, options=("A", "B", "Other…"),
        multiple=True,
    )._replace(default=["A"])  # fmt: skip
    clock = deadlines.start(store.now(), 60.5, True, 7, (deadlines.Escalation(5, "bob"),))
    ask = open_ask(
        store, question=question, origin=Origin("/p", "/p/x", "coder", "claude/1", "t1", "person:sue", "run:1/2"),
        priority=0, confidence=0.25, activity="much", deadlines=clock,
    )  # fmt: skip
    assert store.asks.get(ask.id) == ask
    form = make_question("form", "F", schema={"type": "object"})
    vote = make_question("approval", "G", requirement=Requirement(2, ("a", "b"), ("c",), True, 2))
    secret = make_question("text", "S", secret=True)
    for number, question in enumerate((form, vote, secret)):
        ask = open_ask(
            store, f"a-33{number + 3}", question=question, token_digest="d" if number == 2 else ""
        )
        assert store.asks.get(ask.id) == ask
    assert store.asks.get("a-999") is None


@pytest.mark.proves("STORE-1", "ASK-8")
def test_abbreviations_find_ids_in_order(store):
    for ask_id in ("a-23b", "a-23a", "a-3aa"):
        open_ask(store, ask_id)
    assert store.asks.matching("a-2", 5) == ["a-23a", "a-23b"]
    assert store.asks.matching("a-2", 1) == ["a-23a"]
    assert store.asks.matching("a-9", 5) == []
    assert store.asks.count() >= 3


@pytest.mark.proves("STORE-1", "ASK-7")
def test_taken_id_is_a_conflict_and_changes_nothing(store):
    first = open_ask(store)
    again = an_ask(store, prompt="Other?")
    assert store.asks.open(asks.open_ask(again, "person:ada")) == Conflict(None)
    assert store.asks.get("a-222") == first
    assert store.audit.head().seq == 1


@pytest.mark.proves("STORE-1", "ASK-24", "LAW-4")
def test_same_question_of_the_same_session_attaches(store):
    first = open_ask(store, session="claude/1")
    again = an_ask(store, "a-333", session="claude/1")
    assert store.asks.open(asks.open_ask(again, "x")) == Conflict(first)
    open_ask(store, "a-444", session="claude/2")
    open_ask(store, "a-555", session="claude/1", prompt="Else?")
    answered, _ = settle(store, first)
    assert store.asks.open(asks.open_ask(again, "x")) == Conflict(answered)


@pytest.mark.proves("STORE-1", "ASK-25")
@pytest.mark.parametrize("end", ["taken", "cancelled", "timed_out"])
def test_taken_or_settled_ask_is_not_attached_to(store, end):
    ask = open_ask(store, session="claude/1", deadlines=deadlines.start(store.now(), 1))
    if end == "taken":
        ask, _ = settle(store, ask)
        change = asks.take(ask, "agent:claude/1", store.now())
    elif end == "cancelled":
        change = asks.cancel(ask, a_person(), "", store.now())
    else:
        change = asks.fall_due(ask, store.now() + timedelta(seconds=2))
    assert store.asks.change(change, ask.version) == Done()
    open_ask(store, "a-333", session="claude/1")


@pytest.mark.proves("STORE-1")
def test_attaching_needs_a_session_and_no_secret(store):
    open_ask(store)
    open_ask(store, "a-333")
    secret = make_question("text", "S", secret=True)
    open_ask(store, "a-444", session="claude/1", question=secret, token_digest="t")
    open_ask(store, "a-555", session="claude/1", question=secret, token_digest="u")


@pytest.mark.proves("STORE-1", "CLI-8")
def test_inbox_is_ordered_by_priority_then_age(store):
    for ask_id, priority, project in (
        ("a-222", 2, "/p"),
        ("a-333", 0, "/q"),
        ("a-444", 2, "/p"),
        ("a-555", 1, "/q"),
    ):
        open_ask(store, ask_id, origin=Origin(project=project), priority=priority)
        store.clock.advance(1)
    assert [ask.id for ask in store.asks.pending(9)] == ["a-333", "a-555", "a-222", "a-444"]
    assert [ask.id for ask in store.asks.pending(2)] == ["a-333", "a-555"]
    assert [ask.id for ask in store.asks.pending(9, "/p")] == ["a-222", "a-444"]


@pytest.mark.proves("WEB-81")
def test_every_ask_of_a_run_is_found(store):
    for ask_id, owner in [("a-444", "run:7/1"), ("a-222", "run:7/2.1.1"), ("a-333", "run:70/1")]:
        open_ask(store, ask_id, origin=Origin(owner=owner))
    open_ask(store, "a-555", origin=Origin(owner="somebody"))
    settle(store, store.asks.get("a-444"))
    assert [ask.id for ask in store.asks.of_run(7)] == ["a-444", "a-222"]
    assert [ask.id for ask in store.asks.pending_of_run(7)] == ["a-222"]
    assert [ask.id for ask in store.asks.of_run(70)] == ["a-333"]
    assert store.asks.of_run(1) == []


@pytest.mark.proves("STORE-1", "LAW-2")
def test_change_is_written_only_from_its_version(store):
    ask = open_ask(store, origin=Origin(owner="job:7"))
    after, result = settle(store, ask, note="n")
    assert result == Done() and store.asks.get(ask.id) == after
    head, outbox = store.audit.head(), store.outbox.waiting(99)
    _loser, result = settle(store, ask, "late", a_person("bob"))
    assert result == Conflict(after)
    assert store.asks.get(ask.id) == after
    assert (store.audit.head(), store.outbox.waiting(99)) == (head, outbox)
    assert [given.principal for given in store.asks.answers(ask.id)] == ["person:ada"]
    assert store.asks.woken() == ["job:7"]
    missing = asks.cancel(an_ask(store, "a-zzz"), a_person(), "", store.now())
    assert store.asks.change(missing, 1) == Conflict(None)


@pytest.mark.proves("STORE-1", "LAW-9", "ASK-28", "ASK-29")
def test_change_carries_events_notices_and_wakes(store):
    ask = open_ask(store, origin=Origin(owner="run:7"))
    settle(store, ask)
    assert [entry.event.kind for entry in store.audit.entries()] == ["ask.opened", "ask.answered"]
    assert [notice.kind for notice in store.outbox.waiting(9)] == ["opened", "settled"]
    assert store.outbox.waiting(1) == [asks.Notice("opened", "a-222")]


@pytest.mark.proves("ASK-35")
@pytest.mark.parametrize("digits", [19, 5_000])
def test_owner_with_an_impossible_run_number_is_a_name(store, digits):
    owner = f"run:{'9' * digits}/1"
    ask = open_ask(store, origin=Origin(owner=owner))
    _, result = settle(store, ask)
    assert result == Done() and store.asks.woken() == [owner]
    assert describe_owner(owner) == owner


@pytest.mark.proves("STORE-1", "LAW-6", "ASK-23")
def test_refused_answers_are_kept_with_everything(store):
    ask = open_ask(store)
    late, _ = settle(store, ask)
    store.clock.advance(3)
    verdict = answer(
        late, (), a_person("bob"), Given({"deep": [1]}, "my note"), store.now(), b"k" * 32
    )
    assert store.asks.keep_answer(verdict.answer, verdict.events) == Done()
    assert store.asks.answers(ask.id)[-1] == verdict.answer
    assert store.asks.get(ask.id) == late


@pytest.mark.proves("STORE-1", "ASK-22")
def test_key_is_used_once_by_one_principal_and_ask(store):
    ask = open_ask(store)
    verdict = answer(ask, (), a_person(), Given("", key="k1"), store.now(), b"k" * 32)
    assert store.asks.keep_answer(verdict.answer, verdict.events) == Done()
    assert store.asks.keep_answer(verdict.answer, verdict.events) == Conflict(ask)
    assert settle(store, ask, key="k1")[1] == Conflict(ask)
    assert store.asks.get(ask.id) == ask
    assert store.asks.answer_with_key(ask.id, "person:ada", "k1") == verdict.answer
    for wrong in (
        ("a-333", "person:ada", "k1"),
        (ask.id, "person:bob", "k1"),
        (ask.id, "person:ada", "k2"),
    ):
        assert store.asks.answer_with_key(*wrong) is None
    assert settle(store, ask, caller=a_person("bob"), key="k1")[1] == Done()


@pytest.mark.proves("STORE-1", "ASK-21")
def test_messages_keep_their_order(store):
    ask = open_ask(store)
    for text in ("which?", "and why?"):
        change = messages.ask_back(store.asks.get(ask.id), a_person(), text, store.now())
        assert store.asks.change(change, change.ask.version - 1) == Done()
        store.clock.advance(1)
    assert [m.text for m in store.asks.messages(ask.id)] == ["which?", "and why?"]
    assert store.asks.messages(ask.id)[0].sent_at < store.asks.messages(ask.id)[1].sent_at
    assert store.asks.get(ask.id).asked_back == 2
    assert store.asks.messages("a-zzz") == []


@pytest.mark.proves("STORE-1", "LAW-6", "ASK-19")
def test_drafts_are_kept_per_person_until_the_answer(store):
    ask = open_ask(store, deadlines=deadlines.start(store.now(), 10))
    change = asks.hold_deadlines(ask, "person:ada", store.now())
    held = change.ask
    assert store.asks.save_draft(change, ask.version, "person:ada", "half") == Done()
    assert store.asks.save_draft(change, ask.version, "person:ada", "other") == Conflict(held)
    again = asks.hold_deadlines(held, "person:bob", store.now())
    assert store.asks.save_draft(again, held.version, "person:bob", "bob's") == Done()
    assert store.asks.get(ask.id).deadlines.expires_at == held.deadlines.expires_at
    assert store.asks.draft(ask.id, "person:ada") == "half"
    assert [one.event.kind for one in store.audit.entries()] == ["ask.opened", "ask.held"]
    settle(store, held)
    assert store.asks.draft(ask.id, "person:ada") == ""
    assert store.asks.draft(ask.id, "person:bob") == "bob's"


@pytest.mark.proves("STORE-1", "ASK-30", "ASK-31")
def test_secrets_are_erased_when_taken_or_old(store):
    question = make_question("text", "S", secret=True)
    first = open_ask(store, question=question, token_digest="t")
    second = open_ask(store, "a-333", question=question, token_digest="u")
    answered, _ = settle(store, first, "hunter2")
    settle(store, second, "hunter3")
    assert store.asks.secret(first.id) == "hunter2"
    store.asks.change(asks.take(answered, "x", store.now()), answered.version)
    assert store.asks.secret(first.id) is None
    assert store.asks.erase_secrets(store.now()) == 0
    store.clock.advance(1)
    assert store.asks.erase_secrets(store.now()) == 1
    assert store.asks.secret(second.id) is None


@pytest.mark.proves("STORE-1", "ASK-18")
def test_due_asks_are_found_in_order(store):
    now = store.now()
    open_ask(store, "a-222", deadlines=deadlines.start(now, 20))
    open_ask(store, "a-333", deadlines=deadlines.start(now, remind_every_seconds=10))
    done = open_ask(store, "a-444", deadlines=deadlines.start(now, 5))
    open_ask(store, "a-555")
    store.asks.change(asks.cancel(done, a_person(), "", now), 1)
    assert store.asks.due(now + timedelta(seconds=9), 9) == []
    assert [ask.id for ask in store.asks.due(now + timedelta(seconds=20), 9)] == ["a-333", "a-222"]
    assert len(store.asks.due(now + timedelta(seconds=20), 1)) == 1


@pytest.mark.proves("STORE-1")
def test_history_is_newest_first_and_can_be_searched(store):
    for ask_id, prompt in (("a-222", "Blue Bike"), ("a-333", "Red Car")):
        settle(store, open_ask(store, ask_id, prompt=prompt), note=f"Note {ask_id}")
        store.clock.advance(1)
    open_ask(store, "a-444", prompt="Blue still waiting")
    assert [ask.id for ask in store.asks.list_settled(9)] == ["a-333", "a-222"]
    assert [ask.id for ask in store.asks.list_settled(9, HistoryFilter("bLUE"))] == ["a-222"]
    assert [ask.id for ask in store.asks.list_settled(9, HistoryFilter("note A-3"))] == ["a-333"]
    assert len(store.asks.list_settled(1)) == 1


@pytest.mark.proves("WEB-3", "WEB-4")
def test_token_keeps_scopes_and_label_and_removes_its_logins(store):
    store.people.add("ada", [EVENT])
    token = Token("", "ada", ("ask",), "for the night shift")
    assert store.people.add_token(token, "0123456789", [EVENT])
    (listed,) = store.people.tokens()
    assert listed == token._replace(id="01234567", made_at=store.now())
    assert store.people.by_token("0123456789") == listed
    login = Login("ada", True, ("ask",), store.now() + timedelta(hours=1), listed.id, "seal")
    assert store.logins.enter("l1", login, "", [EVENT]) and store.logins.get("l1") == login
    other = login._replace(token_id="", verified=False)
    assert store.logins.enter("l2", other, "", [EVENT])
    gone = login._replace(token_id="gone")
    seq = store.audit.head().seq
    assert not store.logins.enter("l9", gone, "", [EVENT])
    assert not store.logins.add_link("k9", gone, [EVENT])
    assert store.logins.get("l9") is None and store.logins.link("k9") is None
    assert store.audit.head().seq == seq
    assert not store.people.remove_token("nothing", [EVENT])
    assert store.people.remove_token(listed.id, [EVENT]) and store.people.tokens() == []
    assert store.logins.get("l1") is None and store.logins.get("l2") == other
    assert store.logins.enter("l3", other._replace(verified=True), "", [EVENT])
    store.people.remove("ada", [EVENT])
    assert store.logins.get("l3") is None and store.logins.get("l2") == other


@pytest.mark.proves("WEB-1", "WEB-2")
def test_link_is_exchanged_once_and_everything_expires(store):
    link = Login("ada", False, ("read",), store.now() + timedelta(minutes=15))
    store.logins.add_link("k1", link, [EVENT])
    store.logins.add_link("k2", link, [EVENT])
    assert store.logins.link("k1") == link and store.logins.get("k1") is None
    seq = store.audit.head().seq
    login = link._replace(expires_at=store.now() + timedelta(days=1))
    assert store.logins.enter("l1", login, "k1", [EVENT])
    assert not store.logins.enter("l2", login, "k1", [EVENT])
    assert store.logins.link("k1") is None and store.logins.link("l1") is None
    assert store.logins.get("l1") == login and store.logins.get("l2") is None
    assert store.audit.head().seq == seq + 1
    store.clock.advance(15 * 60)
    assert store.logins.link("k2") is None and not store.logins.enter("l3", login, "k2", [EVENT])
    store.logins.end("l1", [EVENT])
    store.logins.end("l1", [EVENT])
    assert store.logins.get("l1") is None and store.audit.head().seq == seq + 2
    assert store.logins.enter("l4", login, "", [EVENT])
    store.clock.advance(24 * 3600)
    assert store.logins.get("l4") is None


@pytest.mark.proves("WEB-22")
def test_ask_opened_under_a_key_is_found_when_taken(store):
    first = an_ask(store)
    assert isinstance(store.asks.open(asks.open_ask(first, "x"), "t:1"), Done)
    again = store.asks.open(asks.open_ask(an_ask(store, "a-333"), "x"), "t:1")
    assert again == Conflict(first) and store.asks.get("a-333") is None
    assert isinstance(store.asks.open(asks.open_ask(an_ask(store, "a-444"), "x"), "t:2"), Done)


@pytest.mark.proves("WEB-34", "WEB-38")
def test_who_is_answering_and_how_many_wait(store):
    first = open_ask(store)
    second = open_ask(store, "a-333")
    began = store.now()
    store.clock.advance(1)
    store.asks.save_draft(Change(first, ()), first.version, "person:ada", "so far")
    store.clock.advance(1)
    store.asks.save_draft(Change(second, ()), second.version, "person:bob", "likewise")
    assert store.asks.drafting(began) == [("a-222", "person:ada"), ("a-333", "person:bob")]
    assert store.asks.drafting(began + timedelta(seconds=1)) == [("a-333", "person:bob")]
    assert store.asks.waiting_counts() == [(first.origin.project, 2)]


@pytest.mark.proves("STORE-1", "WHO-7")
def test_people_tokens_and_groups(store):
    assert store.people.add("bob", [EVENT]) and store.people.add("ada", [EVENT])
    assert not store.people.add("ada", [EVENT])
    assert not store.people.add_token(Token("", "eve"), "d0", [EVENT])
    for digest in ("d1", "d2"):
        assert store.people.add_token(Token("", "ada"), digest, [EVENT])
    assert [(one.name, one.tokens) for one in store.people.all()] == [("ada", 2), ("bob", 0)]
    assert store.people.by_token("d1").person == "ada" and store.people.by_token("d9") is None
    store.people.set_group("ops", ["bob", "ada", "ada"], [EVENT])
    store.people.set_group("dev", ["ada"], [EVENT])
    assert store.people.groups() == {"dev": ("ada",), "ops": ("ada", "bob")}
    store.people.set_group("ops", ["bob"], [EVENT])
    assert store.people.remove("ada", [EVENT]) and not store.people.remove("ada", [EVENT])
    assert store.people.groups() == {"ops": ("bob",)}
    assert store.people.by_token("d1") is None
    store.people.set_group("ops", [], [EVENT])
    assert store.people.groups() == {}
    assert store.audit.head().seq == 9


@pytest.mark.proves("STORE-1", "STORE-6", "LAW-9")
def test_audit_trail_is_one_verifiable_chain(store):
    assert store.audit.head() == Head(0, GENESIS)
    first = open_ask(store, "a-222")
    position = store.audit.position()
    second = open_ask(store, "a-333")
    settle(store, first)
    entries = list(store.audit.entries())
    assert [entry.seq for entry in entries] == [1, 2, 3]
    assert list(verify(entries, store.audit.head())) == []
    assert [entry.seq for entry in store.audit.entries(after=2)] == [3]
    assert [entry.event.kind for entry in store.audit.of_subject("a-222")] == [
        "ask.opened",
        "ask.answered",
    ]
    assert [entry.seq for entry in store.audit.newest(2)] == [2, 3]
    position, changed = store.audit.changed_since(position)
    assert changed == {second.id, first.id}
    assert store.audit.changed_since(position) == (position, frozenset())
    assert store.asks.without_events() == []


@pytest.mark.proves("STORE-1")
def test_store_gives_the_time_of_its_clock(store):
    before, mark = store.now(), store.monotonic()
    store.clock.advance(5)
    assert (store.now() - before).total_seconds() == store.monotonic() - mark == 5
    assert store.now().utcoffset() == timedelta(0)
    assert store.throwaway


def a_rule(rule_id="g-222222", kind="grant", **more):
    return Rule(rule_id, kind, "Bash(x)", "person:ada", NOW, **more)


@pytest.mark.proves("AGT-1", "STORE-1")
def test_held_call_is_read_as_written(store):
    call = Call("Bash", {"command": "é\n", "n": [1, None]}, "/p", "main", "/p/x", "said")
    ask = open_ask(store, question=make_question("approval", "Q", call=call), deferred=True)
    assert store.asks.get(ask.id) == ask
    edited = {"input": {"command": "other"}}
    after, result = settle(store, ask, edited, a_person(verified=True))
    assert result == Done() and store.asks.get(ask.id) == after
    assert after.value == edited and store.rules.in_force() == []


@pytest.mark.proves("AGT-6", "LAW-9")
def test_grant_is_written_with_its_answer(store):
    call = Call("Bash", {"command": "x"}, "/p", "main")
    ask = open_ask(store, question=make_question("approval", "Q", call=call))
    _, result = settle(store, ask, "yes", a_person(verified=True), scope=Scope("3"))
    (grant,) = store.rules.in_force()
    assert result == Done() and (grant.pattern, grant.uses_left) == ("Bash(x)", 2)
    kinds = [entry.event.kind for entry in store.audit.entries()]
    assert kinds == ["ask.opened", "ask.answered", "grant.made"]
    _, late = settle(store, ask, "yes", a_person("bob", verified=True), scope=Scope("3"))
    assert isinstance(late, Conflict) and store.rules.in_force() == [grant]


@pytest.mark.proves("AGT-8", "STORE-1")
def test_rule_is_read_as_written(store):
    whole = a_rule(
        identity="d", project="/p", session="s", owner="o", branch="b", ask_id="a-222",
        expires_at=store.now() + timedelta(hours=1), uses_left=2,
    )  # fmt: skip
    plain = a_rule("r-2", "deny")
    store.rules.add([whole, plain], [EVENT])
    assert store.rules.in_force() == [whole, plain]
    assert store.audit.head().seq == 1


@pytest.mark.proves("HOOK-12")
@pytest.mark.parametrize("kind", ["ask", "deny"])
def test_store_remembers_that_it_had_gates(store, kind):
    assert not store.rules.had_gates()
    store.rules.add([a_rule("g-3", "grant")], [])
    assert not store.rules.had_gates()
    store.rules.add([a_rule("r-2", kind)], [])
    assert store.rules.had_gates()
    assert store.rules.end("r-2", []) and store.rules.had_gates()


@pytest.mark.proves("AGT-8")
def test_grant_has_a_limited_number_of_uses(store):
    store.rules.add([a_rule(uses_left=2), a_rule("g-3")], [EVENT])
    assert [store.rules.use("g-222222", [EVENT]) for _ in range(3)] == [True, True, False]
    assert all(store.rules.use("g-3", []) for _ in range(5))
    assert store.audit.head().seq == 3
    assert [rule.id for rule in store.rules.in_force()] == ["g-3"]


@pytest.mark.proves("AGT-8")
def test_grant_ends_by_time_or_by_a_person(store):
    store.rules.add(
        [a_rule(expires_at=store.now() + timedelta(seconds=60)), a_rule("g-3")], [EVENT]
    )
    store.clock.advance(59)
    assert store.rules.use("g-222222", [])
    store.clock.advance(1)
    assert not store.rules.use("g-222222", [EVENT])
    assert store.rules.end("g-3", [EVENT]) and not store.rules.end("g-3", [EVENT])
    assert not store.rules.use("g-3", [EVENT]) and not store.rules.use("g-9", [EVENT])
    assert store.rules.in_force() == [] and store.audit.head().seq == 2


@pytest.mark.proves("AGT-15")
def test_session_has_one_deferred_ask_at_most(store):
    first = open_ask(store, "a-222", "claude/1", "one", deferred=True)
    other = an_ask(store, "a-333", "claude/1", "two", deferred=True)
    assert store.asks.open(asks.open_ask(other, "person:ada")) == Conflict(first)
    open_ask(store, "a-444", "claude/1", "three")
    open_ask(store, "a-555", "claude/2", "two", deferred=True)
    after, _ = settle(store, first)
    assert store.asks.open(asks.open_ask(other, "person:ada")) == Conflict(after)
    taken = asks.take(after, "agent:claude/1", store.now())
    assert store.asks.change(taken, after.version) == Done()
    assert store.asks.open(asks.open_ask(other, "person:ada")) == Done()


@pytest.mark.proves("AGT-14")
def test_waits_of_a_session_are_listed(store):
    first = open_ask(store, "a-222", "claude/1", "one")
    second = open_ask(store, "a-333", "claude/1", "two")
    open_ask(store, "a-444", "claude/2", "one")
    open_ask(store, "a-555", "", "one")
    assert store.asks.pending_of_session("claude/1") == [first, second]
    settle(store, first)
    assert store.asks.pending_of_session("claude/1") == [second]
    assert store.asks.pending_of_session("") == []


@pytest.mark.proves("AGT-26")
def test_notes_come_newest_first(store):
    for text in ("one", "two", "three"):
        note = Note("claude", "/p", text, store.now())
        store.notes.add(note, [EVENT], [asks.Notice("note", "")])
    assert [note.text for note in store.notes.newest(2)] == ["three", "two"]
    assert store.notes.newest(1) == [Note("claude", "/p", "three", store.now())]
    assert store.audit.head().seq == 3 and len(store.outbox.waiting(9)) == 3
