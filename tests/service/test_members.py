"""Members of a store: which servers, workers and senders live, on this host and others."""

from __future__ import annotations

import subprocess
import sys
from datetime import timedelta
from types import SimpleNamespace

import pytest
from tests.support.people import a_person
from tests.support.waiting import eventually

from gatebell.adapters.system import processes
from gatebell.app.wiring import open_store
from gatebell.cli.setup import doctor
from gatebell.domain.enums import MemberKind
from gatebell.domain.members import BEAT_SECONDS, Member
from gatebell.errors import StoreError
from gatebell.services import members
from gatebell.services.members import Membership
from gatebell.testing import MemoryStore

ADA = a_person("ada")
_JOIN = """
import sys
from gatebell.app.wiring import open_store
from gatebell.services.members import Membership
joined = Membership(open_store(sys.argv[1]), sys.argv[2], "http://127.0.0.1:1")
print("joined", flush=True)
input()
"""


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "gate.db")


@pytest.fixture
def joined(path):
    """Start a process that joins as a member."""
    started = []

    def start(kind="worker"):
        process = subprocess.Popen(
            [sys.executable, "-c", _JOIN, path, kind],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        started.append(process)
        assert process.stdout.readline() == "joined\n"
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def on_other_host(store, kind=MemberKind.WORKER, host="ci-7"):
    """Write a member of another host, which beats now."""
    process = processes.me()._replace(host=host)
    made = Member(kind, str(process), "https://gate.example.org", store.now(), store.now())
    store.members.join(made)
    return made


@pytest.mark.proves("HOST-13", "HOST-14")
def test_killed_worker_is_gone_at_once(path, joined):
    store = open_store(path)
    assert not members.has_worker(store)
    server, worker = joined("server"), joined("worker")
    assert members.has_worker(store)
    assert [one.kind for one in members.list_living(store)] == ["server", "worker"]
    worker.kill()
    worker.wait()
    assert not members.has_worker(store), "its number proves it, although its report is fresh"
    assert [one.url for one in members.list_living(store)] == ["http://127.0.0.1:1"]
    server.kill()
    server.wait()
    assert members.list_living(store) == [] and len(store.members.all()) == 2
    store.close()


@pytest.mark.proves("HOST-13")
def test_member_of_other_host_counts_while_it_beats():
    store = MemoryStore()
    member = on_other_host(store)
    assert members.has_worker(store)
    run = SimpleNamespace(host="ci-7", is_unplaced=False)
    assert members.has_worker(store, run)
    assert not members.has_worker(store, SimpleNamespace(host="laptop", is_unplaced=False)), (
        "its folder is elsewhere"
    )
    store.clock.advance(29)
    assert members.has_worker(store)
    store.clock.advance(1)
    assert not members.has_worker(store) and members.list_living(store) == []
    store.members.beat(member)
    (found,) = members.list_living(store)
    assert found == member._replace(beat_at=store.now()) and found.id == member.id
    store.clock.advance(7 * 86400 + 1)
    on_other_host(store, host="ci-8")
    assert [one.process for one in store.members.all()] != [member.process], "it was forgotten"


@pytest.mark.proves("HOST-13", "HOST-14")
def test_membership_beats_until_its_end(monkeypatch):
    store, beats = MemoryStore(), []
    monkeypatch.setattr(members, "BEAT_SECONDS", 0.001)
    beat = store.members.beat

    def beating(member):
        beats.append(member)
        if len(beats) == 2:
            raise StoreError("busy")
        beat(member)

    monkeypatch.setattr(store.members, "beat", beating)
    joined = Membership(store, MemberKind.SENDER)
    assert store.members.all()[0].kind == MemberKind.SENDER
    eventually(lambda: len(beats) > 3)
    joined.end()
    assert store.members.all() == [] and not joined._thread.is_alive()
    assert timedelta(seconds=30).total_seconds() == BEAT_SECONDS * 3


@pytest.mark.proves("HOST-16")
def test_doctor_names_members_of_other_hosts():
    store = MemoryStore()
    Membership(store, MemberKind.WORKER).end()
    on_other_host(store, MemberKind.SERVER)
    (found,) = doctor._check_other_hosts(store)
    assert found.ok and found.what.startswith(
        "a server runs on host ci-7 at https://gate.example.org (process "
    )
