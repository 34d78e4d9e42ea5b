"""While everything is frozen, no tool call gets a yes and no turn begins."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from tests.support.flow_harness import done, house
from tests.support.held_calls import hold
from tests.support.people import a_person, an_agent

from gatebell import pause, run
from gatebell.adapters.engines.drives import Drives
from gatebell.adapters.engines.local import LocalEngine
from gatebell.api.flows import step
from gatebell.domain.asks.answers import Given
from gatebell.domain.freezes import describe_freeze
from gatebell.domain.permissions.calls import make_call
from gatebell.domain.permissions.rules import Scope
from gatebell.domain.runs import runs
from gatebell.errors import AgentRefusedError, UsageError
from gatebell.services import audit, freezes
from gatebell.services.asks import answer_ask
from gatebell.services.permissions import permit_call
from gatebell.services.permissions.permit_call import Permission
from gatebell.services.runs.checkouts import Checkouts
from gatebell.services.runs.claims import Abandoned, Keeper
from gatebell.services.tasks import backlog
from gatebell.services.tasks.scheduler import TaskScheduler
from gatebell.testing import MemoryStore

__all__ = ["house"]

ADA = a_person(verified=True)


@pytest.fixture
def store():
    return MemoryStore()


def act_while_waiting(store, *deeds):
    """Do one deed at each look of a wait; afterwards a minute passes at each look."""
    left = list(deeds)

    def visit():
        if left:
            left.pop(0)()
        else:
            store.clock.advance(60)
        return True

    store.visitors.append(visit)


def approve(store, **scope):
    (ask,) = store.asks.pending(9)
    answer_ask.answer(store, ask.id, ADA, Given("yes", **scope))


@pytest.mark.proves("FREEZE-2", "LAW-3")
def test_agent_neither_freezes_nor_lifts(store):
    with pytest.raises(AgentRefusedError, match="only a person freezes"):
        freezes.begin(store, an_agent())
    freezes.begin(store, ADA, "stop \x1b[2J it")
    with pytest.raises(AgentRefusedError, match="only a person lifts"):
        freezes.lift(store, an_agent())
    assert "\x1b" not in describe_freeze(freezes.find(store))
    with pytest.raises(UsageError, match="at most 4000"):
        freezes.begin(store, ADA, "x" * 4001)


@pytest.mark.proves("FREEZE-3", "FREEZE-4")
def test_granted_call_waits_for_the_lift(store):
    act_while_waiting(store, lambda: approve(store, scope=Scope("5")))
    assert permit_call.decide(store, hold("make", "t0"), an_agent()).allow is True
    freezes.begin(store, ADA)
    store.visitors.clear()
    held = hold("make", "t1")
    act_while_waiting(store, lambda: freezes.lift(store, ADA))
    assert permit_call.decide(store, held, an_agent()).allow is True
    assert freezes.find(store) is None, "it did not run before that"
    assert held.host.waits == 1 and not store.asks.pending(9)


@pytest.mark.proves("FREEZE-3", "FREEZE-4")
def test_call_is_refused_when_its_host_waits_no_longer(store):
    freezes.begin(store, ADA, "broken")
    act_while_waiting(store)
    refused = permit_call.decide(store, hold(), an_agent())
    assert refused.allow is False
    assert "frozen, by ada" in refused.message and "broken" in refused.message
    assert "gate unfreeze" in refused.message
    gone = permit_call.decide(store, hold(reasons=["claude is gone"]), an_agent())
    assert gone.allow is None


@pytest.mark.proves("FREEZE-3", "FREEZE-4")
def test_yes_given_in_a_freeze_is_used_after_it(store):
    deeds = [
        lambda: freezes.begin(store, ADA),
        lambda: approve(store),
        lambda: store.clock.advance(5),
    ]
    lifted = []
    act_while_waiting(store, *deeds, lambda: lifted.append(freezes.lift(store, ADA)))
    assert permit_call.decide(store, hold(), an_agent()).allow is True
    assert lifted, "the yes was not used before the lift"


@pytest.mark.proves("FREEZE-3")
@pytest.mark.parametrize("session", ["claude/s1", "claude/"])
def test_held_yes_expires_with_its_call(store, session):
    act_while_waiting(store, lambda: freezes.begin(store, ADA), lambda: approve(store))
    refused = permit_call.decide(store, hold(session=session), an_agent())
    assert refused.allow is False and "frozen" in refused.message
    freezes.lift(store, ADA)
    store.visitors.clear()
    act_while_waiting(store, lambda: None)
    later = hold(call_id="t2", session=session, limit=60)
    assert permit_call.decide(store, later, an_agent()).allow is False, "it got the old yes"


@pytest.mark.proves("FREEZE-4", "LAW-3")
@pytest.mark.parametrize("tool", ["Bash", "AskUserQuestion"])
def test_host_that_stops_in_a_freeze_gets_no_yes(store, tool):
    def answer():
        (ask,) = store.asks.pending(9)
        answer_ask.answer(store, ask.id, ADA, Given("A" if tool == "AskUserQuestion" else "yes"))
        freezes.begin(store, ADA)
        held.host.find_reason_to_stop = lambda: "claude is gone"

    held = hold()
    if tool == "AskUserQuestion":
        asked = {"question": "Which?", "options": [{"label": "A"}, {"label": "B"}]}
        held = held._replace(call=make_call(tool, {"questions": [asked]}))
    act_while_waiting(store, answer)
    assert permit_call.decide(store, held, an_agent()) == Permission(allow=None)
    assert store.asks.pending(9) == []


@pytest.mark.proves("FREEZE-3")
def test_no_is_given_in_a_freeze(store):
    def reject():
        (ask,) = store.asks.pending(9)
        freezes.begin(store, ADA)
        answer_ask.answer(store, ask.id, ADA, Given("no"))

    act_while_waiting(store, reject)
    assert "said no" in permit_call.decide(store, hold(), an_agent()).message


@pytest.mark.proves("FREEZE-3", "FREEZE-4")
def test_deferred_call_is_refused_in_a_freeze(store):
    held = hold()
    assert permit_call.defer(store, held, an_agent()) is None
    approve(store)
    freezes.begin(store, ADA)
    refused = permit_call.defer(store, held, an_agent())
    assert refused.allow is False and "frozen" in refused.message
    freezes.lift(store, ADA)
    assert permit_call.defer(store, held, an_agent()).allow is True


@pytest.mark.proves("FREEZE-5", "LAW-5")
def test_run_stays_ready_and_continues_after_the_lift(house):
    coder = house.agent("coder", done("built"))
    house.start(lambda _: run("coder").summary)
    freezes.begin(house.store, ADA)
    keeper = Keeper(house.store)
    assert house.drive().state == "ready" and not keeper.can_drive(house.run())
    assert coder.orders == [] and house.turns() == []
    freezes.lift(house.store, ADA)
    assert keeper.can_drive(house.run()) and house.drive().result == "built"


@pytest.mark.proves("FREEZE-5")
def test_answer_in_a_freeze_wakes_no_agent(house):
    coder = house.agent("coder", done("built"))
    house.go(lambda _: bool(pause("Go?")) and run("coder").summary)
    freezes.begin(house.store, ADA)
    assert house.answer_and_drive("yes").state == "ready" and coder.orders == []
    freezes.lift(house.store, ADA)
    assert house.drive().result == "built"


@pytest.mark.proves("FREEZE-5", "FREEZE-6", "FREEZE-8")
@pytest.mark.parametrize("then", ["agent", "step"])
def test_running_turn_ends_and_nothing_begins_after_it(house, then):
    did = []

    def works(_order, _events):
        freezes.begin(house.store, ADA)
        return done("first")

    house.agent("coder", works, done("second"))

    def team(_):
        first = run("coder").summary
        if then == "step":
            step(lambda: did.append(1), name="deploy")
            return first
        return [first, run("coder", "more").summary]

    assert house.go(team).state == "ready"
    assert house.calls()["1"].state == "recorded" and len(house.turns()) == 1 and did == []
    freezes.lift(house.store, ADA)
    house.clock.advance(5)
    assert house.drive().state == "completed"
    assert house.calls()["1"].value["summary"] == "first" and len(house.agents["coder"].orders) <= 2


@pytest.mark.proves("FREEZE-8", "FREEZE-5")
def test_freeze_after_the_last_check_begins_no_turn(house, monkeypatch):
    """The freeze comes between the driver's own check and the write of the turn."""
    coder = house.agent("coder", done("built"))
    from gatebell.services.runs.agent_call.turn import Agent

    free = Agent._must_be_free

    def freeze_late(self, turns):
        free(self, turns)
        freezes.begin(house.store, ADA)

    monkeypatch.setattr(Agent, "_must_be_free", freeze_late)
    assert house.go(lambda _: run("coder").summary).state == "ready"
    assert coder.orders == [] and house.turns() == []
    monkeypatch.setattr(Agent, "_must_be_free", free)
    freezes.lift(house.store, ADA)
    house.clock.advance(5)
    assert house.drive().result == "built"


