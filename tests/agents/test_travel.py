"""The real claude and codex: a run travels to another host, home and folder, in the same session."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import tempfile
from pathlib import Path

import pytest
from tests.support.agent_project import report
from tests.support.git_project import git
from tests.support.people import a_person
from tests.support.two_hosts import KEY, HostFolders, make_remote

from gatebell import run
from gatebell.adapters.agents.travelling_logs import TravellingLogs
from gatebell.api import flows
from gatebell.app import runtime
from gatebell.domain.asks.answers import Given
from gatebell.domain.runs.flow_terms import FlowTerms
from gatebell.install.scripted_model import script, tool
from gatebell.ports.flows import LoadedFlow
from gatebell.services.asks import answer_ask
from gatebell.services.runs import manage_runs
from gatebell.services.runs.dependencies import OneFlow, Travel
from gatebell.services.runs.drive_run import Driver

ADA = a_person("ada")


@pytest.fixture
def tmp_path(monkeypatch):
    """A folder on the disk: the sandbox of codex has its own /dev without our folders."""
    with tempfile.TemporaryDirectory(dir="/tmp", prefix="gate-travel-") as made:
        monkeypatch.setenv("TMPDIR", made)
        monkeypatch.setattr(tempfile, "tempdir", made)
        yield Path(made)


class Host:
    """A host with its own home, clone and worktrees."""

    def __init__(self, name, folder, remote, house, cli):
        self.name, self.home = name, folder / "home"
        self.folders = HostFolders(folder, remote)
        self.house = house
        self.home.mkdir()
        shutil.copy(house.home / ".claude.json", self.home)
        (self.home / ".codex").mkdir()
        shutil.copy(house.home / ".codex/config.toml", self.home / ".codex")
        roles = self.folders.clone / ".gate/agents"
        roles.mkdir(parents=True)
        (roles / "coder.md").write_text(f"---\ncli: {cli}\n---\nYou are the coder.\n")

    def drive(self, found, work, monkeypatch):
        """Drive a run as a worker of this host does."""
        monkeypatch.setenv("HOME", str(self.home))
        monkeypatch.setenv("GATE_HOST", self.name)
        store = self.house.store
        needs = runtime.build_dependencies(store)._replace(
            flows=OneFlow(LoadedFlow(work, FlowTerms(), "digest")),
            workspace=self.folders.workspace,
            travel=Travel(self.folders.carrier, TravellingLogs(os.environ)),
        )
        driver = Driver(store, needs)
        try:
            return driver.drive(store.runs.get(found.id))
        finally:
            driver.close()


@pytest.mark.proves("HOST-41", "HOST-40")
@pytest.mark.parametrize("cli", ["claude", "codex"])
def test_session_goes_on_at_another_host(house, tmp_path, monkeypatch, cli):
    for name, value in house.environ.items():
        monkeypatch.setenv(name, value)
    program = shlex.join([*house.network.prefix, getattr(house.programs, cli)])
    (house.bin / cli).write_text(f'#!/bin/sh\nexec {program} "$@"\n')
    (house.bin / cli).chmod(0o755)
    remote = make_remote(tmp_path)
    hosts = []
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        hosts.append(Host(name, tmp_path / name, remote, house, cli))
    here, there = hosts
    shell = {"claude": "Bash", "codex": "exec_command"}[cli]
    steps = [
        tool(shell, **{"claude": {"command": "echo 1 >>work.txt", "description": "work"},
                       "codex": {"cmd": "echo 1 >>work.txt"}}[cli]),
        report("NEEDS_HUMAN", question="Which port?"),
        tool(shell, **{"claude": {"command": "echo 2 >>work.txt", "description": "work"},
                       "codex": {"cmd": "echo 2 >>work.txt"}}[cli]),
        report("DONE", "both hosts worked"),
    ]  # fmt: skip
    work = flows.flow(lambda _: run("coder", script(steps)).summary).work
    project = str(here.folders.clone)
    monkeypatch.setenv("GATE_HOST", "a")
    wanted = manage_runs.RunRequest(
        "feature", "feature.py", "digest", "x", project, project_key=KEY
    )
    made, _ = manage_runs.start(house.store, here.folders.workspace, wanted, ADA)
    parked = here.drive(made, work, monkeypatch)
    assert (parked.state, parked.host, parked.pool) == ("waiting_human", "", "ci"), parked
    assert (Path(parked.folder) / "work.txt").read_text() == "1\n"
    (ask,) = house.store.asks.pending_of_run(made.id)
    answer_ask.answer(house.store, ask.id, ADA, Given("8080"))
    # Nothing of the first host is left to be found by accident.
    shutil.rmtree(here.home)
    shutil.rmtree(here.folders.clone.parent / "data")
    number = len(house.model.requests)
    driven = there.drive(made, work, monkeypatch)
    assert (driven.state, driven.result) == ("completed", "both hosts worked"), driven
    assert (Path(driven.folder) / "work.txt").read_text() == "1\n2\n" and driven.host == "b"
    first, second = house.store.runs.turns(made.id)
    assert first.session == second.session and not second.fork_of
    later = [json.dumps(one) for one in house.model.requests[number:]]
    assert later and all(first.id in one and second.id in one for one in later)
    assert git(remote, "for-each-ref", "refs/gatebell") == ""
