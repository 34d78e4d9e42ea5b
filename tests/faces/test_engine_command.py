"""`gate engine`, and workers on several hosts of one PostgreSQL store."""

from __future__ import annotations

import json
import logging
import signal
import socket
import time

import psycopg
import pytest
from tests.support import postgres_server
from tests.support.run_project import RunProject, lives, started
from tests.support.shells import World
from tests.support.temporal_server import find_temporal
from tests.support.waiting import eventually

from gatebell.app.wiring import migrate_store, open_store
from gatebell.cli import main

__all__ = ["started"]


@pytest.fixture
def dsn():
    made = postgres_server.add_database("gate_engines")
    migrate_store(made)
    return made


@pytest.fixture
def gate(dsn, monkeypatch, tmp_path, capsys):
    """Run a command with a PostgreSQL store; return exit code, output and errors."""
    monkeypatch.setenv("GATE_STORE", dsn)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))

    def run(*words):
        code = main.main([str(word) for word in words])
        said = capsys.readouterr()
        return code, said.out, said.err

    logger = logging.getLogger("gatebell")
    before, propagates = list(logger.handlers), logger.propagate
    yield run
    # A worker shows its log lines on the stderr of that test, which is closed by now.
    logger.handlers[:], logger.propagate = before, propagates


@pytest.fixture
def world(dsn, tmp_path):
    made = World(tmp_path, place=dsn)
    yield made
    made.store.close()


@pytest.fixture
def project(world):
    made = RunProject(world)
    yield made
    made.go()


def use_engine(world, engine):
    if engine == "temporal":
        world.ada.environ["GATE_TEMPORAL"] = find_temporal()
        assert world.ada.gate("engine", "use", "temporal").code == 0


def start_worker(started, *words, **environ):
    """Start a worker, and wait until it works."""
    worker = started("worker", *words, **environ)
    first = worker.stderr.readline()
    assert "driving runs" in first, first + worker.stderr.read()
    return worker


@pytest.mark.proves("ENG-15", "ENG-16")
def test_engine_of_a_store_is_chosen_and_checked(gate, dsn, tmp_path, monkeypatch):
    assert gate("engine", "check") == (0, "the engine is procrastinate; 0 problems\n", "")
    assert gate("engine", "use", "local")[1] == "the engine is local; 0 problems\n"
    # A later migration leaves that choice alone.
    assert gate("store", "migrate")[1] == "the tables are up to date\n"
    assert json.loads(gate("engine", "check", "--json")[1])["engine"] == "local"
    assert gate("engine", "use", "procrastinate")[0] == 0
    with psycopg.connect(dsn) as raw:
        raw.execute("UPDATE engine SET tables = '00.00.00_first.sql'")
    code, said, _ = gate("engine", "check")
    assert code == 1 and "older than the library: gate store migrate" in said
    with psycopg.connect(dsn) as raw:
        raw.execute("DROP TABLE procrastinate_jobs CASCADE")
    code, said, _ = gate("engine", "check", "--json")
    assert code == 1 and json.loads(said)["problems"] == [
        "procrastinate has no tables in this store: gate store migrate"
    ]
    assert gate("engine", "use")[0] == 2
    monkeypatch.setenv("GATE_STORE", str(tmp_path / "gate.db"))
    code, _, problem = gate("engine", "use", "procrastinate")
    assert code == 2 and "needs a store on PostgreSQL" in problem
    assert gate("engine", "check") == (0, "the engine is local; 0 problems\n", "")


@pytest.mark.proves("ENG-16")
def test_check_of_the_store_knows_the_engine(gate, dsn):
    with psycopg.connect(dsn) as raw:
        raw.execute("ALTER TABLE runs DISABLE TRIGGER handed_over")
    code, said, _ = gate("store", "check")
    assert code == 1 and "the trigger runs.handed_over was changed" in said
    assert "procrastinate" not in said


@pytest.mark.proves("ENG-15")
def test_temporal_out_of_reach_is_a_problem(gate, monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"127.0.0.1:{free.getsockname()[1]}"
    monkeypatch.setenv("GATE_TEMPORAL", address)
    assert gate("engine", "use", "temporal")[0] == 0
    code, said, _ = gate("engine", "check")
    assert code == 1 and f"the Temporal server {address} cannot be used" in said
    assert "check GATE_TEMPORAL" in said


@pytest.mark.proves("ENG-14")
def test_worker_refuses_wrong_options(gate, tmp_path):
    gate("engine", "use", "local")
    code, _, problem = gate("worker", "--engine", "procrastinate")
    assert code == 2 and problem.endswith(
        "the store hands its runs to the engine local: gate engine use procrastinate\n"
    )
    code, _, problem = gate("worker", "--pool", "two words")
    assert code == 2 and "pool (GATE_POOL): expected" in problem
    code, _, problem = gate("worker", "--project", tmp_path / "gone")
    assert code == 2 and "--project names a project's folder" in problem


@pytest.mark.proves("ENG-10")
@pytest.mark.parametrize("engine", ["procrastinate", "temporal"])
def test_run_of_killed_worker_is_taken_over(world, project, started, engine):
    """Two workers of one host; the third has another host, and gets nothing."""
    use_engine(world, engine)
    ours = [start_worker(started, "--no-tasks", GATE_HOST="one") for _ in range(2)]
    start_worker(started, "--no-tasks", GATE_HOST="two")
    assert world.ada.gate("run", "slow", "--detach", GATE_HOST="one").code == 0
    (agent,) = eventually(project.pids)
    owner = project.run(1).owner
    (victim,) = [one for one in ours if f"/{one.pid}/" in owner]
    victim.send_signal(signal.SIGKILL)
    killed_at = time.monotonic()
    eventually(lambda: len(project.pids()) == 2)
    assert time.monotonic() - killed_at < 10
    assert not lives(agent) and project.run(1).host == "one"
    project.go()
    assert project.is_in(1, "completed", "failed", "stuck").state == "completed"


@pytest.mark.proves("ENG-15")
def test_runs_without_a_worker_are_a_problem(gate, world, project, dsn):
    assert world.ada.gate("run", "simple", "--detach", GATE_HOST="far").code == 0
    with psycopg.connect(dsn) as raw:
        raw.execute("UPDATE runs SET changed_at = '2020'")
    code, said, _ = gate("engine", "check")
    assert code == 1 and "1 run of" in said and "host far has no worker" in said


@pytest.mark.proves("ENG-14")
@pytest.mark.parametrize("engine", ["procrastinate", "temporal"])
def test_worker_takes_up_tasks_and_ends_at_once(world, project, started, engine):
    use_engine(world, engine)
    (project.folder / ".gate" / "backlog.toml").write_text('base = "main"\n')
    project.commit()
    assert world.ada.gate("task", "create", "Write", "--role", "quick").code == 0
    worker = start_worker(started)
    store = open_store(world.path)
    eventually(lambda: store.runs.newest(1) and store.runs.newest(1)[0].has_ended)
    store.close()
    worker.send_signal(signal.SIGTERM)
    assert worker.wait(30) == 0
    assert "Traceback" not in worker.stderr.read()
