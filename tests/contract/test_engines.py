"""One suite for every engine, each on its real backend."""

from __future__ import annotations

import asyncio
import gc
import threading
from contextlib import closing
from datetime import timedelta
from types import SimpleNamespace

import psycopg
import pytest
from procrastinate.exceptions import ConnectorException
from procrastinate.manager import JobManager
from tests.support import engine_world, postgres_server
from tests.support.engine_world import PATIENCE_SECONDS, open_world
from tests.support.people import a_person
from tests.support.temporal_server import TemporalServer
from tests.support.waiting import eventually

from gatebell import pause
from gatebell.adapters.engines import procrastinate as procrastinate_engine
from gatebell.adapters.postgres import migrations
from gatebell.adapters.postgres.connection import Connection
from gatebell.api.flows import flow, sleep, step
from gatebell.app.wiring import migrate_store
from gatebell.domain.asks.answers import Given
from gatebell.domain.enums import Priority
from gatebell.domain.runs import runs
from gatebell.domain.runs.places import host_place, pool_place, split_place
from gatebell.domain.runs.runs import RunChange
from gatebell.services.asks import answer_ask
from gatebell.services.runs import claims, manage_runs
from gatebell.services.runs.claims import Keeper


@pytest.fixture(params=["local", "procrastinate", "temporal"])
def world(request, tmp_path, monkeypatch):
    with open_world(request.param, tmp_path, monkeypatch) as made:
        yield made


@pytest.fixture(params=["procrastinate", "temporal"])
def remote(request, tmp_path, monkeypatch):
    """A world whose engine serves many hosts."""
    with open_world(request.param, tmp_path, monkeypatch) as made:
        yield made


@pytest.fixture
def temporal(tmp_path, monkeypatch):
    with open_world("temporal", tmp_path, monkeypatch) as made:
        yield made


@pytest.fixture
def procrastinate(tmp_path, monkeypatch):
    with open_world("procrastinate", tmp_path, monkeypatch) as made:
        yield made


def answer(world, run, value="yes"):
    (ask,) = world.store.asks.pending_of_run(run.id)
    answer_ask.answer(world.store, ask.id, a_person("ada"), Given(value))


@pytest.mark.proves("ENG-1", "ENG-6")
def test_ready_run_is_driven_once(world):
    driven = []
    world.flow = flow(lambda prompt: [driven.append(prompt), bool(pause("Go?"))][-1])
    with world.at_work():
        run = world.begin("a")
        eventually(lambda: world.state(run) == "waiting_human")
        if world.kind == "procrastinate":
            eventually(lambda: world.list_jobs() == [])
        answer(world, run)
        eventually(lambda: world.state(run) == "completed")
    # A drive begins from the first line.
    assert driven == ["a", "a"]


@pytest.mark.proves("ENG-20")
@pytest.mark.parametrize("host", ["", None])
def test_notice_of_a_job_wakes_its_worker(procrastinate, monkeypatch, host):
    monkeypatch.setattr(procrastinate_engine, "LOOK_SECONDS", 3600.0)
    procrastinate.flow = flow(lambda prompt: prompt)
    fields = {} if host is None else {"host": host, "pool": "ci"}
    with procrastinate.at_work(pool="ci", keys=["shop"]) as made:
        eventually(lambda: is_heard(procrastinate, made.places))
        run = procrastinate.begin(**fields)
        eventually(lambda: procrastinate.state(run) == "completed", PATIENCE_SECONDS)


def is_heard(world, places):
    """Tell whether a worker listens; the last of its places is its last statement then."""
    with world.connect() as raw:
        query = "SELECT query FROM pg_stat_activity WHERE query LIKE '%LISTEN%' AND state = 'idle'"
        said = [words for (words,) in raw.execute(query)]
    return any(place in words for words in said for place in places[-1:])


@pytest.mark.proves("ENG-1", "ENG-8")
def test_several_workers_drive_each_run_once(world):
    done, lock = [], threading.Lock()

    def note(prompt):
        with lock:
            done.append(prompt)

    world.flow = flow(lambda prompt: step(lambda: note(prompt)))
    with world.at_work(), world.at_work(driver=world.another_driver()):
        made = [world.begin(str(number)) for number in range(12)]
        eventually(lambda: all(world.state(run) == "completed" for run in made))
    assert sorted(done, key=int) == [run.prompt for run in made]


