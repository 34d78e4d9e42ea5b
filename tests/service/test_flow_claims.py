"""Drivers of a run: claims, leases, dead and silent drivers, the worker, and closing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from contextlib import contextmanager
from datetime import timedelta
from types import SimpleNamespace

import pytest
from tests.support.flow_harness import Crash, done, house, needs, real_house
from tests.support.people import a_person
from tests.support.waiting import eventually

from gatebell import flow, pause, run
from gatebell.adapters.engines.drives import Drives
from gatebell.adapters.engines.local import LocalEngine
from gatebell.adapters.system import processes
from gatebell.api.flows import parallel, sleep, step
from gatebell.domain.runs.runs import RunChange
from gatebell.errors import StoreError
from gatebell.services.asks import apply_deadlines
from gatebell.services.runs import claims, manage_runs
from gatebell.services.runs.checkouts import Checkouts
from gatebell.services.runs.claims import Abandoned, Heartbeat
from gatebell.services.tasks.scheduler import TaskScheduler

__all__ = ["house", "real_house"]

PATIENCE_SECONDS = 20
LEASE_SECONDS = claims.LEASE.total_seconds()
GRACE_SECONDS = LEASE_SECONDS / 2


@pytest.fixture
def stranger():
    """Another living process."""
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    yield process
    process.stdin.close()
    process.wait(PATIENCE_SECONDS)


def own_run(house, owner, lease_seconds=LEASE_SECONDS):
    """Return the run of a house as claimed by another process."""
    run_now = house.run()
    lease = house.clock.now() + timedelta(seconds=lease_seconds)
    taken = run_now._replace(
        state="running", owner=str(owner), claim=run_now.claim + 1, lease_until=lease
    )
    assert house.store.runs.change(RunChange(taken), run_now)
    return taken


@pytest.mark.proves("RUN-442")
@pytest.mark.parametrize("how", ["stop", "claim"])
def test_overtaken_driver_writes_and_starts_nothing(house, how):
    did = []

    def overtake():
        did.append("first")
        if how == "stop":
            house.stop("mine now")
        else:
            own_run(house, "an-earlier-boot/1/1")

    @flow
    def stubborn(_):
        try:
            step(overtake)
        except BaseException:
            did.append("caught")
        step(lambda: did.append("second"), name="second")

    house.start(stubborn)
    over = house.drive()
    assert did == ["first", "caught"]
    assert over.state == ("stuck" if how == "stop" else "running")
    assert house.calls() == {} and "call.recorded" not in house.events()


@pytest.mark.proves("RUN-442", "TASK-317")
def test_run_has_one_driver_at_a_time(house, stranger):
    house.start(lambda _: "mine")
    own_run(house, processes.identify(stranger.pid))
    assert house.driver.claim(house.run()) is None
    assert house.driver.drive(house.run()).state == "running"
    first = manage_runs.get(house.store, house.run_id)
    assert claims.claim(house.store, first._replace(claim=0)) is None
    house.clock.advance(LEASE_SECONDS + 1)
    claimed = house.driver.claim(house.run())
    assert house.driver.drive_claimed(claimed).result == "mine"


@pytest.mark.proves("RUN-442")
def test_of_two_who_claim_at_once_one_gets_it(house):
    seen = house.start(lambda _: "mine")
    assert house.driver.drive(seen).result == "mine"
    assert house.driver.drive(seen).state == "completed" and house.run().claim == 1


@pytest.mark.proves("RUN-443")
def test_runs_of_dead_drivers_are_found_at_once(house):
    house.start(lambda _: "mine")
    left = own_run(house, "an-earlier-boot/1/1")
    assert Abandoned(house.store).find() == [left]
    assert Abandoned(house.store, {left.id}).find() == []
    assert house.drive().result == "mine"


@pytest.mark.proves("RUN-443")
def test_live_drivers_have_a_grace_after_their_lease(house, stranger):
    house.start(lambda _: "mine")
    late = own_run(house, processes.identify(stranger.pid))
    abandoned = Abandoned(house.store)
    house.clock.advance(LEASE_SECONDS - 1)
    assert abandoned.find() == []
    house.clock.advance(1)
    assert abandoned.find() == []
    house.clock.advance(GRACE_SECONDS - 1)
    # It sent its heartbeat in time, so the grace starts again.
    assert house.store.runs.extend([late], house.clock.now() + claims.LEASE)
    assert abandoned.find() == []
    house.clock.advance(LEASE_SECONDS + 1)
    assert abandoned.find() == []
    house.clock.advance(GRACE_SECONDS - 1)
    assert abandoned.find() == []
    house.clock.advance(1)
    assert [run_now.id for run_now in abandoned.find()] == [late.id]


@pytest.mark.proves("RUN-443")
def test_heartbeat_renews_claims_and_survives_errors(house, monkeypatch):
    monkeypatch.setattr(claims, "_BEAT_SECONDS", 0.001)
    house.start(lambda _: "mine")
    held = claims.claim(house.store, house.run())
    heart, beats, extend = Heartbeat(house.store), [], house.store.runs.extend

    def extending(now_held, to):
        beats.append([one.id for one in now_held])
        if len(beats) == 1:
            raise StoreError("busy")
        return extend(now_held, to)

    monkeypatch.setattr(house.store.runs, "extend", extending)
    heart.hold(held)
    eventually(lambda: len(beats) > 2)
    heart.let_go(held)
    eventually(
        lambda: (count := len(beats)) and not threading.Event().wait(0.01) and len(beats) == count
    )
    heart.stop()
    Heartbeat(house.store).stop()


@pytest.mark.proves("HOST-18")
def test_step_renews_a_lease_that_is_a_third_over(house):
    leases = []

    def work(seconds):
        leases.append(house.run().lease_until)
        house.clock.advance(seconds)

    house.start(lambda _: [step(work, seconds) for seconds in (9, 2, 0)])
    house.drive()
    assert leases[0] == leases[1]
    assert (leases[2] - leases[1]).total_seconds() == 11


@pytest.mark.proves("HOST-10")
def test_one_write_extends_all_leases(house, monkeypatch):
    monkeypatch.setattr(claims, "_BEAT_SECONDS", 0.001)
    beats, extend = [], house.store.runs.extend
    held = []
    for _ in range(3):
        house.start(lambda _: "mine")
        held.append(claims.claim(house.store, house.run()))

    def extending(now_held, to):
        beats.append((sorted(one.id for one in now_held), extend(now_held, to)))
        return beats[-1][1]

    monkeypatch.setattr(house.store.runs, "extend", extending)
    heart = Heartbeat(house.store)
    for one in held:
        heart.hold(one)
    everything = [one.id for one in held]
    eventually(lambda: (everything, set(everything)) in beats)
    heart.stop()


@pytest.mark.proves("HOST-10", "HOST-11")
def test_heartbeat_tells_of_each_lost_claim(house, monkeypatch):
    monkeypatch.setattr(claims, "_BEAT_SECONDS", 0.001)
    house.start(lambda _: "mine")
    kept = claims.claim(house.store, house.run())
    house.start(lambda _: "mine")
    stopped = claims.claim(house.store, house.run())
    lost = []
    heart = Heartbeat(house.store, SimpleNamespace(lose=lost.append))
    heart.hold(kept)
    heart.hold(stopped)
    house.stop("from another host")
    eventually(lambda: lost)
    heart.stop()
    assert set(lost) == {stopped.id}


@pytest.mark.proves("HOST-11")
def test_agents_end_when_their_run_was_stopped_elsewhere(real_house, monkeypatch):
    """The host that stops a run cannot end the agents of another host."""
    house, at_work, gone, ended = real_house, threading.Event(), threading.Event(), []
    monkeypatch.setattr(claims, "_BEAT_SECONDS", 0.001)

    def ending(identity, mark):
        ended.append((threading.current_thread().name, mark[0]))
        if threading.current_thread().name == "heartbeat":
            gone.set()
        return False

    def works(_order, _events):
        at_work.set()
        gone.wait(PATIENCE_SECONDS)
        return done("cut off")

    monkeypatch.setattr(processes, "end", ending)
    house.agent("coder", works)
    house.start(lambda _: run("coder").summary)
    drive = threading.Thread(target=house.drive, daemon=True)
    drive.start()
    assert at_work.wait(PATIENCE_SECONDS)
    house.stop("from another host")
    assert gone.wait(PATIENCE_SECONDS), "the heartbeat of its own host ends the agent"
    drive.join(PATIENCE_SECONDS)
    assert house.run().state == "stuck" and ("heartbeat", "GATE_TURN") in ended


@pytest.mark.proves("HOST-12")
def test_fresh_runs_of_living_owners_are_not_read(house, stranger, monkeypatch):
    for _ in range(3):
        house.start(lambda _: "mine")
        own_run(house, processes.identify(stranger.pid))
    read = []
    monkeypatch.setattr(house.store.runs, "list_driven_by", lambda owner: read.append(owner) or [])
    assert Abandoned(house.store).find() == [] and read == []
    assert house.store.runs.owners() == [str(processes.identify(stranger.pid))]
    assert house.store.runs.running(house.store.now()) == []


@pytest.mark.proves("RUN-444", "S2-62")
def test_restarts_do_not_count_as_attempts(house):
    crashes = [Crash()] * 5
    house.agent("coder", needs("Which?"), *crashes, done("at last"))
    house.go(lambda _: run("coder").summary)
    for _ in range(120):
        assert house.drive().state == "waiting_human"
    house.answer("PKCE")
    for _ in crashes:
        house.crash()
    assert house.drive().result == "at last"
    assert house.calls()["1"].attempt == 1 and house.store.asks.count() == 1


@pytest.mark.proves("RUN-458")
def test_unrecordable_step_stops_the_run(house, monkeypatch):
    did = []

    @flow
    def stubborn(_):
        for name in ("first", "second"):
            try:
                step(lambda name=name: did.append(name), name=name)
            except Exception:
                did.append("caught")
        return "through"

    house.start(stubborn)
    change = house.store.runs.change

    def full(new, expected):
        if new.calls:
            raise StoreError("the disk is full")
        return change(new, expected)

    monkeypatch.setattr(house.store.runs, "change", full)
    with pytest.raises(StoreError):
        house.drive()
    assert did == ["first"] and house.run().state == "running"
    monkeypatch.setattr(house.store.runs, "change", change)
    assert house.drive().state == "running"
    house.clock.advance(LEASE_SECONDS + 1)
    assert house.drive().result == "through" and did == ["first", "first", "second"]


@pytest.mark.proves("RUN-455")
def test_closing_driver_releases_its_runs(house):
    did = []

    @flow
    def long(_):
        step(house.driver.close, name="closing")
        try:
            step(lambda: did.append(1), name="next")
        except BaseException:
            did.append("caught")

    let_go = house.go(long)
    assert (let_go.state, let_go.owner, did) == ("ready", "", ["caught"])
    house.driver = house.another_driver()
    assert house.drive().state == "completed" and did == ["caught", 1]
    closed = house.another_driver()
    closed.close()
    house.start(lambda _: step(lambda: did.append(2), name="x"))
    assert closed.drive(house.run()).state == "ready" and did == ["caught", 1]


@pytest.mark.proves("RUN-455")
def test_agents_of_a_closing_driver_end_and_continue_elsewhere(real_house, monkeypatch):
    house, ended, at_work, gone = real_house, [], threading.Event(), threading.Event()

    def ending(identity, mark):
        ended.append((str(identity), mark[0]))
        gone.set()
        return True

    def works(_order, _events):
        at_work.set()
        gone.wait(PATIENCE_SECONDS)
        return done("cut off")

    monkeypatch.setattr(processes, "end", ending)
    house.agent("coder", works, done("went on"))
    house.start(lambda _: run("coder").summary)
    drive = threading.Thread(target=house.drive, daemon=True)
    drive.start()
    assert at_work.wait(PATIENCE_SECONDS) and house.run_id in house.driver.driven
    house.driver.close()
    drive.join(PATIENCE_SECONDS)
    assert ended == [("an-earlier-boot/1/1", "GATE_TURN")]
    assert house.run().state == "ready" and house.turns()[0].ended_at is None
    house.driver = house.another_driver()
    assert house.drive().result == "went on"


@pytest.mark.proves("RUN-455")
def test_closing_driver_starts_no_agent(house):
    coder = house.agent("coder", done("too early"), done("went on"))
    begin = coder.run

    def closes_first(order, events):
        house.driver.close()
        return begin(order, events)

    coder.run = closes_first
    assert house.go(lambda _: run("coder").summary).state == "ready"
    assert coder.orders == []
    coder.run, house.driver = begin, house.another_driver()
    assert house.drive().result == "too early"


@pytest.mark.proves("RUN-455")
def test_ctrl_c_leaves_a_resumable_run(house):
    def interrupt(_order, _events):
        raise KeyboardInterrupt

    house.agent("coder", interrupt, done("went on"))
    house.start(lambda _: run("coder").summary)
    with pytest.raises(KeyboardInterrupt):
        house.drive()
    over = house.run()
    assert (
        over.state == "stuck" and f"gate resume {over.id}" in over.reason and over.stopped_at == "1"
    )
    assert house.resume().result == "went on"


@pytest.mark.proves("RUN-455", "RUN-428")
def test_ctrl_c_among_branches_begins_nothing_more(house):
    did, stopped, over = [], threading.Event(), threading.Event()

    def neighbour():
        try:
            stopped.wait(PATIENCE_SECONDS)
            step(lambda: did.append(1), name="more")
        finally:
            over.set()

    @flow
    def both(_):
        return parallel(neighbour, lambda: step(lambda: 1, name="one"))

    from gatebell.services.runs import parallel_branches

    house.start(both)
    note = parallel_branches._Parallel._note

    def interrupt(self, end):
        note(self, end)
        raise KeyboardInterrupt

    parallel_branches._Parallel._note = interrupt
    try:
        with pytest.raises(KeyboardInterrupt):
            house.drive()
    finally:
        parallel_branches._Parallel._note = note
        stopped.set()
    assert over.wait(PATIENCE_SECONDS) and did == []


def a_worker(house, slots=2, driver=None):
    scheduler = TaskScheduler(house.store, SimpleNamespace(), "digest")
    return LocalEngine(
        Drives(house.store, driver or house.driver, scheduler, Checkouts(None, ()), slots)
    )


class Claiming:
    """A driver that gets every run it claims."""

    driven = ()

    def __init__(self, drive):
        self.drive_claimed = drive

    def claim(self, run, checkout=""):
        return run

    def put_off_interrupted(self):
        pass


@contextmanager
def at_work(house, slots=2):
    """Run a worker on its own thread, and stop it at the end."""
    made = a_worker(house, slots)
    thread = threading.Thread(target=made.work, daemon=True)
    thread.start()
    try:
        yield
    finally:
        made.stop()
        thread.join(PATIENCE_SECONDS)


@pytest.fixture
def working(real_house):
    with at_work(real_house):
        yield real_house


@pytest.mark.proves("RUN-454")
def test_worker_drives_runs_as_they_become_ready(working):
    house = working
    made = house.start(lambda _: bool(pause("Go?")))
    eventually(lambda: house.run().state == "waiting_human")
    house.answer("yes")
    eventually(lambda: house.run().state == "completed")
    assert house.run().result is True and house.run().id == made.id


@pytest.mark.proves("RUN-454", "S2-B5")
def test_worker_settles_deadlines_and_wakes_sleeping_runs(working):
    house = working
    house.start(flow(human_timeout=60)(lambda _: [sleep(5), bool(pause("Go?"))]))
    eventually(lambda: house.run().ready_at is not None)
    house.clock.advance(5)
    eventually(lambda: house.run().state == "waiting_human")
    house.clock.advance(61)
    eventually(lambda: house.run().state == "stuck")


@pytest.mark.proves("RUN-454", "RUN-443")
def test_worker_takes_over_from_dead_drivers(real_house):
    house = real_house
    house.start(lambda _: "mine")
    own_run(house, "an-earlier-boot/1/1")
    with at_work(house):
        eventually(lambda: house.run().state == "completed")


@pytest.mark.proves("RUN-454")
def test_worker_fills_its_slots_and_no_more(real_house):
    house, now, most, lock, go = real_house, [], [], threading.Lock(), threading.Event()

    def effect():
        with lock:
            now.append(1)
            most.append(len(now))
        go.wait(PATIENCE_SECONDS)
        with lock:
            now.pop()

    for _ in range(5):
        house.start(lambda _: step(effect))
    with at_work(house, 2):
        eventually(lambda: len(most) == 2)
        go.set()
        eventually(
            lambda: all(run_now.state == "completed" for run_now in house.store.runs.newest(9))
        )
    assert len(most) == 5 and max(most) <= 2


@pytest.mark.proves("RUN-454", "RUN-458")
def test_worker_survives_an_error_of_one_run(house, caplog):
    driven = []

    def drive(run_now):
        driven.append(run_now.id)
        change = RunChange(run_now._replace(state="stuck", reason="x"))
        house.store.runs.change(change, run_now)
        if len(driven) == 1:
            raise StoreError("the disk is full")
        return run_now

    for _ in range(3):
        house.start(lambda _: 1)
    made = a_worker(house, 1, Claiming(drive))
    assert made._drives.begin()
    eventually(lambda: len(driven) == 3)
    assert made.wait_idle(PATIENCE_SECONDS)
    assert "run 1: the disk is full" in caplog.text


@pytest.mark.proves("RUN-560")
def test_worker_puts_off_a_run_that_lost_the_store(house):
    def fail():
        raise StoreError("the store is gone")

    house.start(lambda _: step(fail))
    made = a_worker(house, 1)
    assert made._drives.begin()
    assert made.wait_idle(PATIENCE_SECONDS) and house.run().state == "running"
    made._drives.look()
    assert (house.run().state, house.run().reason) == ("ready", "the store is gone")


@pytest.mark.proves("RUN-454", "RUN-458")
def test_worker_survives_an_error_while_it_looks(house, caplog, monkeypatch):
    looks, driven = [], []

    def fail_once(_):
        looks.append(1)
        house.clock.advance(2)
        if len(looks) < 3:
            raise StoreError("it was busy")
        made.stop()

    house.start(lambda _: 1)
    made = a_worker(house, 1, Claiming(driven.append))
    monkeypatch.setattr(apply_deadlines, "sweep", fail_once)
    made.work()
    assert len(looks) == 3 and caplog.text.count("it was busy") == 2


@pytest.mark.proves("RUN-454")
def test_worker_without_free_slots_does_not_spin(house):
    house.go(lambda _: sleep(5))
    made = a_worker(house, 1)
    assert made._patience() == 1.0
    house.clock.advance(4.5)
    assert made._patience() == 0.5
    house.clock.advance(5)
    assert made._patience() == 0.005
    made._drives._busy.add(99)
    assert made._patience() == 1.0


@pytest.mark.proves("RUN-454")
def test_busy_worker_takes_over_nothing(house):
    house.start(lambda _: 1)
    begun, go, driven = threading.Event(), threading.Event(), []

    def drive(run_now):
        driven.append(run_now.id)
        change = RunChange(run_now._replace(state="stuck", reason="x"))
        house.store.runs.change(change, run_now)
        begun.set()
        go.wait(PATIENCE_SECONDS)
        return run_now

    made = a_worker(house, 1, Claiming(drive))
    assert made._drives.begin()
    assert begun.wait(PATIENCE_SECONDS)
    assert not made._drives.begin(house.run())
    assert not made._drives.begin(house.run()._replace(id=99))
    assert not made.wait_idle(0)
    go.set()
    eventually(lambda: made.wait_idle(1))
    assert driven == [1]
    assert made._drives.begin(house.run()._replace(id=99))
    eventually(lambda: driven == [1, 99])


@pytest.mark.proves("RUN-460", "S2-B3", "LAW-3", "WHO-2")
def test_agent_in_a_turn_cannot_pass_its_gate(real_house):
    house = real_house
    # That process has a clock of its own.
    house.go(lambda _: bool(pause("Go?", timeout=9e7)))
    told = {**os.environ, "GATE_TURN": "t-abc", "GATE_STORE": house.store.path}
    words = [sys.executable, "-m", "gatebell", "answer", house.ask().id, "yes"]
    said = subprocess.run(words, env=told, capture_output=True, text=True, check=False, timeout=60)
    assert said.returncode == 7 and "GATE_TURN" in said.stderr
    assert house.drive().state == "waiting_human"
    assert json.dumps(house.ask().decision) == "null" and a_person().is_person
