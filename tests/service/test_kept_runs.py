"""Runs that a process keeps: claims of others at every write, and after the release."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
from types import SimpleNamespace

import pytest
from tests.support.flow_harness import house, real_house
from tests.support.people import a_person
from tests.support.waiting import eventually

from gatebell import HumanInput, Phase, Workflow, pause
from gatebell.adapters.engines.drives import Drives
from gatebell.adapters.engines.local import LocalEngine
from gatebell.adapters.system import processes, run_locks
from gatebell.api.flows import sleep
from gatebell.app.wiring import open_store
from gatebell.domain.asks.answers import Given
from gatebell.domain.runs import runs
from gatebell.domain.runs.runs import RunChange
from gatebell.errors import StoreError
from gatebell.services.asks import answer_ask
from gatebell.services.runs import claims, manage_runs
from gatebell.services.runs.checkouts import Checkouts
from gatebell.services.runs.claims import Abandoned, Keeper
from gatebell.services.tasks.scheduler import TaskScheduler

__all__ = ["house", "real_house"]

PATIENCE_SECONDS = 20

series = Workflow(
    "series",
    phases=[
        Phase("a", agent=lambda _: "a", human=HumanInput("First?", "approval"), next="b"),
        Phase("b", agent=lambda _: "b", human=HumanInput("Second?", "approval"), next="c"),
        Phase("c", agent=lambda _: "c", human=HumanInput("Third?", "approval"), terminal=True),
    ],
)


class Asked:
    def __init__(self, then=lambda: None):
        self.prompts, self._then = [], then

    def approval(self, prompt, ask_id):
        self.prompts.append(prompt)
        self._then()
        return True

    def choice(self, prompt, options, ask_id):
        raise NotImplementedError


def a_worker(store, driven):
    """A driver that records the runs it would drive."""

    def drive(run):
        driven.append(run.state)
        return run

    driver = SimpleNamespace(
        claim=lambda run, **_: run,
        drive_claimed=drive,
        driven=(),
        put_off_interrupted=lambda: None,
    )
    scheduler = TaskScheduler(store, SimpleNamespace(), "digest")
    return LocalEngine(Drives(store, driver, scheduler, Checkouts(None, ()), 1))


@pytest.fixture
def path(tmp_path, monkeypatch):
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    made = str(tmp_path / "gate.db")
    open_store(made).close()
    return made


@pytest.mark.proves("PHASE-54", "PHASE-50")
def test_no_claim_succeeds_at_any_write(path):
    """A worker tries to claim after each write, as if it were always the fastest."""
    store, beside = open_store(path), open_store(path)
    tries, driven, change = [], [], store.runs.change
    worker = a_worker(beside, driven)

    def changing(new, expected):
        done = change(new, expected)
        now = beside.runs.get(new.run.id)
        if not now.has_ended:
            tries.append(now.state)
            assert claims.claim(beside, now) is None
            assert Keeper(beside).keep(now) is None
            worker._drives.look()
            worker._drives._looked_at = -1.0
            assert not worker._drives.begin()
        return done

    store.runs.change = changing
    handler = Asked()
    assert series.run("go", handler, store=store).phase == "c"
    assert handler.prompts == ["First?", "Second?", "Third?"]
    assert {"ready", "running", "waiting_human"} <= set(tries) and driven == []
    store.close()
    beside.close()


@pytest.mark.proves("PHASE-54")
def test_answered_run_is_not_claimed_while_handler_thinks(path):
    beside, driven = open_store(path), []
    worker = a_worker(beside, driven)

    def answered_elsewhere():
        (ask,) = beside.asks.pending_of_run(1)
        answer_ask.answer(beside, ask.id, a_person("bob"), Given("yes"))
        assert beside.runs.get(1).state == "ready"
        assert not worker._drives.begin() and claims.claim(beside, beside.runs.get(1)) is None
        assert worker._patience() == 1.0

    handler = Asked(answered_elsewhere)
    result = series.run("go", handler, store=path)
    assert [one["actor"] for one in result.history] == ["person:bob"] * 3
    assert len(handler.prompts) == 3 and driven == []
    beside.close()


@pytest.mark.proves("PHASE-54", "PHASE-43")
def test_cancelled_program_keeps_nothing(path):
    store = open_store(path)
    thinking = threading.Event()

    class Slow(Asked):
        def approval(self, prompt, ask_id):
            thinking.set()
            over.wait(PATIENCE_SECONDS)
            return True

    async def cancel():
        task = asyncio.ensure_future(series.arun("go", Slow(), store=path))
        await asyncio.to_thread(thinking.wait, PATIENCE_SECONDS)
        task.cancel()
        await asyncio.wait([task])

    over = threading.Event()
    try:
        asyncio.run(cancel())
        # Its handler has not returned.
        eventually(lambda: not store.runs.get(1).is_kept)
        assert not claims.is_kept(store, store.runs.get(1))
        (ask,) = store.asks.pending_of_run(1)
        answer_ask.answer(store, ask.id, a_person("bob"), Given("yes"))
        assert store.runs.ready(9) == [1]
        assert claims.claim(store, store.runs.get(1))
    finally:
        over.set()
        store.close()


@pytest.mark.proves("PHASE-54", "RUN-458")
def test_program_that_cannot_write_keeps_nothing(path, capsys):
    store, beside = open_store(path), open_store(path)
    change, broken = store.runs.change, []

    def changing(new, expected):
        if broken:
            raise StoreError("the disk is full")
        return change(new, expected)

    store.runs.change = changing
    with pytest.raises(StoreError):
        series.run("go", Asked(lambda: broken.append(1)), store=store)
    left = beside.runs.get(1)
    assert left.is_kept and not claims.is_kept(beside, left)
    (free,) = Abandoned(beside).find_ready()
    assert claims.claim(beside, free)
    store.close()
    beside.close()


def kept_elsewhere(house, stranger, owner, state="ready"):
    """Return the run of a house as kept by another process."""
    now = house.run()
    after = runs.keep(now, str(owner))._replace(state=state, claim=now.claim + 1)
    assert house.store.runs.change(RunChange(after), now)
    stranger.stdin.write("\n")
    stranger.stdin.flush()
    assert stranger.stdout.readline() == "there\n"
    return after


@pytest.fixture
def stranger(real_house):
    """Start a process that keeps run 1 of the store, once per line of input."""
    code = (
        "import sys; from gatebell.app import wiring; store = wiring.open_store(sys.argv[1])\n"
        "for _ in sys.stdin:\n"
        "    store.machine.keep_run(store.runs.get(1)); print('there', flush=True)"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, real_house.store.path],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    yield process
    process.kill()
    process.communicate()


@pytest.mark.proves("PHASE-54")
@pytest.mark.parametrize("state", ["ready", "running"])
def test_run_of_a_living_process_has_no_lease(real_house, stranger, state):
    house = real_house
    house.start(lambda _: "mine")
    kept = kept_elsewhere(house, stranger, processes.identify(stranger.pid), state)
    house.clock.advance(10_000)
    abandoned = Abandoned(house.store)
    assert claims.is_kept(house.store, kept) and claims.claim(house.store, kept) is None
    assert abandoned.find() == abandoned.find_ready() == [] and house.store.runs.ready(9) == []
    assert not Keeper(house.store).can_drive(kept) and not Keeper(house.store).keep(kept)
    stranger.kill()
    stranger.wait()
    assert abandoned.find() + abandoned.find_ready() == [kept]
    assert house.drive().result == "mine"


@pytest.mark.proves("PHASE-54")
def test_number_of_a_dead_process_keeps_nothing(real_house, stranger):
    """Another process has its number, or the machine was restarted."""
    house = real_house
    house.start(lambda _: "mine")
    living = processes.identify(stranger.pid)
    for owner in (living._replace(start="1"), living._replace(boot="an-earlier-boot")):
        assert not claims.is_kept(house.store, kept_elsewhere(house, stranger, owner))


@pytest.mark.proves("PHASE-54")
def test_process_of_another_container_keeps_by_its_lock(real_house, stranger):
    """Its process number has no meaning here."""
    house = real_house
    house.start(lambda _: "mine")
    living = processes.identify(stranger.pid)
    boot = living.boot.partition(":")[0]
    kept = kept_elsewhere(house, stranger, living._replace(boot=f"{boot}:7", pid=1, start="1"))
    assert claims.is_kept(house.store, kept)
    stranger.kill()
    stranger.wait()
    assert not claims.is_kept(house.store, kept) and house.drive().result == "mine"


@pytest.mark.proves("PHASE-54")
def test_follower_keeps_a_run_once_it_is_free(house):
    house.start(lambda _: [sleep(5), bool(pause("Go?"))])
    first, second = Keeper(house.store), Keeper(house.store)
    seen = house.run()
    kept = first.keep(seen)
    assert first.has(kept) and first.keep(kept) == kept and not second.has(kept)
    # A claim or a keeper from before this change does not get the run.
    assert claims.claim(house.store, seen) is None and second.keep(seen) is None
    house.driver.drive(kept, keeper=first)
    asleep = house.run()
    assert asleep.is_kept and not first.can_drive(asleep)
    assert house.store.runs.next_ready_at() is None
    house.clock.advance(5)
    assert first.can_drive(asleep) and not second.can_drive(asleep)
    house.driver.drive(asleep, keeper=first)
    assert house.run().state == "waiting_human" and first.has(house.run())
    first.let_go()
    assert house.run().owner == "" and not first.has(house.run())
    assert second.keep(house.run()) and not first.keep(house.run())


@pytest.mark.proves("PHASE-54")
def test_unwritten_claim_keeps_the_kept_run(real_house):
    """An answer arrives between the look and the claim."""
    house = real_house
    house.start(lambda _: bool(pause("Go?")))
    keeper = Keeper(house.store)
    house.driver.drive(keeper.keep(house.run()), keeper=keeper)
    seen = house.run()
    answer_ask.answer(house.store, house.ask().id, a_person("bob"), Given("yes"))
    assert claims.claim(house.store, seen, keeper) is None
    assert keeper.has(house.run()) and claims.is_kept(house.store, house.run())
    assert house.driver.drive(house.run(), keeper=keeper).result is True
    other = Keeper(house.store)
    assert other.keep(seen._replace(owner="")) is None and not other.has(house.run())


@pytest.mark.proves("PHASE-54")
def test_one_process_keeps_several_runs_apart(real_house):
    house = real_house
    first = house.start(lambda _: 1)
    second = house.start(lambda _: 2)
    one, two = Keeper(house.store), Keeper(house.store)
    first, second = one.keep(first), two.keep(second)
    two.let_go()
    assert is_stood_by_elsewhere(house.store, first)
    assert not is_stood_by_elsewhere(house.store, second)
    # A look at another run releases none.
    assert not run_locks.is_waiting_held(house.store.path, second)
    assert is_stood_by_elsewhere(house.store, first)
    one.let_go()
    one.let_go()
    assert not is_stood_by_elsewhere(house.store, first)


def is_stood_by_elsewhere(store, run):
    """Return the state that another process sees."""
    code = (
        "import sys; from gatebell.app import wiring; store = wiring.open_store(sys.argv[1])\n"
        "run = store.runs.get(int(sys.argv[2]))._replace(claim=int(sys.argv[3]), owner=sys.argv[4])\n"
        "sys.exit(store.machine.is_run_kept(run))"
    )
    words = [store.path, str(run.id), str(run.claim), run.owner]
    return bool(subprocess.run([sys.executable, "-c", code, *words], check=False).returncode)


@pytest.mark.proves("PHASE-54")
def test_child_of_a_program_keeps_none_of_its_runs(real_house):
    run, path = real_house.start(lambda _: "mine"), real_house.store.path
    run_locks.hold_waiting(path, run)
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        held = run_locks.is_waiting_held(path, run)
        # The parent has to release it first.
        os.read(reading, 1)
        os._exit(held and not run_locks.is_waiting_held(path, run))
    assert is_stood_by_elsewhere(real_house.store, run)
    run_locks.release_waiting(path, run)
    assert not is_stood_by_elsewhere(real_house.store, run)
    os.write(writing, b".")
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1
    os.close(reading)
    os.close(writing)


@pytest.mark.proves("PHASE-54", "RUN-457")
def test_stopped_run_is_not_kept(house):
    house.start(lambda _: bool(pause("Go?")))
    keeper = Keeper(house.store)
    house.driver.drive(keeper.keep(house.run()), keeper=keeper)
    house.stop("enough")
    assert house.run().owner == "" and keeper.keep(house.run()) is None
    manage_runs.resume(house.store, house.run_id, a_person("ada"))
    assert house.drive().state == "waiting_human" and not house.run().is_kept
    keeper.let_go()
