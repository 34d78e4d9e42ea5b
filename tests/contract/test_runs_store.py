"""Each store keeps runs, their calls and their turns."""

from __future__ import annotations

from datetime import timedelta

import pytest
from tests.support.people import a_person
from tests.support.run_claims import NOW, an_ask, claim, settle

from gatebell.domain.asks.answers import Given, answer
from gatebell.domain.audit.events import Event
from gatebell.domain.enums import MemberKind, Priority
from gatebell.domain.members import Member, lose_host
from gatebell.domain.runs import journals, runs
from gatebell.domain.runs.journals import Carried
from gatebell.domain.runs.runs import FlowCall, Run, RunChange, Turn
from gatebell.ports.results import Conflict, Done
from gatebell.services import audit

LATER = NOW + timedelta(hours=1)
EVENT = Event("run.told", "run:0", "gate", {"n": 1})


def a_run(**more):
    return Run(0, "feature", "/p/f.py", "d1", "Add login", "/p", "person:ada", NOW, **more)


def add_run(store, *, carried=None, events=(), **more):
    return store.runs.add(a_run(**more), events, carried or Carried())


def a_call(run, path="1", **more):
    return FlowCall(run.id, path, more.pop("name", "pause"), "Go?", "digest", NOW, **more)


def a_turn(run, turn_id="t-1", session="s-1", **more):
    number, path = more.pop("number", 1), more.pop("path", "1")
    return Turn(turn_id, run.id, path, number, "coder", "claude", session, "Do it", NOW, **more)


@pytest.mark.proves("RUN-400")
def test_run_calls_and_turns_are_read_as_written(store):
    whole = a_run(
        folder="/w", root="/w/..", branch="gate/1", base="c0", state="stuck", reason="é 日本 🙂\0",
        error="Traceback", result={"a": [1, None]}, agent="coder", stopped_at="1 2.1.1", ready_at=LATER,
        waiting_since=NOW, ended_at=LATER, parent=7, parent_path="3", claim=4, owner="b/1/2",
        lease_until=LATER,
    )  # fmt: skip
    run = store.runs.add(whole, [EVENT], Carried())
    # No database keeps a NUL.
    assert run == whole._replace(id=run.id, reason="é 日本 🙂\ufffd")
    assert store.runs.get(run.id) == run
    call = a_call(
        run, "4.1.2", state="failed", value=[1], error={"kind": "E", "message": "m"}, ask_id="a-1",
        attempt=2, asked=3, dangerous=True, accepted=True, snapshot="c1", owner="b/1/3", ended_at=LATER,
    )  # fmt: skip
    turn = a_turn(
        run, path="4.1.2", number=3, fork_of="s-0", process="b/9/9", by="person:ada", ask_id="a-1",
        ended_at=LATER, signal={"status": "DONE"}, words="done",
    )  # fmt: skip
    assert store.runs.change(RunChange(run, (call,), (turn,)), run)
    assert store.runs.calls(run.id) == [call] and store.runs.turns(run.id) == [turn]
    assert store.runs.turn("t-1") == turn and store.runs.turn("t-2") is None
    (told,) = store.audit.of_subject(run.name)
    assert told.event == EVENT._replace(subject=run.name)
    assert store.runs.get(99) is None and store.runs.calls(99) == store.runs.turns(99) == []


@pytest.mark.proves("RUN-401", "LAW-9")
def test_only_the_newest_claim_writes_a_step(store):
    run = claim(store, add_run(store))
    late = run
    run = claim(store, run, "b/2/2")
    for expected in (late, run._replace(state="ready")):
        change = RunChange(expected._replace(reason="x"), (a_call(run),), (a_turn(run),), (EVENT,))
        assert not store.runs.change(change, expected)
    assert store.runs.get(run.id) == run
    assert store.runs.calls(run.id) == store.runs.turns(run.id) == []
    assert store.audit.of_subject(EVENT.subject) == []
    assert store.runs.change(RunChange(run, (a_call(run),), (), (EVENT,)), run)
    assert store.runs.calls(run.id) == [a_call(run)]
    assert len(store.audit.of_subject(EVENT.subject)) == 1
    assert not store.runs.change(RunChange(run._replace(id=99)), run._replace(id=99))


