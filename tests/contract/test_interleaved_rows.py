"""Further pairs of verbs that share a row: people, files, members, notifications, first events.

As in `test_interleavings.py`, the first verb stops before its COMMIT while the second one runs.
"""

from __future__ import annotations

from itertools import product

import pytest
from tests.support.interleaved_rows import (
    Files,
    Frozen,
    Grant,
    Groups,
    Hosts,
    Mail,
    NewFile,
    Posting,
    Shadow,
    Team,
)
from tests.support.interleaved_work import list_verbs
from tests.support.interleaving import together
from tests.support.people import a_person

from gatebell.domain.asks.asks import Origin
from gatebell.domain.enums import MemberKind, NoticeKind, RuleKind
from gatebell.domain.notifications.messages import Delivery
from gatebell.errors import GateError, StoreError
from gatebell.services import audit, freezes
from gatebell.services.asks import attachments, create_ask
from gatebell.services.asks.create_ask import Request
from gatebell.services.people import manage_people
from gatebell.services.people.manage_logins import whose_login

__all__ = ["together"]

ADA = a_person("ada", verified=True)


def pairs(scene):
    verbs = list(product(list_verbs(scene), repeat=2))
    return pytest.mark.parametrize(("first", "second"), verbs)


@pytest.mark.proves("PG-3")
@pytest.mark.parametrize("first", list_verbs(Team))
def test_two_verbs_on_one_person(together, first):
    store = together.store
    for second in list_verbs(Team):
        team = Team(store)
        results = together.run(getattr(team, first), getattr(team, second))
        assert not [one for one in results if isinstance(one, StoreError)], second
        check_people(store, second)
        if (first, second) == ("remove_chat", "answer_by_chat"):
            assert store.asks.get(team.ask.id).pending, "its account was unlinked before"
        if first == second == "enter_by_link":
            assert whose_login(store, results[0]) and isinstance(results[1], GateError)
        store.logins.end_all([])
        for person in store.people.all():
            manage_people.remove(store, ADA, person.name)
        for link in store.chats.all():
            store.chats.remove(link.id, [])
    assert audit.verify(store) == []


def check_people(store, second):
    """Check that whatever was made with a token or for a person has ended with it."""
    people = {one.name for one in store.people.all()}
    tokens = {one.id for one in store.people.tokens()} | {""}
    assert {one.person for one in store.people.tokens()} <= people, second
    devices, chats = store.devices.all(), store.chats.all()
    assert {one.token_id for one in (*devices, *chats)} <= tokens, second
    assert len({one.endpoint for one in devices}) == len(devices), second
    accounts = [one.account for one in chats if one.account]
    assert len(accounts) <= 1, (second, "an account belongs to one person")


@pytest.mark.proves("PG-3")
@pairs(Groups)
def test_group_has_the_members_of_one_list(together, first, second):
    groups = Groups(together.store)
    together.run(getattr(groups, first), getattr(groups, second))
    assert not {"ada", "bob"} <= set(together.store.people.groups()["team"])
    assert audit.verify(together.store) == []


@pytest.mark.proves("PG-3")
@pairs(Grant)
def test_last_use_of_a_grant_is_used_once(together, first, second):
    grant = Grant(together.store)
    results = together.run(getattr(grant, first), getattr(grant, second))
    assert results[0] is True
    assert results[1] is ((first, second) == ("use", "end"))
    assert audit.verify(together.store) == []


@pytest.mark.proves("PG-3", "LESS-4")
@pairs(Shadow)
def test_shadow_rule_is_ended_by_one_of_two(together, first, second):
    store = together.store
    shadow = Shadow(store)
    results = together.run(getattr(shadow, first), getattr(shadow, second))
    refused = [one for one in results if isinstance(one, GateError)]
    is_late = first == second or (second != "object" and (first, second) != ("object", "remove"))
    assert len(refused) == is_late, results
    grants = [one for one in store.rules.in_force() if one.kind == RuleKind.GRANT]
    assert len(grants) == (first == "promote" and second != "object")
    assert audit.verify(store) == []


