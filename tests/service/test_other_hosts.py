"""Two hosts on one store: neither takes what the other may still be working on."""

from __future__ import annotations

import subprocess
import sys
from contextlib import contextmanager
from datetime import timedelta

import pytest
from tests.support.flow_harness import Crash, done, house, needs, real_house
from tests.support.people import a_person
from tests.support.sessions import desk

from gatebell import Gate, run
from gatebell.adapters.system import hosts, processes
from gatebell.api.flows import sleep
from gatebell.app import runtime
from gatebell.cli.runs.run_lines import status_lines
from gatebell.domain.enums import ProcessState, RunState
from gatebell.domain.runs.identities import Identity, parse_identity
from gatebell.domain.runs.journals import Carried
from gatebell.domain.runs.runs import RunChange
from gatebell.errors import RefusedError, UsageError
from gatebell.services.asks import apply_deadlines, waiters
from gatebell.services.runs import claims, manage_runs
from gatebell.services.runs.claims import Abandoned, Keeper
from gatebell.services.sessions import ask_session, run_session
from gatebell.terminal import left_runs
from gatebell.terminal.runs import describe_other_driver
from gatebell.testing import agents as scripted

__all__ = ["desk", "house", "real_house"]

ADA, BOB = a_person("ada"), a_person("bob")
HERE, THERE = "laptop", "ci-7"
PATIENCE_SECONDS = 20
_CLAIM = """
import sys
from gatebell.app.wiring import open_store
from gatebell.services.runs import claims, manage_runs
store = open_store(sys.argv[1])
print(bool(claims.claim(store, store.runs.get(1))), len(claims.Abandoned(store).find()), flush=True)
"""


@pytest.fixture
def on_host(monkeypatch):
    """Work as a process of another host for a while; outside of it, this is host laptop."""
    monkeypatch.setenv("GATE_HOST", HERE)

    @contextmanager
    def there(name=THERE):
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("GATE_HOST", name)
            yield

    return there


@pytest.fixture
def stranger(on_host):
    """The identity of a living process of the other host, which has ended after the test."""
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    with on_host():
        identity = processes.identify(process.pid)
    yield identity
    process.stdin.close()
    process.wait(PATIENCE_SECONDS)


def take_there(house, owner, lease_seconds=30.0):
    """Return the run of a house as claimed by a process of the other host."""
    before = house.run()
    lease = house.store.now() + timedelta(seconds=lease_seconds)
    taken = before._replace(
        state=RunState.RUNNING, owner=str(owner), claim=before.claim + 1, lease_until=lease
    )
    assert house.store.runs.change(RunChange(taken), before)
    return taken


@pytest.mark.proves("HOST-1")
def test_host_is_the_variable_or_the_machine_id(monkeypatch, tmp_path):
    monkeypatch.setenv("GATE_HOST", "ci-7.example_org")
    assert processes.me().host == "ci-7.example_org"
    identity = processes.me()
    assert parse_identity(str(identity)) == identity and str(identity).startswith("ci-7.ex")
    for wrong in ("a/b", "a b", "é", "x" * 65, "a\n"):
        monkeypatch.setenv("GATE_HOST", wrong)
        with pytest.raises(UsageError, match="GATE_HOST"):
            processes.me()
    monkeypatch.delenv("GATE_HOST")
    (tmp_path / "machine-id").write_text("0123abcd\n")
    for paths, name in (
        ([str(tmp_path / "machine-id")], "0123abcd"),
        ([str(tmp_path / "none")], hosts._make_name(hosts.os.uname().nodename)),
    ):
        hosts._read_machine_id.cache_clear()
        monkeypatch.setattr(hosts, "_MACHINE_ID", paths)
        assert processes.me().host == name
    hosts._read_machine_id.cache_clear()
    assert hosts._make_name("Ada's Mac.local") == "Ada-s-Mac.local"