@pytest.mark.proves("HOST-15")
def test_texts_of_runs_have_no_nul_or_half_pair(store):
    strange, kept = "a\0b\ud800\n", "a\ufffdb\ufffd\n"
    run = add_run(store, reason=strange, error=strange, branch=strange)
    assert (run.reason, run.error, run.branch) == (kept, kept, kept)
    assert store.runs.get(run.id) == run
    call = a_call(run, value=strange, snapshot=strange)._replace(label=strange)
    turn = a_turn(run, words=strange)._replace(sent=strange)
    after = run._replace(stopped_at=strange, agent=strange)
    assert store.runs.change(RunChange(after, (call,), (turn,)), run)
    found, (called,), (turned,) = (
        store.runs.get(run.id), store.runs.calls(run.id), store.runs.turns(run.id)
    )  # fmt: skip
    assert (found.stopped_at, found.agent, called.label, called.snapshot) == (kept,) * 4
    assert (turned.sent, turned.words, called.value) == (kept, kept, strange)


@pytest.mark.proves("RUN-401")
def test_write_of_calls_only_is_fenced_too(store):
    run = claim(store, add_run(store))
    claim(store, run, "b/2/2")
    extended = run._replace(lease_until=LATER)
    assert not store.runs.change(RunChange(extended, (a_call(run),)), run)
    assert not store.runs.change(RunChange(run, (a_call(run),)), run)
    assert store.runs.extend([run], LATER) == set()
    assert store.runs.calls(run.id) == []


@pytest.mark.proves("RUN-401")
def test_people_write_beside_a_run_that_waits_or_runs(store):
    for run in (add_run(store, state="waiting_human"), claim(store, add_run(store))):
        turn = a_turn(run, f"t-{run.id}", f"s-{run.id}", by="person:ada")
        assert store.runs.change(RunChange(run, turns=(turn,)), run)
        assert store.runs.get(run.id) == run
        assert store.runs.turn(turn.id) == turn


@pytest.mark.proves("RUN-402")
def test_ready_runs_are_ordered_and_sleepers_come_due(store):
    asleep = add_run(store, ready_at=NOW + timedelta(seconds=10))
    sooner = add_run(store, ready_at=NOW + timedelta(seconds=5))
    first, second = add_run(store), add_run(store)
    add_run(store, state="stuck")
    claim(store, add_run(store))
    both = add_run(store, state="waiting_human", ready_at=NOW + timedelta(seconds=7))
    add_run(store, state="waiting_human")
    assert store.runs.ready(9) == [first.id, second.id] and store.runs.ready(1) == [first.id]
    assert store.runs.next_ready_at() == sooner.ready_at
    store.clock.advance(5)
    assert store.runs.ready(9) == [first.id, second.id, sooner.id]
    store.clock.advance(5)
    assert store.runs.ready(9) == [first.id, second.id, sooner.id, both.id, asleep.id]


@pytest.mark.proves("PG-1", "RUN-400")
def test_reopened_call_and_changed_run_are_sealed(store):
    """An open call has no event: its seal ends, and begins again with its result."""
    run = claim(store, add_run(store))
    for state, value in (("recorded", 1.0), ("open", None), ("recorded", "ü\u2028")):
        call = a_call(run, state=state, value=value)
        assert store.runs.change(RunChange(run, (call,)), run)
        assert list(audit.verify(store)) == []
    ended = run._replace(state="failed", reason="why", error='é\n\t"')
    assert store.runs.change(RunChange(ended), run)
    assert list(audit.verify(store)) == []