@pytest.mark.proves("ENG-2")
def test_run_ready_again_is_driven_again(world):
    """The answer comes before the run is parked, so it is ready again while its drive ends."""
    asked = threading.Event()
    drive = world.driver.drive_claimed

    def slow(claimed):
        done = drive(claimed)
        if done.state == "waiting_human":
            # The drive has written its last word, but has not ended yet.
            asked.set()
            answer(world, done)
            eventually(lambda: world.store.runs.get(done.id).state == "ready")
            if world.kind == "procrastinate":
                # The next job was fetched already.
                eventually(lambda: [state for _, state in world.list_jobs()] == ["doing", "doing"])
        return done

    world.driver.drive_claimed = slow
    world.flow = flow(lambda _: bool(pause("Go?")))
    with world.at_work(2):
        run = world.begin()
        assert asked.wait(PATIENCE_SECONDS)
        eventually(lambda: world.state(run) == "completed")


@pytest.mark.proves("ENG-3")
def test_sleeping_run_is_driven_at_its_time(world):
    times = []

    def work(_):
        times.append(world.store.now())
        sleep(1.5)

    world.flow = flow(work)
    with world.at_work():
        run = world.begin()
        asleep = eventually(lambda: world.store.runs.get(run.id).ready_at)
        eventually(lambda: world.state(run) == "completed")
    assert len(times) == 2 and asleep <= times[1] < asleep + timedelta(seconds=30)


@pytest.mark.proves("ENG-4")
def test_most_urgent_run_of_a_project_is_first(world):
    driven = []
    world.flow = flow(driven.append)
    for name, priority in (("low", Priority.LOW), ("urgent", Priority.URGENT), ("normal", 2)):
        world.begin(name, priority=Priority(priority))
    with world.at_work(1):
        eventually(lambda: len(driven) == 3)
    if world.kind == "temporal":
        # Its server compares only those that it has already.
        assert driven.index("urgent") < driven.index("low")
    else:
        assert driven == ["urgent", "normal", "low"]


@pytest.mark.proves("ENG-5")
def test_project_with_many_runs_does_not_hold_up_another(procrastinate):
    driven = []
    procrastinate.flow = flow(driven.append)
    procrastinate.copy(procrastinate.begin("big", key="big"), 999)
    assert len(procrastinate.list_jobs()) == 1000
    # Priorities order only the runs of one project.
    procrastinate.begin("small", key="small", priority=Priority.LOW)
    with procrastinate.at_work(1) as worker:
        eventually(lambda: "small" in driven)
        worker.stop()
    assert driven.index("small") <= 1


@pytest.mark.proves("ENG-5")
def test_temporal_gets_the_project_of_each_run(temporal, monkeypatch):
    """Its server is fair between these keys, as far as it has the activities already."""
    from temporalio.client import Client

    start, keys = Client.start_activity, []

    async def note(*args, priority, **more):
        keys.append(priority.fairness_key)
        return await start(*args, priority=priority, **more)

    monkeypatch.setattr(Client, "start_activity", note)
    temporal.flow = flow(lambda _: None)
    made = [temporal.begin(key=key) for key in ("big", "big", "small")]
    with temporal.at_work(1):
        eventually(lambda: all(temporal.state(run) == "completed" for run in made))
    assert sorted(map(keys.count, set(keys))) == [1, 2]


@pytest.mark.proves("ENG-6")
def test_only_work_has_a_job(remote):
    run = remote.begin()
    assert remote.list_jobs() == [(run.id, "todo")]
    keeper = Keeper(remote.store)
    assert keeper.keep(run)
    assert remote.list_jobs() == []
    keeper.let_go()
    assert remote.list_jobs() == [(run.id, "todo")]
    now = remote.store.runs.get(run.id)
    later = remote.store.now() + timedelta(hours=1)
    claimed = runs.claim(now, "x", later).run
    assert remote.store.runs.change(RunChange(claimed), now)
    assert remote.list_jobs() == []
    assert remote.store.runs.change(runs.sleep(claimed, later), claimed)
    assert remote.list_jobs() == [(run.id, "todo")]
    manage_runs.stop(remote.store, run.id, a_person("ada"), "enough")
    assert remote.list_jobs() == []


