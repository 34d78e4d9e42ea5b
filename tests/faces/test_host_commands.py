"""gate host, and commands that need the folder of a run of another host."""

from __future__ import annotations

import json

import pytest
from tests.support.run_project import project

from gatebell.adapters.files.run_log import RunLogFiles
from gatebell.domain.enums import MemberKind
from gatebell.domain.members import Member

__all__ = ["project"]

HERE, THERE = {"GATE_HOST": "laptop"}, {"GATE_HOST": "ci-7"}


@pytest.fixture
def run_there(world, project):
    """A run at home on another host."""
    code, _, err = world.ada.gate("run", "gated", "Add login", "--detach", **THERE)
    assert code == 0, err
    return world.store.runs.get(1)


@pytest.mark.proves("HOST-47")
def test_commands_that_need_the_folder_name_its_host(world, run_there):
    for command in ("resume", "diff", "logs"):
        code, _, err = world.ada.gate(command, "1", **HERE)
        assert code == 7 and f"run 1 is on host ci-7: run there: gate {command} 1." in err
    RunLogFiles(world.path).write(run_there, "1", "quick", "said here")
    code, out, err = world.ada.gate("logs", "1", **HERE)
    assert code == 0 and "said here" in out and "run there: gate logs 1" in err


@pytest.mark.proves("HOST-47")
def test_run_in_a_pool_has_no_folder(world, run_there):
    world.store.connection.raw.execute("UPDATE runs SET host = '', pool = 'ci'")
    code, _, err = world.ada.gate("diff", "1", **HERE)
    assert code == 7 and "run 1 waits in pool ci and has no folder now" in err
    assert "It continues on a host of pool ci" in world.ada.gate("status", "1", **HERE).out


@pytest.mark.proves("HOST-54")
def test_hosts_are_listed(world, run_there):
    code, out, _ = world.ada.gate("host", "list", **HERE)
    assert code == 0 and out == "ci-7: no member is known\n  runs: 1 (ready)\n"
    (host,) = json.loads(world.ada.gate("host", "list", "--json", **THERE).out)
    assert host == {
        "host": "ci-7", "is_this": True, "is_lost": False, "beat_at": None, "members": [], "runs": [1],
    }  # fmt: skip
    now = world.store.now()
    world.store.members.beat(Member(MemberKind.WORKER, "ci-7/boot/1/1", "", now, now))
    # One that was killed is known by its own report.
    said = world.ada.gate("host", "list", **HERE).out
    assert "ci-7: reported " in said and "  worker ci-7/boot/1/1: reported " in said
    assert "(this host)" in world.ada.gate("host", "list", **THERE).out
    assert world.ada.gate("host", "forget").code == 2 == world.ada.gate("host", "list", "x").code


@pytest.mark.proves("HOST-53", "HOST-54")
def test_lost_host_is_forgotten_by_a_person(world, run_there):
    code, _, err = world.claude.gate("host", "forget", "ci-7", **HERE)
    assert code == 7 and "only a person says that a host is lost" in err
    assert world.ada.gate("host", "forget", "nobody", **HERE).code == 5
    assert world.ada.gate("host", "forget", "ci-7", **THERE).code == 7
    code, out, _ = world.ada.gate("host", "forget", "ci-7", "--as", "ada", **HERE)
    (ask,) = world.store.asks.pending_of_run(1)
    assert code == 0 and out.startswith("Host ci-7 is lost\n") and f"gate answer {ask.id}" in out
    again = world.ada.gate("host", "forget", "ci-7", "--as", "ada", "--json", **HERE)
    assert json.loads(again.out) == {"host": "ci-7", "asks": [ask.id]}
    shown = world.ada.gate("status", "1", **HERE).out
    assert f"""Use "gate answer {ask.id} 'Wait for ci-7'" to answer it.""" in shown
    assert "ci-7: LOST" in world.ada.gate("host", "list", **HERE).out
    out = world.ada.gate("answer", ask.id, "Stop the run", "--as", "ada", **HERE).out
    assert out.endswith("Run 1 is at home on host ci-7, which has its folder.\n")
    told = world.store.audit.of_subject("host:ci-7")
    assert {one.event.actor for one in told} == {"person:ada"}