@pytest.mark.proves("ENG-21")
def test_equally_urgent_runs_are_shuffled_before_later_ones(store):
    later = add_run(store, ready_at=NOW)
    alike = [add_run(store).id for _ in range(20)]
    urgent = [add_run(store).id for _ in range(2)]
    with store.transaction():
        for run_id in urgent:
            store.runs.set_priority(run_id, Priority.HIGH)
    found = store.runs.ready(99, shuffled=True)
    assert sorted(found[:2]) == urgent and found[2:] == [*alike, later.id]
    with store.transaction():
        for run_id in urgent:
            store.runs.set_priority(run_id, Priority.NORMAL)
    found = store.runs.ready(99, shuffled=True)
    assert found[-1] == later.id and sorted(found[:-1]) == [*alike, *urgent] != found[:-1]


@pytest.mark.proves("RUN-402")
def test_without_sleepers_nothing_wakes(store):
    add_run(store)
    add_run(store, state="waiting_human")
    add_run(store, state="stuck", ready_at=LATER)
    assert store.runs.next_ready_at() is None


@pytest.mark.proves("RUN-402")
def test_runs_are_listed_newest_first_or_running(store):
    made = [add_run(store) for _ in range(3)]
    ended = runs.give_up(made[1], "why", "", NOW).run
    assert store.runs.change(RunChange(ended), made[1])
    held = claim(store, made[2])
    assert store.runs.newest(2) == [held, ended]
    assert store.runs.newest(9, active=True) == [held, made[0]]
    assert store.runs.running(NOW) == [] and store.runs.owners() == [held.owner]
    assert store.runs.running(LATER) == store.runs.list_driven_by(held.owner) == [held]
    assert store.runs.list_driven_by("b/9/9") == []


@pytest.mark.proves("RUN-403", "S2-36", "LAW-1")
def test_settled_ask_makes_its_run_ready_in_one_transaction(store):
    run = claim(store, add_run(store))
    ask = an_ask(store, run)
    parked = runs.park(run, [a_call(run)], [ask], LATER).run
    call = a_call(run, state="waiting", ask_id=ask.id)
    assert store.runs.change(RunChange(parked, (call,)), run)
    assert store.runs.get(run.id).state == "waiting_human" and store.runs.ready(9) == []
    settle(store, ask)
    woken = store.runs.get(run.id)
    # It also waited for a time; the answer does not wait for that.
    assert (woken.state, woken.ready_at) == ("ready", None) and store.runs.ready(9) == [run.id]
    assert store.asks.woken() == []


@pytest.mark.proves("RUN-403")
def test_answer_does_not_change_a_running_run(store):
    run = claim(store, add_run(store))
    settle(store, an_ask(store, run))
    assert store.runs.get(run.id) == run
    settle(store, an_ask(store, run._replace(id=99), ask_id="a-333"))


@pytest.mark.proves("RUN-403")
def test_answer_during_parking_makes_the_run_ready(store):
    run = claim(store, add_run(store))
    ask = an_ask(store, run)
    settle(store, ask)
    call = a_call(run, state="waiting", ask_id=ask.id)
    parked = runs.park(run, [call], [ask], LATER).run
    assert store.runs.change(RunChange(parked, (call,)), run)
    after = store.runs.get(run.id)
    assert (after.state, after.ready_at) == ("ready", None)


@pytest.mark.proves("RUN-403")
@pytest.mark.parametrize(
    ("name", "heard", "state"), [("run", 0, "ready"), ("run", 1, "waiting_human"), ("ask", 0, "waiting_human")]
)  # fmt: skip
def test_asking_an_agent_back_wakes_its_run(store, name, heard, state):
    run = claim(store, add_run(store))
    ask = an_ask(store, run, asked_back=1, heard=heard)
    call = a_call(run, name=name, state="waiting", ask_id=ask.id)
    over = a_call(run, "2", state="recorded", ask_id="a-999")
    parked = runs.park(run, [call], [ask]).run
    assert store.runs.change(RunChange(parked, (call, over)), run)
    assert store.runs.get(run.id).state == state


