"""Further pairs of verbs that share a row: people, files, members, notifications, first events.

As in `test_interleavings.py`, the first verb stops before its COMMIT while the second one runs.
"""

from __future__ import annotations

from datetime import timedelta
from itertools import product

import pytest
from tests.support.interleaving import together
from tests.support.people import a_person
from tests.support.run_claims import claim
from tests.support.run_records import add_run

from gatebell.domain.asks.asks import Origin
from gatebell.domain.enums import MemberKind, NoticeKind
from gatebell.domain.members import Member, lose_host
from gatebell.domain.notifications.messages import Delivery
from gatebell.domain.runs import runs
from gatebell.errors import GateError
from gatebell.services import audit
from gatebell.services.asks import attachments, create_ask
from gatebell.services.asks.create_ask import Request
from gatebell.services.people import manage_logins, manage_people
from gatebell.services.runs import manage_runs

__all__ = ["together"]

ADA = a_person("ada", verified=True)


def pairs(names):
    return pytest.mark.parametrize(("first", "second"), list(product(names, repeat=2)))


class Team:
    """A person with two tokens, a link and a group."""

    def __init__(self, store) -> None:
        self.token = manage_people.add(store, ADA, "eve")
        self.id = manage_people.whose(store, self.token).id
        self.link = manage_logins.make_link(
            store, a_person("eve", verified=True)._replace(token_id=self.id)
        )

    def add_token(self, store):
        return manage_people.token(store, ADA, "eve")

    def revoke(self, store):
        return manage_people.revoke(store, ADA, self.id)

    def remove(self, store):
        return manage_people.remove(store, ADA, "eve")

    def add_again(self, store):
        return manage_people.add(store, ADA, "eve")

    def enter_by_link(self, store):
        return manage_logins.enter_by_link(store, self.link, {})

    def end_logins(self, store):
        return store.logins.end_all([])


@pytest.mark.proves("PG-3")
@pairs([name for name in vars(Team) if not name.startswith("_")])
def test_two_verbs_on_one_person(together, first, second):
    store = together.store
    manage_people.add(store, ADA, "ada")
    team = Team(store)
    results = together.run(getattr(team, first), getattr(team, second))
    assert audit.verify(store) == []
    known = {one.name for one in store.people.all()}
    assert {one.person for one in store.people.tokens()} <= known
    logins = [one for one in results if isinstance(one, str) and not one.startswith("gate_")]
    living = [one for one in logins if manage_logins.whose_login(store, one)]
    assert len(living) <= 1 and (not living or "eve" in known)


class Files:
    """Bytes that were uploaded long ago, and that no ask names."""

    def __init__(self, store) -> None:
        create_ask.ask(store, Request("Why?"), Origin(), ADA)
        self.file = attachments.attach(store, "a", b"a" * 9, "token-1")
        store.clock.advance(90_000)

    def use(self, store):
        return create_ask.ask(store, Request("Right?", attachments=(self.file,)), Origin(), ADA).ask

    def keep_again(self, store):
        store.attachments.keep(self.file, b"a" * 9, "token-1")

    def clean(self, store):
        return store.attachments.remove_unused(store.now() - attachments.UNUSED_FOR)


@pytest.mark.proves("PG-3", "ATT-6")
@pairs([name for name in vars(Files) if not name.startswith("_")])
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


class Hosts:
    """A worker of another host that is silent."""

    def __init__(self, store) -> None:
        now = store.now()
        self.worker = Member(MemberKind.WORKER, "ci/b/7/7", "", now, now)
        self.lost = lose_host("ci", now)
        store.members.join(self.worker)

    def beat(self, store):
        store.members.beat(self.worker)

    def leave(self, store):
        store.members.leave(self.worker)

    def join(self, store):
        store.members.join(self.worker)

    def lose(self, store):
        store.members.lose(self.lost, [self.worker], [])


