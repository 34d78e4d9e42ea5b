"""The lock of a process that keeps a run: only the end of that process releases it."""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import subprocess
import sys

import pytest
from tests.support.flow_harness import real_house
from tests.support.people import a_person

from gatebell import pause
from gatebell.adapters.system import processes
from gatebell.app import daemon
from gatebell.app.wiring import open_store
from gatebell.domain.runs import runs
from gatebell.domain.runs.runs import RunChange
from gatebell.errors import StoreError
from gatebell.file_protocol.folders import listener_of
from gatebell.services import members
from gatebell.services.runs import claims, manage_runs
from gatebell.services.runs.claims import Abandoned, Keeper

__all__ = ["real_house"]

LOOK = """import sys
from gatebell.services.runs import claims as claiming
from gatebell.app.wiring import open_store
store = open_store(sys.argv[1])
print(claiming.is_kept(store, store.runs.get(int(sys.argv[2]))))
"""
KEEP = """import os, sys
from gatebell.services.runs.claims import Keeper
from gatebell.app.wiring import open_store
store = open_store(sys.argv[1])
keeper = Keeper(store)
assert keeper.keep(store.runs.get(1))
if "fork" in sys.argv and not os.fork():
    os.execv("/bin/cat", ["cat"]) if "exec" in sys.argv else input()
print(os.getpid(), flush=True)
input()
"""