@pytest.mark.proves("ENG-11")
def test_run_and_job_are_one_transaction(remote):
    run = remote.begin()
    claimed = claims.claim(remote.store, run)
    with remote.connect() as raw:
        raw.execute("UPDATE runs SET state = 'ready', owner = '' WHERE id = %s", (run.id,))
        assert remote.list_jobs() == []
        raw.rollback()
    assert remote.list_jobs() == []
    assert remote.store.runs.change(runs.release(claimed), claimed)
    assert remote.list_jobs() == [(run.id, "todo")]


@pytest.mark.proves("ENG-7")
def test_stopped_worker_gives_its_runs_back(world):
    begun, drives = threading.Event(), []

    def work(_):
        drives.append(1)
        begun.set()
        if len(drives) == 1:
            eventually(lambda: first.driver.crashed or stopped.is_set())
            step(lambda: "never")
        return "done"

    stopped, first = threading.Event(), world
    world.flow = flow(work)
    with world.at_work(1) as worker:
        run = world.begin()
        assert begun.wait(PATIENCE_SECONDS)
        worker.stop()
        world.driver.close()
        stopped.set()
        assert worker.wait_idle(PATIENCE_SECONDS)
    assert world.state(run) == "ready"
    with world.at_work(1, driver=world.another_driver()):
        eventually(lambda: world.state(run) == "completed")


@pytest.mark.proves("ENG-8")
def test_job_without_work_does_nothing(world):
    """The jobs of runs that ended, that another process drives, or that do not exist."""
    driven = []
    world.flow = flow(driven.append)
    ended, taken, asleep = world.begin("ended"), world.begin("taken"), world.begin("asleep")
    left = world.begin("left this host", host="", pool="ci")
    manage_runs.stop(world.store, ended.id, a_person("ada"), "enough")
    assert claims.claim(world.store, taken)
    claimed = claims.claim(world.store, asleep)
    later = world.store.now() + timedelta(hours=1)
    assert world.store.runs.change(runs.sleep(claimed, later), claimed)
    drives = world.build()._drives if world.kind == "local" else world.build().drives
    for run_id in (ended.id, taken.id, asleep.id, left.id, 99):
        drives.drive_job(run_id)
    assert driven == [] and drives.busy() == []


@pytest.mark.proves("ENG-21")
@pytest.mark.parametrize("world", ["local"], indirect=True)
def test_worker_that_lost_a_run_tries_others(world):
    made = [world.begin(str(number)) for number in range(9)]
    engine = world.build(slots=1)
    offered = [run.id for run in engine._list_next()]
    assert offered == [run.id for run in made[:2]]
    assert claims.claim(world.store, made[0])
    engine._drives._drive(made[0])
    offered = [run.id for run in engine._list_next()]
    assert sorted(offered) == [run.id for run in made[1:]]


@pytest.mark.proves("ENG-9")
def test_run_is_driven_only_at_its_place(remote):
    driven = []
    remote.flow = flow(driven.append)
    wanted = [
        remote.begin("pool", key="shop", host="", pool="ci"),
        remote.begin("here", key="unknown"),
    ]
    others = [
        remote.begin("other host", host="another"),
        remote.begin("other pool", host="", pool="nightly"),
        remote.begin("other project", key="bank", host="", pool="ci"),
    ]
    with remote.at_work(pool="ci", keys=["shop"]):
        eventually(lambda: all(remote.state(run) == "completed" for run in wanted))
    assert sorted(driven) == ["here", "pool"]
    assert {remote.state(run) for run in others} == {"ready"}
    if remote.kind == "procrastinate":
        assert sorted(remote.list_jobs()) == [(run.id, "todo") for run in others]
    assert remote.store.runs.get(wanted[0].id).host == remote.store.machine.host


@pytest.mark.proves("ENG-9")
@pytest.mark.parametrize("name", ["ci", "3d1219c7c4c5404aaa1f6d2a48adfda4", "x" * 22, "x" * 64])
def test_database_and_program_name_places_alike(procrastinate, name):
    key = "https://example.org/größe"
    rows = procrastinate.store.connection.rows(
        "SELECT gate_place(?1, '', ?2), gate_place('', ?1, ?2)", (name, key)
    )
    at_host, in_pool = rows[0]
    assert split_place(at_host)[0] == host_place(name)
    assert in_pool == pool_place(name, key)
    assert split_place(at_host)[1] == split_place(in_pool)[1]
    # With the name of procrastinate before it, at most 63 bytes.
    assert len(at_host) <= 40 and len(in_pool) <= 40


