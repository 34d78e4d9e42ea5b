"""The projects whose tasks a worker takes."""

from __future__ import annotations

import argparse
from queue import Empty, SimpleQueue
from types import SimpleNamespace

import pytest
from tests.support.task_records import add_task, asks, taken_up

from gatebell.adapters.engines.drives import Drives
from gatebell.cli.workers import worker
from gatebell.install import records
from gatebell.install.records import Installed
from gatebell.services.runs.checkouts import Checkouts
from gatebell.services.tasks.scheduler import TaskScheduler
from gatebell.testing import MemoryStore


def projects(**wish):
    given = {"no_tasks": False, "everywhere": False, "project": [], **wish}
    return worker._list_projects(argparse.Namespace(**given))


def set_up(environ, project):
    record = Installed("init", project, "", (), (), ())
    records.write(records.path_of(environ, "init", project, ""), record)


@pytest.mark.proves("TASK-266")
def test_everywhere_is_where_a_person_ran_gate_init(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    environ = {"XDG_DATA_HOME": str(tmp_path)}
    set_up(environ, "/shop")
    assert projects(everywhere=True) == ["/shop"]
    set_up(environ, "/bank")
    assert sorted(projects(everywhere=True)) == ["/bank", "/shop"]


@pytest.mark.proves("TASK-266")
def test_worker_learns_of_new_projects(monkeypatch):
    """It looks again after some seconds without a report."""
    reports, given = SimpleQueue(), []
    monkeypatch.setattr(worker, "_POLL_SECONDS", 0.01)
    monkeypatch.setattr(worker, "_list_projects", lambda _: ["/bank"])

    def set_projects(found, checkouts):
        given.append(found)
        assert checkouts == found
        reports.put(None)

    monkeypatch.setattr(worker, "_list_checkouts", lambda _: ["/bank"])
    args = argparse.Namespace(everywhere=True)
    worker._show_reports(args, SimpleNamespace(set_projects=set_projects), reports, "")
    assert given == [["/bank"]]


@pytest.mark.proves("TASK-266")
def test_otherwise_it_is_the_project_here_or_none(tmp_path, monkeypatch):
    (tmp_path / ".gate").mkdir()
    monkeypatch.chdir(tmp_path)
    assert projects() == [str(tmp_path)]
    assert projects(no_tasks=True) == []


class LateSignal:
    """A queue for a signal that comes just before `get` waits: its handler runs after the wait."""

    def __init__(self):
        self.waits = []

    def get(self, timeout=None):
        assert timeout is not None, "the handler would never run"
        self.waits.append(timeout)
        if len(self.waits) == 1:
            raise Empty


@pytest.mark.proves("RUN-334")
def test_signal_just_before_the_wait_ends_the_worker():
    reports = LateSignal()
    worker._show_reports(argparse.Namespace(everywhere=False), None, reports, "")
    assert len(reports.waits) == 2 and max(reports.waits) <= 5


@pytest.mark.proves("TASK-314", "S3-25")
def test_report_on_task_is_printed_at_once(tmp_path, capsys):
    store = MemoryStore()
    run = taken_up(store, add_task(store))
    asks(store, run, "Which way?")
    reports = SimpleQueue()
    a_worker(store, run, reports)._report(run, is_over=True)
    reports.put(None)
    log = tmp_path / "log"
    worker._show_reports(argparse.Namespace(everywhere=False), None, reports, str(log))
    lines = capsys.readouterr().err.splitlines()
    assert [line.split(":")[0] for line in lines] == [
        f"❓ Task {run.task} needs human input",
        "   Question",
        "   Answer",
    ]
    assert len(log.read_text(encoding="utf-8").splitlines()) == 3


def a_worker(store, claimed, reports):
    driver = SimpleNamespace(
        claim=lambda _, **_more: claimed, drive_claimed=lambda run: run, driven=()
    )
    scheduler = TaskScheduler(store, SimpleNamespace(), "digest")
    return Drives(store, driver, scheduler, Checkouts(None, ()), 1, reports)


@pytest.mark.proves("TASK-317", "S3-49")
def test_worker_reports_only_runs_it_drives():
    store = MemoryStore()
    run = taken_up(store, add_task(store))
    for claimed, expected in ((run, [False, True]), (None, [])):
        reports = SimpleQueue()
        a_worker(store, claimed, reports)._drive(run)
        assert [reports.get().is_over for _ in range(reports.qsize())] == expected