def is_kept_elsewhere(store, number=1):
    """Return the state that another process sees."""
    seen = subprocess.run(
        [sys.executable, "-c", LOOK, store.path, str(number)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return seen.stdout == "True\n"


@pytest.fixture
def keeping(real_house):
    """Start processes that keep run 1 of the store until they end."""
    begun = []

    def keep(*words, before=()):
        process = subprocess.Popen(
            [*before, sys.executable, "-c", KEEP, real_house.store.path, *words],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        begun.append(process)
        assert process.stdout.readline().strip().isdecimal()
        return process

    yield keep
    for process in begun:
        process.kill()
        process.communicate()


def keep_from_container(house):
    """Return the run as kept in another container, where process numbers differ."""
    now, me = house.run(), processes.me()
    boot = me.boot.partition(":")[0]
    owner = str(me._replace(boot=f"{boot}:7", pid=1, start="1"))
    after = runs.keep(now, owner)._replace(claim=now.claim + 1)
    assert house.store.runs.change(RunChange(after), now)
    return after


@pytest.mark.proves("PHASE-55")
def test_copying_the_store_loses_no_lock(real_house, tmp_path):
    """Copying opens and closes the file, which releases plain record locks."""
    house = real_house
    house.start(lambda _: "mine")
    keeper = Keeper(house.store)
    assert keeper.keep(house.run())
    shutil.copytree(os.path.dirname(house.store.path), tmp_path / "copy")
    assert is_kept_elsewhere(house.store)
    keeper.let_go()
    assert not is_kept_elsewhere(house.store)


@pytest.mark.proves("PHASE-56")
def test_failed_keeper_takes_no_other_keepers_lock(real_house):
    house = real_house
    seen = house.start(lambda _: "mine")
    first, second = Keeper(house.store), Keeper(house.store)
    assert first.keep(seen)
    assert second.keep(seen) is None and not second.has(house.run())
    assert first.has(house.run()) and is_kept_elsewhere(house.store)
    second.let_go()
    assert first.has(house.run()) and is_kept_elsewhere(house.store)


@pytest.mark.proves("PHASE-56")
def test_keeper_of_a_stopped_run_speaks_for_no_other(real_house):
    """The run was stopped and resumed elsewhere while its first keeper lives."""
    house = real_house
    house.start(lambda _: bool(pause("Go?")))
    first, second = Keeper(house.store), Keeper(house.store)
    house.driver.drive(first.keep(house.run()), keeper=first)
    house.stop("enough")
    manage_runs.resume(house.store, house.run_id, a_person("ada"), keeper=second)
    assert second.has(house.run()) and not first.has(house.run())
    assert not first.can_drive(house.run())
    dead = keep_from_container(house)
    assert not claims.is_kept(house.store, dead) and not is_kept_elsewhere(house.store)
    assert Abandoned(house.store).find_ready() == [dead]
    assert first.keep(dead) and first.can_drive(house.run()) and not second.has(house.run())


@pytest.mark.proves("PHASE-56")
def test_older_keeper_of_a_process_speaks_for_no_newer(real_house):
    """The newer keeper could not write its release, but it released its lock."""
    house = real_house
    house.start(lambda _: bool(pause("Go?")))
    older, newer, change = Keeper(house.store), Keeper(house.store), house.store.runs.change
    assert older.keep(house.run())
    house.stop("enough")
    manage_runs.resume(house.store, house.run_id, a_person("ada"), keeper=newer)

    def fail(*_):
        raise StoreError("the disk is full")

    house.store.runs.change = fail
    with pytest.raises(StoreError):
        newer.let_go()
    house.store.runs.change = change
    left = house.run()
    assert left.is_kept and not claims.is_kept(house.store, left)
    assert claims.claim(house.store, left)


@pytest.mark.proves("PHASE-56")
def test_resume_that_lost_a_race_keeps_nothing(real_house):
    """Another container resumed the run in between, and died."""
    house = real_house
    house.start(lambda _: bool(pause("Go?")))
    house.drive()
    house.stop("enough")
    change, keeper = house.store.runs.change, Keeper(house.store)

    def overtaken(new, expected):
        house.store.runs.change = change
        manage_runs.resume(house.store, house.run_id, a_person("bob"))
        keep_from_container(house)
        return change(new, expected)

    house.store.runs.change = overtaken
    seen = manage_runs.resume(house.store, house.run_id, a_person("ada"), keeper=keeper)
    assert not keeper.has(seen) and not claims.is_kept(house.store, seen)
    assert not is_kept_elsewhere(house.store)


@pytest.mark.proves("PHASE-55")
@pytest.mark.parametrize("way", [["fork"], ["fork", "exec"]])
def test_child_that_outlives_its_program_keeps_nothing(real_house, keeping, way):
    """The owner in the row counts as alive, as seen from another container."""
    house = real_house
    house.start(lambda _: "mine")
    program = keeping(*way)
    assert is_kept_elsewhere(house.store)
    kept = house.run()
    program.send_signal(signal.SIGKILL)
    program.wait()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(processes, "lives", lambda _: True)
        # Its child still has the pipe that the program read from.
        assert not claims.is_kept(house.store, kept)


@pytest.mark.proves("PHASE-55")
def test_child_of_a_keeper_has_nothing_of_it(real_house):
    house = real_house
    house.start(lambda _: "mine")
    keeper = Keeper(house.store)
    kept = keeper.keep(house.run())
    child = os.fork()
    if not child:
        os._exit(2 if keeper.has(kept) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1
    assert keeper.has(house.run()) and is_kept_elsewhere(house.store)


@pytest.mark.proves("PHASE-55")
def test_run_is_kept_while_its_claim_rises(real_house):
    """The keeper may start to drive between the look at the row and at the lock."""
    house = real_house
    house.start(lambda _: "mine")
    keeper = Keeper(house.store)
    seen = keeper.keep(house.run())
    assert claims.claim(house.store, seen, keeper)
    assert claims.is_kept(house.store, seen) and claims.is_kept(house.store, house.run())
    assert claims.claim(house.store, seen) is None


@pytest.mark.proves("PHASE-55")
def test_kernel_without_file_locks_has_process_locks(real_house, monkeypatch):
    house = real_house
    house.start(lambda _: "mine")
    monkeypatch.setattr(fcntl, "F_OFD_SETLK", 999, raising=False)
    monkeypatch.setattr(fcntl, "F_OFD_GETLK", 999, raising=False)
    keeper, beside = Keeper(house.store), open_store(house.store.path)
    assert keeper.keep(house.run()) and is_kept_elsewhere(house.store)
    assert claims.is_kept(beside, house.run())
    keeper.let_go()
    beside.close()
    assert not is_kept_elsewhere(house.store)


@pytest.mark.proves("PHASE-55")
def test_kernel_without_file_locks_sees_a_living_keeper(real_house, keeping, monkeypatch):
    house = real_house
    house.start(lambda _: "mine")
    program = keeping()
    monkeypatch.setattr(fcntl, "F_OFD_GETLK", 999, raising=False)
    kept = house.run()
    assert claims.is_kept(house.store, kept)
    program.kill()
    program.wait()
    monkeypatch.setattr(processes, "lives", lambda _: True)
    assert not claims.is_kept(house.store, kept)


@pytest.mark.proves("RUN-463")
def test_forked_child_holds_no_lock_of_a_worker(tmp_path):
    """A flow may leave a child process, and `gate up` may be killed."""
    code = """import os, sys
from gatebell.app import daemon
from gatebell.app.wiring import open_store
from gatebell.file_protocol.folders import Helpers
from gatebell.services.members import Membership
os.makedirs("project/.helpers", 0o700)
kept = [daemon.register("gate.db", "http://127.0.0.1:1"), Membership(open_store(os.path.abspath("gate.db")), "worker"), Helpers("project")]
assert kept[2].hold()
if not os.fork():
    print("there", flush=True)
    os.read(0, 1)
    os._exit(0)
input()
"""
    store, project = str(tmp_path / "gate.db"), str(tmp_path / "project")
    # Its child reads the end of the pipe at the end of this block.
    with subprocess.Popen(
        [sys.executable, "-c", code], cwd=tmp_path, text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    ) as program:  # fmt: skip
        assert program.stdout.readline() == "there\n"
        seen = open_store(store)
        assert daemon.find(store) and members.has_worker(seen)
        assert listener_of(project) is not None
        program.kill()
        program.wait()
        assert not daemon.find(store) and not members.has_worker(seen)
        assert listener_of(project) is None