@pytest.mark.proves("ENG-10")
def test_runs_of_dead_worker_are_taken_over(world):
    world.flow = flow(lambda _: "mine")
    run = world.begin()
    later = world.store.now() + timedelta(seconds=30)
    dead = runs.claim(run, "an-earlier-boot/1/1", later)
    assert world.store.runs.change(dead, run)
    with world.at_work():
        eventually(lambda: world.state(run) == "completed")


@pytest.mark.proves("ENG-10")
def test_job_of_dead_worker_is_taken_over(procrastinate):
    """It fetched the job, and died before it claimed the run."""
    procrastinate.flow = flow(lambda _: "mine")
    run = procrastinate.begin()
    with procrastinate.connect() as raw:
        raw.execute(
            "WITH dead AS (INSERT INTO procrastinate_workers (last_heartbeat) "
            "VALUES (now() - interval '7 s') RETURNING id) "
            "UPDATE procrastinate_jobs SET status = 'doing', worker_id = dead.id FROM dead"
        )
    with procrastinate.at_work():
        eventually(lambda: procrastinate.state(run) == "completed", 30)


@pytest.mark.proves("ENG-18")
def test_job_given_to_another_worker_ends_silently(procrastinate, caplog):
    """Its worker was silent for too long, and has driven its run all the same."""
    procrastinate.flow = flow(lambda _: procrastinate.lose_jobs())
    with procrastinate.at_work():
        run = procrastinate.begin()
        eventually(lambda: procrastinate.state(run) == "completed")
    # Python reports an error that was not handled when its task is collected.
    gc.collect()
    assert caplog.text == ""


@pytest.mark.proves("ENG-19")
def test_finished_job_is_deleted_after_a_lost_connection(procrastinate, monkeypatch):
    finish, tries = JobManager.finish_job, []

    async def lose_first(self, *arguments, **named):
        tries.append(1)
        if len(tries) == 1:
            raise ConnectorException
        await finish(self, *arguments, **named)

    monkeypatch.setattr(JobManager, "finish_job", lose_first)
    procrastinate.flow = flow(lambda _: "done")
    with procrastinate.at_work():
        run = procrastinate.begin()
        eventually(lambda: procrastinate.state(run) == "completed")
        eventually(lambda: procrastinate.list_jobs() == [])


@pytest.mark.proves("ENG-22")
def test_fetch_reads_few_of_many_jobs():
    dsn = postgres_server.add_database("gate_many_jobs")
    migrate_store(dsn)
    with psycopg.connect(dsn, autocommit=True) as raw:
        raw.execute("VACUUM ANALYZE procrastinate_jobs")
        raw.execute(
            "INSERT INTO procrastinate_jobs (queue_name, task_name, priority, queueing_lock, args) "
            "SELECT 'host:h/p', 't', 0, 'gate-run:' || n, '{}' FROM generate_series(1, 300) AS n"
        )
        before = count_read(raw)
        assert len(asyncio.run(fetch(dsn, 20))) == 20
        eventually(lambda: count_read(raw) - before >= 20)
        assert count_read(raw) - before < 20 * 60


async def fetch(dsn, number):
    """Fetch jobs as a worker does; return their numbers."""
    async with procrastinate_engine._build_app(dsn).open_async() as app:
        found = procrastinate_engine.FairJobs(
            app.job_manager.connector, SimpleNamespace(has_room=True)
        )
        worker = await found.register_worker()
        return {(await found.fetch_job(["host:h"], worker)).id for _ in range(number)}


def count_read(raw):
    """Return how many jobs statements have read, as far as their connections have ended."""
    query = (
        "SELECT sum(seq_tup_read) + (SELECT sum(idx_tup_read) FROM pg_stat_user_indexes "
        "WHERE relname = 'procrastinate_jobs') FROM pg_stat_user_tables "
        "WHERE relname = 'procrastinate_jobs'"
    )
    return int(raw.execute(query).fetchone()[0])