@pytest.mark.proves("RUN-404", "S2-B18")
def test_session_has_one_holder(store):
    first, second = claim(store, add_run(store)), claim(store, add_run(store))
    assert store.runs.change(RunChange(first, turns=(a_turn(first),)), first)
    assert store.runs.holder("claude", "s-1") == a_turn(first)
    change = RunChange(second, (a_call(second),), (a_turn(second, "t-2"),))
    assert not store.runs.change(change, second)
    assert store.runs.turns(second.id) == store.runs.calls(second.id) == []
    other_program = a_turn(second, "t-3")._replace(cli="codex")
    assert store.runs.change(RunChange(second, turns=(other_program,)), second)
    closed = a_turn(first)._replace(ended_at=LATER)
    assert store.runs.change(RunChange(first, turns=(closed,)), first)
    assert store.runs.holder("claude", "s-1") is None
    assert store.runs.change(change, second)
    assert store.runs.holder("claude", "s-1") == a_turn(second, "t-2")


@pytest.mark.proves("RUN-404")
def test_session_passes_between_turns_in_one_step(store):
    run = claim(store, add_run(store))
    assert store.runs.change(RunChange(run, turns=(a_turn(run),)), run)
    over, then = a_turn(run, ended_at=LATER), a_turn(run, "t-2", number=2)
    assert store.runs.change(RunChange(run, turns=(over, then)), run)
    assert store.runs.holder("claude", "s-1") == then


@pytest.mark.proves("RUN-404")
def test_empty_session_has_no_holder(store):
    run = claim(store, add_run(store))
    for turn_id in ("t-1", "t-2"):
        assert store.runs.change(RunChange(run, turns=(a_turn(run, turn_id, ""),)), run)
    assert store.runs.holder("claude", "") is None


@pytest.mark.proves("RUN-405")
def test_agent_signals_only_while_its_turn_is_open(store):
    run = claim(store, add_run(store))
    assert not store.runs.offer("t-1", {"status": "DONE"})
    assert store.runs.change(RunChange(run, turns=(a_turn(run),)), run)
    assert store.runs.offer("t-1", {"status": "DONE"})
    again = a_turn(run, process="b/9/9", session="s-2", offered={"status": "FORGED"})
    assert store.runs.change(RunChange(run, turns=(again,)), run)
    assert store.runs.turn("t-1") == again._replace(offered={"status": "DONE"})
    over = again._replace(ended_at=LATER)
    assert store.runs.change(RunChange(run, turns=(over,)), run)
    assert not store.runs.offer("t-1", {"status": "LATE"})
    assert store.runs.turn("t-1").offered == {"status": "DONE"}


@pytest.mark.proves("RUN-383")
def test_agent_of_ended_run_signals_nothing(store):
    run = claim(store, add_run(store))
    assert store.runs.change(RunChange(run, turns=(a_turn(run),)), run)
    assert store.runs.change(runs.stop(run, a_person(), "enough", LATER), run)
    assert not store.runs.offer("t-1", {"status": "DONE"})
    assert store.runs.turn("t-1").offered is None


@pytest.mark.proves("RUN-383")
def test_joined_agent_signals_only_while_its_ask_is_pending(store):
    run = claim(store, add_run(store))
    ask = an_ask(store, run)
    mine = a_turn(run, by="person:ada", ask_id=ask.id)
    agents = a_turn(run, "t-2", "s-2")
    assert store.runs.change(RunChange(run, turns=(mine, agents)), run)
    assert store.runs.list_joined_turns() == [mine]
    assert store.runs.offer("t-1", {"status": "DONE"})
    settle(store, ask)
    assert not store.runs.offer("t-1", {"status": "LATE"})
    assert store.runs.offer("t-2", {"status": "DONE"}), "an agent of its own is at work"
    assert store.runs.turn("t-1").offered == {"status": "DONE"}


