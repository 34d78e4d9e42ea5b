"""Two workers of two hosts on PostgreSQL: a run goes on at the host that is left."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.engine_world import set_up_engine
from tests.support.git_project import git
from tests.support.people import a_person
from tests.support.run_project import RunProject
from tests.support.shells import World
from tests.support.stores import find_place
from tests.support.waiting import eventually

from gatebell.app.wiring import open_throwaway_store
from gatebell.domain.asks.answers import Given
from gatebell.services.asks import answer_ask

PATIENCE_SECONDS = 30


class Team:
    """A remote, and the clones and workers of two hosts."""

    def __init__(self, folder, store, address):
        self.store, self.folder = store, folder
        world = World(folder / "world")
        project = RunProject(world)
        (project.folder / ".gate/project").write_text("shop\n")
        project.commit()
        self.remote = folder / "remote.git"
        git(folder, "clone", "-q", "--bare", project.folder, self.remote)
        self.environ = {**world.plain.environ, "GATE_STORE": address, "GATE_POOL": "ci"}
        self.environ |= {name: os.environ[name] for name in ("GATE_KEY_FILE",)}
        world.store.close()
        for name in ("a", "b"):
            (folder / name).mkdir()
            git(folder, "clone", "-q", self.remote, folder / name / "shop")

    def start(self, name, *words):
        home = self.folder / name
        own = {"GATE_HOST": name, "HOME": str(home), "XDG_DATA_HOME": str(home / "share")}
        return subprocess.Popen(
            [sys.executable, "-m", "gatebell", *words],
            cwd=home / "shop", env=self.environ | own | {"GATE_TRAVEL": "origin"},
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip

    def end(self, process):
        process.terminate()
        out, _ = process.communicate(timeout=PATIENCE_SECONDS)
        return out

    def wait_for(self, prompt):
        """Wait until the run waits in its pool for an answer to this question."""

        def look():
            run = self.store.runs.get(1)
            (ask,) = self.store.asks.pending_of_run(1) or [None]
            is_sent = run and run.state == "waiting_human" and not run.host
            return is_sent and ask and prompt in ask.question.prompt and (run, ask)

        return eventually(look, PATIENCE_SECONDS)


@pytest.fixture
def team(tmp_path, monkeypatch):
    address = find_place("postgres", tmp_path, monkeypatch)
    set_up_engine("procrastinate", address)
    store = open_throwaway_store(address)
    store.dispatches.use("procrastinate")
    (tmp_path / "world").mkdir()
    yield Team(tmp_path, store, address)
    store.dispatches.use("")
    store.close()


@pytest.mark.proves("HOST-40", "HOST-37")
def test_run_goes_on_at_the_host_that_is_left(team):
    ada = a_person("ada")
    begun = team.start("a", "run", "gated", "Add login", "--detach")
    told, _ = begun.communicate(timeout=PATIENCE_SECONDS)
    assert begun.returncode == 0, told
    assert team.store.runs.get(1).host == "a"
    workers = [team.start("a", "worker", "--no-tasks")]
    try:
        sent, ask = team.wait_for("way?")
        assert (sent.pool, Path(sent.folder).is_dir()) == ("ci", True)
        team.end(workers.pop())
        workers.append(team.start("b", "worker", "--no-tasks"))
        answer_ask.answer(team.store, ask.id, ada, Given("this way"))
        again, ask = team.wait_for("Deploy?")
        assert str(team.folder / "b") in again.folder
        answer_ask.answer(team.store, ask.id, ada, Given("yes"))
        eventually(lambda: team.store.runs.get(1).has_ended, PATIENCE_SECONDS)
    finally:
        said = [team.end(worker) for worker in workers]
    done = team.store.runs.get(1)
    assert (done.state, done.result, done.host) == ("completed", "deployed", "b"), (done, said)
    assert git(team.remote, "for-each-ref", "refs/gatebell") == ""
    assert Path(sent.folder).is_dir(), "the first host keeps its copy"
    told, _ = team.start("a", "clean").communicate(timeout=PATIENCE_SECONDS)
    assert told == f"Removed what run 1 left here: {sent.root}\n"
    assert not Path(sent.root).exists()