@pytest.mark.proves("ENG-16")
def test_store_of_the_version_before_gets_jobs():
    """Its ready runs are handed over by the migration that makes the tables of the engine."""
    dsn = postgres_server.add_database("gate_before_engines")
    old = migrations.list_migrations()[0]
    with psycopg.connect(dsn, autocommit=True) as raw, open(old, encoding="utf-8") as file:
        raw.execute(file.read())
        raw.execute("CREATE TABLE schema_version (version bigint NOT NULL, oldest_reader bigint)")
        raw.execute("INSERT INTO schema_version VALUES (1, 1)")
        raw.execute(
            "INSERT INTO runs (flow, source, source_digest, prompt, project, started_by, "
            "created_at, folder, root, branch, base, state, reason, error, agent, stopped_at, "
            "parent_path, claim, owner, crash_count, host) VALUES ('', '', '', '', '', '', "
            "'2026-01-01T00:00:00+00:00', '', '', '', '', 'ready', '', '', '', '', '', 0, '', 0, "
            "'one')"
        )
        later = [path.rpartition("/")[2] for path in map(str, migrations.list_migrations()[1:])]
        assert migrate_store(dsn) == [*later, "the tables of procrastinate"]
        queue = host_place("one") + "/%"
        query = "SELECT count(*) FROM procrastinate_jobs WHERE queue_name LIKE %s"
        assert raw.execute(query, (queue,)).fetchall() == [(1,)]


@pytest.mark.proves("ENG-13")
def test_lost_job_is_handed_over_again(remote):
    run = remote.begin()
    remote.lose_jobs()
    now = remote.store.now()
    assert remote.store.dispatches.dispatch_missing(now - timedelta(seconds=60)) == 0
    assert remote.store.dispatches.dispatch_missing(now + timedelta(seconds=1)) == 1
    assert remote.store.dispatches.dispatch_missing(now + timedelta(seconds=1)) == 0
    assert remote.list_jobs() == [(run.id, "todo")]


@pytest.mark.proves("ENG-12")
def test_worker_survives_a_restart_of_the_database(tmp_path, monkeypatch, caplog):
    """A drive that is under way goes on, and does not hold up the runs that come later."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.setattr(procrastinate_engine, "_LOST_SECONDS", 0.5)
    server = postgres_server.Server(postgres_server.SAFE)
    begun, go = threading.Event(), threading.Event()

    def wait():
        begun.set()
        assert go.wait(PATIENCE_SECONDS * 2)

    try:
        with closing(Connection(server.dsn("postgres"))) as connection:
            migrations.migrate(connection)
        with open_world("procrastinate", tmp_path, monkeypatch, server.dsn("postgres")) as world:
            world.flow = flow(lambda prompt: step(wait) if prompt == "long" else "short")
            with world.at_work(2):
                long = world.begin("long")
                assert begun.wait(PATIENCE_SECONDS)
                server.crash()
                eventually(lambda: "the engine lost its connection" in caplog.text)
                server.start()
                short = world.begin("short")
                eventually(lambda: world.state(short) == "completed")
                assert world.state(long) == "running"
                go.set()
                eventually(lambda: world.state(long) == "completed")
    finally:
        server.stop()


@pytest.mark.proves("ENG-12", "ENG-18")
def test_worker_survives_a_restart_of_the_temporal_server(tmp_path, monkeypatch, caplog, capfd):
    server, begun, go = TemporalServer(), threading.Event(), threading.Event()
    monkeypatch.setattr(engine_world, "find_temporal", lambda: server.address)

    def wait():
        begun.set()
        assert go.wait(PATIENCE_SECONDS * 2)

    try:
        with open_world("temporal", tmp_path, monkeypatch) as world:
            world.flow = flow(lambda prompt: step(wait) if prompt == "long" else "short")
            with world.at_work(2):
                long = world.begin("long")
                assert begun.wait(PATIENCE_SECONDS)
                server.crash()
                short = world.begin("short")
                eventually(lambda: caplog.text)
                server.start()
                eventually(lambda: world.state(short) == "completed")
                assert world.state(long) == "running"
                go.set()
                eventually(lambda: world.state(long) == "completed")
    finally:
        server.stop()
    # The program of the library would write there, past Python.
    assert capfd.readouterr().out == ""


@pytest.mark.proves("ENG-14")
def test_next_task_is_looked_for_after_the_jobs():
    looked = []
    drives = SimpleNamespace(has_room=True, take_up=lambda: looked.append("a task"))

    async def find_none(*_, **__):
        return []

    connector = SimpleNamespace(execute_query_all_async=find_none)

    async def fetch_twice():
        jobs = procrastinate_engine.FairJobs(connector, drives)
        for _ in range(2):
            assert await jobs.fetch_job([], 1) is None
            assert looked == []
        await jobs.looking

    asyncio.run(fetch_twice())
    assert looked == ["a task"]
