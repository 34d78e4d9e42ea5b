"""Whose tasks a worker takes up."""

from __future__ import annotations

import argparse

import pytest
from tests.task_records import add_task, asks, taken_up

from gatebell.app import runtime
from gatebell.cli.runs import worker
from gatebell.install import records
from gatebell.install.records import Installed
from gatebell.testing import FakeClock, MemoryStore


def projects(**wish):
    given = {"no_tasks": False, "everywhere": False, **wish}
    return worker._projects(argparse.Namespace(**given))


def set_up(environ, project):
    record = Installed("init", project, "", (), (), ())
    records.write(records.path_of(environ, "init", project, ""), record)


@pytest.mark.proves("TASK-266")
def test_everywhere_is_where_a_person_ran_gate_init(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    clock = FakeClock()
    store, everywhere = MemoryStore(clock), projects(everywhere=True)
    environ = {"XDG_DATA_HOME": str(tmp_path)}
    set_up(environ, "/shop")
    assert everywhere(store) == ["/shop"]
    set_up(environ, "/bank")
    assert everywhere(store) == ["/shop"], "it is not looked at for every task"
    clock.advance(6)
    assert sorted(everywhere(store)) == ["/bank", "/shop"]


@pytest.mark.proves("TASK-266")
def test_otherwise_it_is_the_project_here_or_none(tmp_path, monkeypatch):
    (tmp_path / ".gate").mkdir()
    monkeypatch.chdir(tmp_path)
    assert projects()(MemoryStore()) == [str(tmp_path)]
    assert projects(no_tasks=True)(MemoryStore()) == []


@pytest.mark.proves("TASK-314", "S3-25")
def test_what_is_said_of_a_task_is_said_in_one_go(tmp_path, capsys):
    store, said = MemoryStore(), []
    run = taken_up(store, add_task(store))
    asks(store, run, "Which way?")
    worker._tell(lambda *lines: said.append(lines))(store, run, True)
    [lines] = said
    assert [line.split(":")[0] for line in lines] == [
        f"❓ Task {run.task} needs human input",
        "   Question",
        "   Answer",
    ]
    worker._teller(str(tmp_path / "log"))(*lines)
    assert capsys.readouterr().err == "\n".join(lines) + "\n"
    assert len((tmp_path / "log").read_text(encoding="utf-8").splitlines()) == 3


@pytest.mark.proves("TASK-317", "S3-49")
def test_a_worker_says_nothing_of_what_another_one_drives(monkeypatch):
    class Driver:
        is_faster = True

        def drive(self, run, begun):
            if self.is_faster:
                begun()
            return run

        def is_driving(self, _):
            return False

    monkeypatch.setattr(runtime, "work_digest", lambda: "digest")
    store, driver, told = MemoryStore(), Driver(), []
    run = taken_up(store, add_task(store))
    working = runtime.worker(store, driver, 1, lambda _, __, is_over: told.append(is_over))
    assert working._drive(run) == run and told == [False, True]
    driver.is_faster = False
    assert working._drive(run) == run and told == [False, True]