@pytest.mark.proves("FREEZE-3", "FREEZE-8")
def test_freeze_after_the_last_check_uses_no_yes(store, monkeypatch):
    check = freezes.must_be_lifted
    late = iter([None])

    def freeze_late(given):
        check(given)
        if next(late, "over") is None:
            freezes.begin(store, ADA)

    monkeypatch.setattr(freezes, "must_be_lifted", freeze_late)
    act_while_waiting(store, lambda: approve(store))
    assert permit_call.decide(store, hold(), an_agent()).allow is False
    assert "ask.taken" not in [entry.event.kind for entry in store.audit.entries()]


@pytest.mark.proves("FREEZE-5")
def test_dead_drivers_run_is_left_in_a_freeze(house):
    house.start(lambda _: "mine")
    claimed = runs.claim(house.run(), "an-earlier-boot/1/1", house.clock.now())
    assert house.store.runs.change(claimed, house.run())
    abandoned = Abandoned(house.store)
    freezes.begin(house.store, ADA)
    assert abandoned.find() == []
    freezes.lift(house.store, ADA)
    assert [one.id for one in abandoned.find()] == [house.run_id]


@pytest.mark.proves("FREEZE-7")
def test_worker_takes_nothing_up_in_a_freeze(house):
    store = house.store
    backlog.create(store, house.folder, ADA, {"title": "Add login"})
    backlogs = SimpleNamespace(problem=lambda _: "", key=lambda _: "")
    scheduler = TaskScheduler(store, backlogs, "digest", [house.folder])
    house.start(lambda _: "done")
    freezes.begin(store, ADA)
    drives = Drives(store, house.driver, scheduler, Checkouts(None, ()), 2)
    engine = LocalEngine(drives)
    assert scheduler.take_up() is None and not drives.begin()
    assert engine._patience() == 1.0, "it does not poll for runs that are due"
    freezes.lift(store, ADA)
    assert scheduler.take_up() is not None and drives.begin()
    assert drives.wait_idle(20)


@pytest.mark.proves("FREEZE-1", "LAW-9")
def test_freeze_without_its_event_is_found(store):
    freezes.begin(store, ADA, "broken")
    assert audit.verify(store) == []
    store.connection.raw.execute("UPDATE events SET content = NULL")
    faults = audit.verify(store)
    assert "event 1 (freeze.begun): its content is gone, so its rows cannot be compared" in faults
    assert "freezes 1: this row was added without an event" in faults


@pytest.mark.proves("FREEZE-1")
def test_freeze_is_begun_after_a_lift_just_now(store, monkeypatch):
    freezes.begin(store, ADA, "first")
    begin = type(store.freezes).begin

    def begin_late(self, *given):
        done = begin(self, *given)
        if not done:
            freezes.lift(store, a_person("sue"))
        return done

    monkeypatch.setattr(type(store.freezes), "begin", begin_late)
    freeze, is_new = freezes.begin(store, ADA, "second")
    assert (is_new, freeze.reason) == (True, "second") and freezes.find(store) == freeze