@pytest.mark.proves("RUN-382", "LAW-9")
def test_answer_and_end_of_joined_turn_are_one_write(store):
    run = claim(store, add_run(store))
    ask = an_ask(store, run)
    turn = a_turn(run, by="person:ada", ask_id=ask.id)
    assert store.runs.change(RunChange(run, turns=(turn,)), run)
    closed = turn._replace(ended_at=LATER, signal={"status": "DONE"})
    verdict = answer(ask, (), a_person(), Given("yes"), store.now(), b"k" * 32)
    both = verdict.change._replace(turn=closed)
    assert isinstance(store.asks.change(both, ask.version + 1, verdict.answer), Conflict)
    assert store.runs.list_joined_turns() == [turn]
    assert isinstance(store.asks.change(both, ask.version, verdict.answer), Done)
    assert store.runs.turn("t-1") == closed and store.runs.list_joined_turns() == []
    again = RunChange(run, turns=(closed._replace(signal=None),))
    assert store.runs.change(again, run)
    assert store.runs.turn("t-1").signal == {"status": "DONE"}, "the first has written it"


@pytest.mark.proves("RUN-406")
def test_turns_are_ordered_by_start_and_calls_by_path(store):
    run = claim(store, add_run(store))
    calls = tuple(a_call(run, path) for path in ("10", "2", "2.10.1", "2.2.1", "2.1.1"))
    early = a_turn(run, "t-9", "s-9", number=2)
    late = a_turn(run, "t-1", "s-1")._replace(started_at=LATER)
    assert store.runs.change(RunChange(run, calls, (late, early)), run)
    paths = [call.path for call in store.runs.calls(run.id)]
    assert paths == ["2", "2.1.1", "2.2.1", "2.10.1", "10"]
    assert [turn.id for turn in store.runs.turns(run.id)] == ["t-9", "t-1"]


@pytest.mark.proves("RUN-407")
def test_forked_run_copies_records_as_its_own(store):
    first = claim(store, add_run(store))
    call = a_call(first, state="recorded", value=1)
    turn = a_turn(first, ended_at=LATER, signal={"status": "DONE"})
    assert store.runs.change(RunChange(first, (call,), (turn,)), first)
    carried = journals.build_carried([call], [turn])
    second = store.runs.add(a_run(parent=first.id, parent_path="2"), [], carried)
    third = store.runs.add(a_run(parent=second.id), [], carried.by(second.id))
    for run in (second, third):
        assert store.runs.calls(run.id) == [call._replace(run=run.id)]
        (taken,) = store.runs.turns(run.id)
        assert taken == turn._replace(run=run.id, id=f"t-1+{run.id}") and journals.is_carried(taken)
    assert store.runs.turns(first.id) == [turn]


@pytest.mark.proves("RUN-408")
def test_deleting_a_run_leaves_its_audit_and_its_number(store):
    run = add_run(store, state="stuck", events=[EVENT])
    other = claim(store, add_run(store))
    for one in (run, other):
        rows = (a_call(one),), (a_turn(one, f"t-{one.id}", f"s-{one.id}"),)
        assert store.runs.change(RunChange(one, *rows), one)
    assert not store.runs.delete(run._replace(claim=9), [])
    assert store.runs.delete(run, [runs.event("run.deleted", run, "person:ada")])
    assert store.runs.get(run.id) is None
    assert store.runs.calls(run.id) == store.runs.turns(run.id) == []
    assert store.runs.turn(f"t-{run.id}") is None
    assert len(store.runs.calls(other.id)) == len(store.runs.turns(other.id)) == 1
    kinds = [entry.event.kind for entry in store.audit.of_subject(run.name)]
    assert kinds == ["run.told", "run.deleted"]
    assert not store.runs.delete(run, [EVENT])
    assert add_run(store).id > other.id


@pytest.mark.proves("RUN-409")
def test_claim_is_extended_by_its_holder_only(store):
    run = claim(store, add_run(store))
    assert store.runs.extend([run], LATER) == {run.id}
    assert store.runs.get(run.id) == run._replace(lease_until=LATER)
    parked = runs.park(run, [], []).run
    assert store.runs.change(RunChange(parked), run)
    assert store.runs.extend([run, run._replace(id=99)], LATER) == set()