@pytest.mark.proves("HOST-2", "HOST-8")
def test_process_of_other_host_is_unknown(on_host):
    mine = processes.me()
    with on_host():
        assert processes.find_state(mine) == ProcessState.UNKNOWN
        assert processes.lives(mine) and not processes.is_elsewhere(mine)
        assert not processes.end(mine, None)
        gone = mine._replace(boot="another-boot:1")
        assert processes.find_state(gone) == ProcessState.UNKNOWN
        assert not processes.end(gone, None), "its boot is over, but only its host knows"
    assert processes.find_state(mine) == ProcessState.ALIVE
    assert processes.find_state(mine._replace(boot="another-boot:1")) == ProcessState.GONE
    older = parse_identity(f"{mine.boot}/{mine.pid}/{mine.start}")
    assert older == Identity(mine.boot, mine.pid, mine.start) and str(older).count("/") == 2
    assert processes.find_state(older) == ProcessState.ALIVE
    assert processes.find_state(older._replace(start="1")) == ProcessState.GONE


@pytest.mark.proves("HOST-3")
@pytest.mark.parametrize("boot", ["same", "another-boot:1"])
def test_running_run_of_other_host_is_not_taken(house, stranger, boot):
    house.start(lambda _: "mine")
    owner = stranger if boot == "same" else stranger._replace(boot=boot)
    taken = take_there(house, owner)
    abandoned = Abandoned(house.store)
    for seconds in (0, 31, 60, 3600):
        house.clock.advance(seconds)
        assert claims.claim(house.store, house.run()) is None
        assert claims.claim(house.store, house.run(), Keeper(house.store)) is None
        assert abandoned.find() == []
    assert house.drive() == taken, "nothing was changed"
    assert left_runs.is_driven(house.store, taken)


@pytest.mark.proves("HOST-3")
def test_own_host_takes_its_run_again(house, stranger, on_host):
    with on_host():
        house.start(lambda _: "mine")
    left = take_there(house, stranger._replace(start="1"))
    assert Abandoned(house.store).find() == []
    with on_host():
        assert Abandoned(house.store).find() == [left]
        assert house.drive().result == "mine"


