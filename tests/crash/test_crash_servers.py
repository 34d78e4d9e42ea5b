"""Servers are killed while agents wait at them: every agent gets its answer from another."""

from __future__ import annotations

import asyncio
import signal

import pytest
from tests.support.team_servers import Team, open_many_files, wait_and_take
from tests.support.waiting import eventually

from gatebell.services import audit

FEW, MANY = 50, 1_000


@pytest.fixture
def team(tmp_path):
    made = Team(tmp_path)
    yield made
    made.close()


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
    checked = audit.Checked()
    assert list(audit.check(team.store, checked)) and checked.faults == []