@pytest.mark.proves("PG-3", "FREEZE-5")
@pairs(Frozen)
def test_two_verbs_on_one_freeze(together, first, second):
    store = together.store
    frozen = Frozen(store)
    results = together.run(getattr(frozen, first), getattr(frozen, second))
    if (first, second) == ("lift", "lift"):
        assert [bool(one) for one in results] == [True, False]
    if "lift" not in (first, second):
        assert freezes.find(store) and not [one for one in results if one is True]
    assert audit.verify(store) == []


@pytest.mark.proves("PG-3", "CHAT-1")
@pairs(Posting)
def test_one_reminder_of_an_ask_waits(together, first, second):
    store = together.store
    posting = Posting(store)
    assert together.run(getattr(posting, first), getattr(posting, second)) == (None, None)
    waiting = [one.kind for one in store.outbox.waiting(9)]
    assert waiting.count(NoticeKind.REMINDER) == ("remind" in (first, second))
    assert len(store.chats.messages_about("a-222")) == ("note_chat" in (first, second))


@pytest.mark.proves("PG-3", "ATT-6")
@pairs(Files)
def test_two_verbs_on_one_file(together, first, second):
    store = together.store
    files = Files(store)
    results = together.run(getattr(files, first), getattr(files, second))
    for ask in store.asks.pending(9):
        for file in ask.question.attachments:
            assert attachments.read(store, file) == b"a" * 9
    if "keep_again" in (first, second):
        assert store.attachments.read(files.file.digest) == b"a" * 9
    refused = [one for one in results if isinstance(one, GateError)]
    assert not refused or {first, second} == {"use", "clean"}, refused
    assert audit.verify(store) == []


@pytest.mark.proves("PG-3", "ATT-6")
@pairs(NewFile)
def test_two_verbs_on_a_new_file(together, first, second):
    store = together.store
    file = NewFile(store)
    results = together.run(getattr(file, first), getattr(file, second))
    used = [attached for ask in store.asks.pending(9) for attached in ask.question.attachments]
    assert [attachments.read(store, one) for one in used] == [b"a" * 9] * len(used)
    if first.startswith("keep") and second.startswith("keep"):
        assert results == (None, None) and store.attachments.read(file.file.digest) == b"a" * 9
    assert audit.verify(store) == []


@pytest.mark.proves("PG-3", "HOST-13")
@pairs(Hosts)
def test_two_verbs_on_one_member(together, first, second):
    hosts = Hosts(together.store)
    assert together.run(getattr(hosts, first), getattr(hosts, second)) == (None, None)
    rows = [one.kind for one in together.store.members.all()]
    assert len(rows) == len(set(rows))
    assert (MemberKind.LOST in rows) is ("lose" in (first, second))


@pytest.mark.proves("PG-3", "NTF-10")
@pytest.mark.parametrize("first", list_verbs(Mail))
def test_two_verbs_on_one_delivery(together, first):
    for second in list_verbs(Mail):
        mail = Mail(together.store, second)
        results = together.run(getattr(mail, first), getattr(mail, second))
        assert not [one for one in results if isinstance(one, GateError)], (first, second)
        taken = [one.id for one in results if isinstance(one, Delivery)]
        taken += [one.id for found in results if isinstance(found, list) for one in found[1:]]
        assert len(taken) == len(set(taken)), (first, second)


@pytest.mark.proves("PG-3", "PG-2")
def test_two_first_events_make_one_valid_chain(together):
    def open_one(prompt):
        return lambda own: create_ask.ask(own, Request(prompt), Origin("/p"), a_person()).ask

    asks = together.run(open_one("One?"), open_one("Two?"))
    assert len({one.id for one in asks}) == 2
    assert audit.verify(together.store) == [] and together.store.audit.head().seq == 2