@pytest.mark.proves("HOST-3")
def test_two_hosts_share_one_file_without_stealing(real_house, on_host):
    house = real_house
    house.start(lambda _: "mine")
    claimed = claims.claim(house.store, house.run())
    assert claimed

    def try_on(host):
        done = subprocess.run(
            [sys.executable, "-c", _CLAIM, house.store.path],
            env=hosts.os.environ | {"GATE_HOST": host},
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.split()

    assert try_on(THERE) == ["False", "0"] and house.run() == claimed
    assert try_on(HERE) == ["True", "0"], "its lease is over, and its own host may take it"


@pytest.mark.proves("HOST-17")
def test_ready_run_is_driven_where_its_folder_is(house, on_host):
    with on_host():
        ready = house.start(lambda _: "there")
        assert ready.host == THERE and house.store.runs.ready(9) == [ready.id]
    assert house.store.runs.ready(9) == [] and claims.claim(house.store, ready) is None
    assert Keeper(house.store).keep(ready) is None
    with pytest.raises(RefusedError, match=f"run {ready.id} is on host {THERE}: run there: gate"):
        house.resume()
    shown = "\n".join(status_lines(house.store, ready, house.store.now(), is_worked_at=False))
    assert f"It continues on host {THERE}" in shown and "gate resume" not in shown
    house.stop("its host is lost")
    moved = house.resume()
    assert (moved.host, moved.result) == (HERE, "there")


@pytest.mark.proves("HOST-17", "REMOTE-63")
def test_run_resumed_by_a_server_stays_with_its_host(house, on_host):
    with on_host():
        started = house.start(lambda _: "there")
    # It has not ended, so there is nothing to resume.
    assert manage_runs.resume(house.store, started.id, ADA, moves=False) == house.run()
    house.stop("not now")
    resumed = manage_runs.resume(house.store, started.id, ADA, moves=False)
    assert (resumed.host, resumed.state) == (THERE, RunState.READY)
    assert house.store.runs.ready(9) == []
    with on_host():
        assert house.store.runs.ready(9) == [resumed.id]


@pytest.mark.proves("HOST-17")
def test_run_of_older_version_is_driven_anywhere(house, on_host):
    old = house.store.runs.add(house.start(lambda _: "x")._replace(id=0, host=""), [], Carried())
    with on_host():
        assert house.store.runs.ready(9) == [old.id] and claims.claim(house.store, old)


@pytest.mark.proves("HOST-17")
def test_sleeping_run_wakes_on_its_host_only(house, on_host):
    house.start(lambda _: sleep(60))
    asleep = house.drive()
    assert house.store.runs.next_ready_at() == asleep.ready_at
    house.clock.advance(61)
    with on_host():
        assert house.store.runs.next_ready_at() is None and house.store.runs.ready(9) == []
    assert house.store.runs.ready(9) == [asleep.id]


@pytest.mark.proves("HOST-4")
def test_kept_run_of_other_host_is_left_to_it(real_house, on_host):
    house = real_house
    with on_host():
        house.start(lambda _: "mine")
        kept = Keeper(house.store).keep(house.run())
        assert kept and claims.is_kept(house.store, kept)
    # No lock of this host tells about it.
    house.store.machine.leave_run(kept)
    assert claims.is_kept(house.store, kept) and Abandoned(house.store).find_ready() == []
    assert claims.claim(house.store, kept) is None
    assert f"on host {THERE}" in describe_other_driver(house.store, kept)
    with on_host():
        assert not claims.is_kept(house.store, kept), "its own host sees that the lock is gone"


@pytest.mark.proves("HOST-5")
def test_visit_of_other_host_stays_open(tmp_path, on_host):
    gate = Gate(str(tmp_path / "gate.db"))
    ask_id = gate.human.request_interactive("Is it safe?")
    with on_host():
        visit = ask_session.open_visit(gate.store, ask_id, ADA, "claude", "s1").visit
    gate.store.machine.leave_visit(visit.id)
    apply_deadlines.sweep(gate.store)
    assert [one.end for one in gate.store.asks.visits(ask_id)] == [""]
    with pytest.raises(RefusedError, match=f"in process [0-9]+ on host {THERE}: wait until"):
        ask_session.open_visit(gate.store, ask_id, BOB, "claude", "s2")
    gate.store.close()


@pytest.mark.proves("HOST-5")
def test_joined_session_of_other_host_stays_open(desk, on_host):
    needs_of_run = runtime.build_dependencies(desk.store)
    with on_host():
        driven = desk.run({"status": "NEEDS_HUMAN", "question": "Which way?"}, {"status": "DONE"})
        (ask,) = desk.store.asks.pending_of_run(driven.id)
        turn = run_session.open_visit(desk.store, needs_of_run, ask.id, ADA).turn
    desk.store.machine.leave_visit(turn.id)
    apply_deadlines.sweep(desk.store)
    assert [one.id for one in desk.store.runs.list_joined_turns()] == [turn.id]
    there = f"on host {THERE}: run there: gate continue {driven.id}"
    with pytest.raises(RefusedError, match=there):
        run_session.open_visit(desk.store, needs_of_run, ask.id, BOB)


@pytest.mark.proves("HOST-2")
def test_waiter_without_a_lock_here_is_not_gone(real_house, on_host):
    """A waiter on another host leaves no lock file here."""
    house = real_house
    house.agent("coder", needs("Which?"), done("x"))
    house.go(lambda _: run("coder").summary)
    (ask,) = house.store.asks.pending_of_run(house.run_id)
    with on_host():
        assert not house.store.machine.is_waiter_gone(ask.id)
        assert waiters.describe_unheard(house.store, ask) == ""


@pytest.mark.proves("HOST-6")
def test_status_names_host_of_the_driver(house, stranger):
    house.start(lambda _: "mine")
    taken = take_there(house, stranger)
    shown = "\n".join(status_lines(house.store, taken, house.store.now(), is_worked_at=False))
    assert f"Driven by: process {stranger.pid} on host {THERE}" in shown
    assert "silent" not in shown and "has ended" not in shown
    house.clock.advance(120)
    later = "\n".join(status_lines(house.store, taken, house.store.now(), is_worked_at=False))
    assert "did not extend its lease, which ended" in later and f"gate host forget {THERE}" in later


@pytest.mark.proves("HOST-7")
def test_turn_of_other_host_becomes_a_question(house, on_host, monkeypatch):
    """A person stopped and resumed the run of a lost host."""
    monkeypatch.setattr(scripted, "_PROCESS", f"{THERE}/an-earlier-boot/1/1")
    coder = house.agent("coder", Crash(), done())
    with on_host():
        house.start(lambda _: run("coder").status)
        house.crash()
    house.stop("its host is lost")
    assert house.resume().state == RunState.WAITING_HUMAN and len(coder.orders) == 1
    assert "gone?" in house.ask().question.prompt and THERE in house.ask().question.prompt
    assert house.answer_and_drive("It is gone: go on").result == "DONE"
