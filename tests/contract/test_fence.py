"""A store that was restored from a backup: what looks unused again is ended."""

from __future__ import annotations

import pytest
from tests.support import rich_store
from tests.support.call_hosts import PlannedHost
from tests.support.flow_harness import Harness
from tests.support.people import a_person, an_agent
from tests.support.rich_store import ORIGIN, answer, open_ask

from gatebell.api.flows import approve
from gatebell.app.wiring import open_store
from gatebell.domain.audit.events import EventKind, Head
from gatebell.domain.permissions.calls import make_call
from gatebell.domain.permissions.rules import Scope
from gatebell.domain.runs import runs
from gatebell.errors import AgentRefusedError
from gatebell.services import audit, fence
from gatebell.services.asks import create_ask, wait_for_ask
from gatebell.services.asks.create_ask import Request
from gatebell.services.people import manage_logins, manage_people
from gatebell.services.permissions import manage_rules, permit_call
from gatebell.services.permissions.permit_call import Held

ADA = a_person("ada", verified=True)
CALL = make_call("Bash", {"command": "deploy"}, "/p", "main")
EDITED = make_call("Bash", {"command": "deploy --slowly"}, "/p", "main")


def use_approval(store, ask_id):
    """Make the held call now; return whether the approval of this ask lets it run."""
    held = Held(CALL, ORIGIN, 600.0, PlannedHost())
    permission = permit_call.use(store, create_ask.get(store, ask_id), held)
    return bool(permission and permission.allow)


def approve_call(store, **more):
    asked = open_ask(store, "Deploy?", kind="approval", call=CALL).ask
    return answer(store, asked.id, "yes", **more)


def status_of(store, ask_id):
    ask = create_ask.get(store, ask_id)
    return (ask.status, ask.decision, ask.settled_via)


@pytest.mark.proves("FENCE-1")
def test_untaken_approval_is_cancelled_by_the_person(store):
    approved = approve_call(store)
    edited = open_ask(store, "Edit?", kind="approval", call=EDITED).ask
    answer(store, edited.id, {"input": {"command": "ls"}})
    plain = open_ask(store, "Ship?", kind="approval").ask
    answer(store, plain.id, "yes")
    done = fence.fence(store, ADA)
    assert set(done.approvals) == {approved.id, edited.id, plain.id}
    for one in done.approvals:
        assert status_of(store, one) == ("cancelled", None, "fence")
    assert not use_approval(store, approved.id)
    last = store.audit.of_subject(approved.id)[-1].event
    assert (last.kind, last.actor) == (EventKind.ASK_CANCELLED, "person:ada")
    # What the person typed stays.
    assert [one.decision for one in store.asks.answers(approved.id)] == ["approved"]
    assert audit.verify(store) == []


@pytest.mark.proves("FENCE-1")
def test_taken_rejected_and_plain_answers_stay(store):
    taken = approve_call(store)
    assert use_approval(store, taken.id)
    refused = open_ask(store, "No?", kind="approval").ask
    answer(store, refused.id, "no")
    text = open_ask(store, "Which?").ask
    answer(store, text.id, "this")
    waiting = open_ask(store, "Later?", kind="approval").ask
    before = [create_ask.get(store, one.id) for one in (taken, refused, text, waiting)]
    assert fence.fence(store, ADA).approvals == ()
    assert [create_ask.get(store, one.id) for one in before] == before


@pytest.mark.proves("FENCE-2")
def test_waiting_call_and_grants_end(store):
    manage_rules.set_gates(store, ADA, "/p", ["Bash(git push *)"])
    wait_for_ask.take(store, approve_call(store, scope=Scope("5")), "agent:claude/s1")
    (grant,) = manage_rules.grants(store)
    other = make_call("Bash", {"command": "rm -r data"}, "/p", "main")
    waiting = open_ask(store, "Remove?", kind="approval", call=other).ask
    done = fence.fence(store, ADA)
    assert (done.grants, done.calls) == ((grant.id,), (waiting.id,))
    assert manage_rules.grants(store) == [] and len(manage_rules.gates(store)) == 1
    assert permit_call.by_rule(store, CALL, ORIGIN) is None
    assert status_of(store, waiting.id) == ("cancelled", None, "fence")
    ended = store.audit.of_subject(grant.id)[-1].event
    assert (ended.kind, ended.actor) == (EventKind.GRANT_ENDED, "person:ada")
    assert audit.verify(store) == []


