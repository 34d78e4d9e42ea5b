"""Whose tasks a worker takes up."""

from __future__ import annotations

import argparse

import pytest

from humangate.cli import worker
from humangate.integrations import records
from humangate.integrations.records import Installed
from humangate.testing import FakeClock, MemoryStore


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