@pytest.mark.proves("PG-3", "HOST-13")
@pairs([name for name in vars(Hosts) if not name.startswith("_")])
def test_two_verbs_on_one_member(together, first, second):
    hosts = Hosts(together.store)
    assert together.run(getattr(hosts, first), getattr(hosts, second)) == (None, None)
    rows = [one.kind for one in together.store.members.all()]
    assert len(rows) == len(set(rows))
    assert (MemberKind.LOST in rows) is ("lose" in (first, second))


class Mail:
    """A delivery that a sender has claimed."""

    def __init__(self, store, route="desk") -> None:
        self.route, now = route, store.now()
        create_ask.ask(store, Request(f"Why {route}?"), Origin(), a_person())
        [posted] = store.outbox.list_posted(9)
        made = [
            Delivery(f"{route}-{n}", NoticeKind.OPENED, "a-222", "bob", route, now, now)
            for n in range(2)
        ]
        store.outbox.spread({posted: made})
        self.mine = store.outbox.claim(route)

    def claim(self, store):
        return store.outbox.claim(self.route)

    def gather(self, store):
        return store.outbox.gather(self.mine, 9)

    def sent(self, store):
        store.outbox.sent(self.mine)

    def fail(self, store):
        store.outbox.record_failure(self.mine, "refused", store.now())

    def give_up(self, store):
        store.outbox.record_failure(self.mine, "refused", None)

    def drop(self, store):
        store.outbox.drop(self.mine)

    def put_off(self, store):
        store.outbox.put_off(self.mine, store.now() + timedelta(seconds=9))

    def try_again(self, store):
        return store.outbox.try_again()


@pytest.mark.proves("PG-3", "NTF-10")
@pytest.mark.parametrize("first", [name for name in vars(Mail) if not name.startswith("_")])
def test_two_verbs_on_one_delivery(together, first):
    for second in [name for name in vars(Mail) if not name.startswith("_")]:
        mail = Mail(together.store, second)
        results = together.run(getattr(mail, first), getattr(mail, second))
        assert not [one for one in results if isinstance(one, GateError)], (first, second)
        taken = [one.id for one in results if isinstance(one, Delivery)]
        taken += [one.id for found in results if isinstance(found, list) for one in found[1:]]
        assert len(taken) == len(set(taken)), (first, second)


class Driven:
    """A run that a process drives, and whose host may be lost."""

    def __init__(self, store) -> None:
        self.run = claim(store, add_run(store, state="ready"))

    def extend(self, store):
        return store.runs.extend([self.run], store.now() + timedelta(minutes=1))

    def raise_claims(self, store):
        return store.runs.raise_claims(5)

    def stop(self, store):
        return manage_runs.stop(store, self.run.id, ADA, "enough")

    def finish(self, store):
        return store.runs.change(runs.complete(self.run, None, store.now()), self.run)

    def delete(self, store):
        return store.runs.delete(self.run, [])

    def claim_it(self, store):
        change = runs.claim(self.run, "b/2/2", store.now())
        return store.runs.change(change, self.run)


@pytest.mark.proves("PG-3", "HOST-10")
@pairs([name for name in vars(Driven) if not name.startswith("_")])
def test_two_verbs_on_one_driven_run(together, first, second):
    store = together.store
    driven = Driven(store)
    results = together.run(getattr(driven, first), getattr(driven, second))
    if first != "extend" and second in ("finish", "claim_it"):
        assert results[1] is False, "it knew an older claim or state, so it may write nothing"
    assert audit.verify(store) == []


@pytest.mark.proves("PG-3", "PG-2")
def test_two_first_events_make_one_valid_chain(together):
    def open_one(prompt):
        return lambda own: create_ask.ask(own, Request(prompt), Origin("/p"), a_person()).ask

    asks = together.run(open_one("One?"), open_one("Two?"))
    assert len({one.id for one in asks}) == 2
    assert audit.verify(together.store) == [] and together.store.audit.head().seq == 2


@pytest.mark.proves("PG-3", "NTF-10")
def test_two_servers_see_the_same_people(together):
    def see(*names):
        return lambda own: own.presence.see(names)

    assert together.run(see("ada", "bob"), see("bob", "ada")) == (None, None)