@pytest.mark.proves("FENCE-3")
def test_earlier_drivers_write_nothing(store, tmp_path):
    house = Harness(tmp_path, store)
    house.go(lambda _: str(approve("Go on?")))
    parked = house.run()
    driven = runs.claim(parked, "boot/7/1", store.now())
    assert store.runs.change(driven, parked)
    fence.fence(store, ADA)
    # It beats and writes with the claim that it had, and with those that it may have got since.
    for claim in range(driven.run.claim, driven.run.claim + 3):
        mine = driven.run._replace(claim=claim)
        assert store.runs.extend([mine], store.now()) == set()
        assert not store.runs.change(runs.RunChange(mine._replace(reason="late")), mine)
    assert store.runs.get(parked.id).reason == driven.run.reason
    assert house.start(lambda prompt: prompt).id > parked.id + fence.NUMBER_GAP
    house.close()


@pytest.mark.proves("FENCE-4")
def test_run_with_a_cancelled_approval_asks_again(store, tmp_path):
    house = Harness(tmp_path, store)
    house.go(lambda _: bool(approve("Go on?")))
    house.answer("yes")
    assert len(fence.fence(store, ADA).approvals) == 1
    stuck = house.drive()
    assert stuck.state == "stuck" and "restored from a backup" in stuck.reason
    house.resume()
    assert house.answer_and_drive("yes").result is True
    assert audit.verify(store) == []
    house.close()


@pytest.mark.proves("FENCE-4", "LAW-5")
def test_recorded_approval_of_a_run_stays(store, tmp_path, monkeypatch):
    house = Harness(tmp_path, store)
    house.go(lambda _: [bool(approve("First?")), bool(approve("Second?"))])
    # The process dies after the journal has the answer, and before it is marked as taken.
    with monkeypatch.context() as patched:
        patched.setattr(wait_for_ask, "take", lambda *_: False)
        house.answer_and_drive("yes")
    assert fence.fence(store, ADA).approvals == ()
    assert house.answer_and_drive("yes").result == [True, True]
    house.close()


@pytest.mark.proves("FENCE-5")
def test_logins_end_and_tokens_stay(store):
    manage_people.add(store, a_person(), "ada")
    login = manage_logins.enter_by_token(store, manage_people.token(store, ADA, "ada"), {})
    manage_logins.make_link(store, ADA)
    assert fence.fence(store, ADA).logins == 2
    assert manage_logins.whose_login(store, login) is None
    assert len(store.people.tokens()) == 2
    assert audit.verify(store) == []


@pytest.mark.proves("FENCE-6")
def test_second_fence_changes_nothing(store):
    approve_call(store)
    fence.fence(store, ADA)
    head = store.audit.head()
    assert fence.is_fenced(store) and fence.fence(store, ADA) == fence.Fenced()
    assert store.audit.head() == head
    # After anything has happened it works again: the next backup may be of then.
    again = approve_call(store)
    assert not fence.is_fenced(store) and fence.fence(store, ADA).approvals == (again.id,)


@pytest.mark.proves("FENCE-6")
def test_agent_cannot_fence(store):
    approved = approve_call(store)
    with pytest.raises(AgentRefusedError, match="only a person fences a store"):
        fence.fence(store, an_agent())
    assert create_ask.get(store, approved.id).status == "answered"


@pytest.mark.proves("FENCE-7")
def test_kept_head_shows_how_many_events_were_cut(store):
    assert fence.compare(store, store.audit.head()) == fence.Cut(is_found=True)
    for number in range(3):
        open_ask(store, f"Number {number}?")
    head = store.audit.head()
    assert fence.compare(store, head) == fence.Cut(is_found=True)
    open_ask(store, "After?")
    assert fence.compare(store, head) == fence.Cut(is_found=True)
    assert fence.compare(store, Head(head.seq + 8, "0" * 64)) == fence.Cut(False, 7)
    # The backup was used before it was fenced, so another event has that number.
    assert fence.compare(store, Head(2, "0" * 64)) == fence.Cut(is_found=False)
    fence.fence(store, ADA, Head(head.seq + 8, "0" * 64))
    assert store.audit.newest(1)[0].event.content["cut"] == 7


@pytest.mark.proves("FENCE-1", "FENCE-2")
def test_store_with_rows_of_each_verb_is_fenced(place, tmp_path):
    (tmp_path / "project").mkdir()
    rich_store.fill(place, tmp_path / "project")
    store = open_store(place)
    fence.fence(store, ADA)
    found = fence.find(store)
    assert (found.approvals, found.calls, found.grants) == ((), (), ())
    assert audit.verify(store) == []
    store.close()


@pytest.mark.proves("FENCE-1")
def test_server_that_takes_it_first_is_respected(store, monkeypatch):
    approved = approve_call(store)
    change = store.asks.change

    def be_late(*args, **more):
        monkeypatch.setattr(store.asks, "change", change)
        assert use_approval(store, approved.id)
        return change(*args, **more)

    monkeypatch.setattr(store.asks, "change", be_late)
    assert fence.fence(store, ADA).approvals == ()
    assert create_ask.get(store, approved.id).delivered_at
    create_ask.ask(store, Request("Next?"), ORIGIN, an_agent())
    assert audit.verify(store) == []