@pytest.mark.proves("RUN-410")
def test_asks_of_a_run_exclude_longer_numbers(store):
    run, eleventh = Run(*a_run())._replace(id=1), Run(*a_run())._replace(id=10)
    mine = an_ask(store, run, "2.1.1", "a-222")
    an_ask(store, eleventh, "1", "a-333")
    old = an_ask(store, run, "1", "a-444")
    settle(store, old)
    assert store.asks.pending_of_run(1) == [mine]


@pytest.mark.proves("PHASE-54", "RUN-461")
def test_kept_runs_are_listed_apart(store):
    """Runs that could continue; none of them wakes a worker earlier."""
    kept = [
        add_run(store, owner="b/1/1", state=state, ready_at=at)
        for state, at in (("ready", None), ("ready", NOW), ("waiting_human", NOW))
    ]
    for state, at in (("waiting_human", None), ("ready", store.now() + timedelta(hours=9))):
        add_run(store, owner="b/1/1", state=state, ready_at=at)
    add_run(store, owner="b/1/1", state="stuck")
    free = add_run(store)
    assert all(run.is_kept for run in kept) and not free.is_kept
    assert store.runs.list_kept() == kept
    assert store.runs.ready(9) == [free.id] and store.runs.next_ready_at() is None
    let_go = runs.let_go(kept[0])
    assert store.runs.change(let_go, kept[0]) and store.runs.list_kept() == kept[1:]
    assert (let_go.run.owner, let_go.run.claim) == ("", kept[0].claim + 1)


@pytest.mark.proves("RUN-572")
def test_unplaced_runs_are_found_by_project_key(store):
    def want(key, **more):
        more = {"pool": "default"} | more
        new = Run(0, "hello", "", "", "", "", "person:ada", NOW, project_key=key, **more)
        return store.runs.add(new, (), Carried())

    first, second, other = want("name:shop"), want("name:shop"), want("name:other")
    want("name:shop", host="elsewhere")
    later = want("name:shop", ready_at=store.now() + timedelta(seconds=5))
    assert store.runs.ready(9) == []
    assert store.runs.list_unplaced("name:shop", 9) == [first, second]
    assert store.runs.list_unplaced("name:shop", 1) == [first]
    assert store.runs.list_unplaced("name:other", 9) == [other]
    here = first._replace(host=store.machine.host)
    assert store.runs.change(RunChange(here), first)
    assert store.runs.list_unplaced("name:shop", 9) == [here, second]
    placed = here._replace(folder="/w/run-1")
    assert store.runs.change(RunChange(placed), here)
    assert store.runs.list_unplaced("name:shop", 9) == [second]
    assert store.runs.ready(9) == [first.id]
    store.clock.advance(5)
    assert store.runs.list_unplaced("name:shop", 9) == [second, later]
    assert store.runs.ready(9) == [first.id]


@pytest.mark.proves("HOST-50")
def test_runs_at_home_on_a_host_are_listed(store):
    there = add_run(store, host="ci-7")
    add_run(store, host="laptop")
    add_run(store, host="ci-7", state="completed", ended_at=NOW)
    waiting = add_run(store, host="ci-7", state="waiting_human")
    assert store.runs.list_of_host("ci-7") == [there, waiting]


@pytest.mark.proves("HOST-50", "HOST-53")
def test_lost_host_replaces_its_members_and_stays(store):
    now = store.now()
    silent = Member(MemberKind.WORKER, "ci-7/boot/1/1", "", now, now)
    other = Member(MemberKind.WORKER, "ci-8/boot/1/1", "", now, now)
    store.members.beat(silent)
    lost = lose_host("ci-7", now)
    store.members.lose(lost, [silent], [EVENT._replace(subject="host:ci-7")])
    assert store.members.all() == [lost] and lost.host == "ci-7"
    assert len(list(store.audit.of_subject("host:ci-7"))) == 1
    store.clock.advance(86_400 * 30)
    store.members.join(other)
    assert [one.id for one in store.members.all()] == [lost.id, other.id]
    again = lose_host("ci-7", store.now())
    store.members.lose(again, [lost], [])
    assert again in store.members.all() and lost not in store.members.all()
