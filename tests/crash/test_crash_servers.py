"""Servers are killed while agents wait at them: every agent gets its answer from another."""

from __future__ import annotations

import asyncio
import signal
from collections import Counter
from contextlib import closing

import pytest
from tests.support import postgres_server
from tests.support.stores import find_place
from tests.support.team_servers import Team, open_many_files, wait_and_take
from tests.support.waiting import eventually

from gatebell.app import wiring
from gatebell.domain.audit.events import EventKind
from gatebell.services import audit

FEW, MANY = 50, 1_000


@pytest.fixture(params=["sqlite", "postgres"])
def team(request, tmp_path, monkeypatch):
    made = Team(tmp_path, find_place(request.param, tmp_path, monkeypatch))
    yield made
    made.close()


@pytest.fixture
def database(tmp_path, monkeypatch):
    """A PostgreSQL of this test alone, which it may kill."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    made = postgres_server.Server(postgres_server.SAFE)
    wiring.migrate_store(made.dsn("postgres"))
    yield made
    made.stop()


def find_faults(team, ids):
    """Return the faults of the trail, and the asks that were not settled once."""
    settled = Counter(
        entry.event.subject
        for entry in team.store.audit.entries()
        if entry.event.kind == EventKind.ASK_ANSWERED
    )
    return audit.verify(team.store) + [one for one in ids if settled[one] != 1]


@pytest.mark.proves("SRV-3", "LAW-1")
def test_killed_server_loses_no_answer(team, whole):
    open_many_files()
    ids = [team.ask(f"Number {n}?") for n in range(MANY if whole else FEW)]
    first, second = team.serve(), team.serve()

    async def scene():
        ports = [first.port]
        agents = [asyncio.create_task(wait_and_take(ports, team.asker, one)) for one in ids]
        await asyncio.to_thread(eventually, lambda: team.count_waits(first) == len(ids))
        third = len(ids) // 3
        await asyncio.to_thread(answer, ids[:third])
        ports.append(second.port)
        # The kill is in the middle of the answers: some waits were just told, others were not.
        answering = asyncio.create_task(asyncio.to_thread(answer, ids[third : 2 * third]))
        first.process.send_signal(signal.SIGKILL)
        ports.remove(first.port)
        await answering
        await asyncio.to_thread(answer, ids[2 * third :])
        return await asyncio.gather(*agents)

    def answer(some):
        for one in some:
            team.answer(one, f"for {one}")

    assert asyncio.run(scene()) == [f"for {one}" for one in ids]
    assert second.end()[0] == 0
    assert find_faults(team, ids) == []


@pytest.mark.proves("PG-16", "SRV-3")
def test_waiting_agents_outlive_a_crash_of_postgres(database, tmp_path):
    with closing(Team(tmp_path, database.dsn("postgres"))) as team:
        ids = [team.ask(f"Number {n}?") for n in range(FEW)]
        server = team.serve()

        async def scene():
            ports = [server.port]
            agents = [asyncio.create_task(wait_and_take(ports, team.asker, one)) for one in ids]
            await asyncio.to_thread(eventually, lambda: team.count_waits(server) == len(ids))
            await asyncio.to_thread(database.crash)
            await asyncio.to_thread(database.start)
            for one in ids:
                await asyncio.to_thread(team.answer, one, f"for {one}")
            return await asyncio.gather(*agents)

        assert asyncio.run(scene()) == [f"for {one}" for one in ids]
        assert server.end()[0] == 0
        assert find_faults(team, ids) == []
