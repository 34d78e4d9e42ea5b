"""`gate store fence`, and a real restore of a PostgreSQL store from a backup."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import closing

import pytest
from tests.support import postgres_server
from tests.support.call_hosts import PlannedHost
from tests.support.people import a_person, an_agent
from tests.support.shells import said_in

from gatebell.app.wiring import migrate_store, open_store
from gatebell.domain.asks.answers import Given
from gatebell.domain.asks.asks import Origin
from gatebell.domain.permissions.calls import make_call
from gatebell.services.asks import answer_ask, create_ask
from gatebell.services.people import manage_people
from gatebell.services.permissions import permit_call
from gatebell.services.permissions.permit_call import Held

CALL = make_call("Bash", {"command": "deploy"}, "/p", "main")
ORIGIN = Origin("/p", "/p", "claude", "claude/s1", "", "person:ada")


def approve_call(store):
    """Let a person approve the call; return the ask."""
    asked = permit_call.hold(store, Held(CALL, ORIGIN, 600.0, PlannedHost()), an_agent(), 600.0)
    return answer_ask.answer(store, asked.id, a_person("ada", verified=True), Given("yes"))[1]


def make_call_again(store):
    """Make the call; return whether it runs. Without an approval nobody decides in time."""
    host = PlannedHost(reasons=["the host has ended"])
    return permit_call.decide(store, Held(CALL, ORIGIN, 600.0, host), an_agent()).allow is True


@pytest.mark.proves("FENCE-6", "FENCE-1")
def test_fence_prints_its_changes(world):
    approved = approve_call(world.store)
    code, out, err = world.ada.gate("store", "fence", "--yes", "--as", "ada")
    assert (code, err) == (0, "")
    assert f"1 approvals cancelled: {approved.id}" in out and "0 runs" in out
    assert "2 tokens are valid" in out and "gate gates" in out
    again = world.ada.gate("store", "fence", "--yes", "--as", "ada")
    assert again.code == 0 and "fenced already" in again.out
    shown = world.ada.gate("show", approved.id)
    assert "restored from a backup" in shown.out
    assert world.ada.gate("audit", "verify").code == 0


@pytest.mark.proves("FENCE-6", "FENCE-7")
def test_fence_as_json_with_a_kept_head(world):
    approved = approve_call(world.store)
    seq = world.store.audit.head().seq + 5
    words = ("store", "fence", "--yes", "--json", "--as", "ada", "--kept-head", f"{seq}:{'0' * 64}")
    found = json.loads(world.ada.gate(*words).out)
    assert found["approvals"] == [approved.id] and found["was_fenced"] is False
    assert (found["kept_head_found"], found["cut_events"]) == (False, 5)
    assert {one["person"] for one in found["tokens"]} == {"ada", "bob"}
    assert found["active_runs"] == found["members"] == found["calls"] == found["grants"] == []
    head = world.ada.gate("audit", "head").out.strip()
    said = world.ada.gate("store", "fence", "--yes", "--as", "ada", "--kept-head", head).out
    assert "no event before it is missing" in said
    said = world.ada.gate(*words[:3], *words[4:6], "--kept-head", f"1:{'0' * 64}").out
    assert "not the one whose head was kept" in said


@pytest.mark.proves("FENCE-6")
def test_fence_needs_a_person_and_an_agreement(world):
    approved = approve_call(world.store)
    refused = world.claude.gate("store", "fence", "--yes")
    assert refused.code == 7 and "only a person fences a store" in refused.err
    unasked = world.ada.gate("store", "fence", "--as", "ada")
    assert unasked.code == 2 and "add --yes" in unasked.err
    wrong = world.ada.gate("store", "fence", "--yes", "--as", "ada", "--kept-head", "12")
    assert wrong.code == 2 and "--kept-head: expected the output of gate audit head" in wrong.err
    assert create_ask.get(world.store, approved.id).status == "answered"


@pytest.mark.proves("FENCE-6")
@pytest.mark.parametrize(("reply", "code", "status"), [("n", 4, "answered"), ("y", 0, "cancelled")])
def test_fence_asks_at_a_terminal(world, reply, code, status):
    approved = approve_call(world.store)
    ours, theirs = os.openpty()
    words = (sys.executable, "-m", "gatebell", "store", "fence", "--as", "ada")
    process = subprocess.Popen(
        words, env=world.ada.environ, stdin=theirs, stdout=theirs, stderr=theirs
    )
    os.close(theirs)
    os.write(ours, f"{reply}\n".encode())
    said = said_in(ours).decode()
    assert process.wait(30) == code, said
    assert "cancels 1 approvals" in said and "[y/N]" in said
    assert create_ask.get(world.store, approved.id).status == status


def run_gate(*words):
    """Run a command with the variables of this test; return its output."""
    command = [sys.executable, "-m", "gatebell", *words]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


class Backups:
    """A PostgreSQL store with the backups of docs/deployment.md: `pg_dump`, then `pg_restore`."""

    def __init__(self, folder):
        self.dsn = postgres_server.add_database("gate_fence")
        migrate_store(self.dsn)
        self._file = folder / "backup"

    def save(self):
        postgres_server.run_program("pg_dump", "--format=custom", f"--file={self._file}", self.dsn)

    def restore(self):
        postgres_server.add_database("gate_fence")
        postgres_server.run_program("pg_restore", f"--dbname={self.dsn}", self._file)
        migrate_store(self.dsn)


@pytest.mark.proves("FENCE-8", "DEPLOY-6")
def test_restored_approval_is_used_once_with_the_fence(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    backups = Backups(tmp_path)
    monkeypatch.setenv("GATE_STORE", backups.dsn)
    with closing(open_store()) as store:
        monkeypatch.setenv("GATE_TOKEN", manage_people.add(store, a_person("root"), "ada"))
        approve_call(store)
    backups.save()
    with closing(open_store()) as store:
        assert make_call_again(store) and not make_call_again(store)
        kept = str(store.audit.head())

    # Without the fence the same approval lets the call run a second time.
    backups.restore()
    with closing(open_store()) as store:
        assert make_call_again(store)

    backups.restore()
    said = run_gate("store", "fence", "--yes", "--as", "ada", "--kept-head", kept)
    assert "events were cut" in said and "1 approvals cancelled" in said
    with closing(open_store()) as store:
        assert not make_call_again(store)
    assert "nothing was changed" in run_gate("audit", "verify")
