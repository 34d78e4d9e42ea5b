"""Servers of two versions on one PostgreSQL store: an upgrade while agents wait."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections import Counter

import httpx
import pytest
from tests.support import postgres_server
from tests.support.newer_program import KNOWN, NAME, RENAMES, VERSION, make_newer
from tests.support.team_servers import Team, call, wait_and_take
from tests.support.waiting import eventually

from gatebell.app.wiring import migrate_store
from gatebell.domain.audit.events import EventKind
from gatebell.services import audit

AGENTS = 30


@pytest.fixture
def team(tmp_path, monkeypatch):
    monkeypatch.setenv("GATE_KEY_FILE", str(tmp_path / "keys.json"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    dsn = postgres_server.add_database("gate_upgrade")
    migrate_store(dsn)
    made = Team(tmp_path, dsn)
    made.environ["XDG_DATA_HOME"] = str(tmp_path)
    yield made
    made.close()


def run_gate(environ, *words):
    """Run a command; return its exit code and everything that it said."""
    command = [sys.executable, "-m", "gatebell", *words]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def is_ready(server):
    return httpx.get(f"{server.url}/api/ready").status_code == 200


@pytest.mark.proves("UPGRADE-3", "SRV-3")
def test_agents_that_wait_during_an_upgrade_get_their_answers(team, tmp_path):
    newer = make_newer(tmp_path)
    ids = [team.ask(f"Number {n}?") for n in range(AGENTS)]
    first = team.serve()
    later = team.environ | newer

    async def answer(server, some):
        for one in some:
            path, body = f"/api/asks/{one}/answers", {"value": f"for {one}"}
            assert (await call(server.port, team.person, "POST", path, body))[0] == 201

    async def scene():
        ports = [first.port]
        agents = [asyncio.create_task(wait_and_take(ports, team.asker, one)) for one in ids]
        await asyncio.to_thread(eventually, lambda: team.count_waits(first) == AGENTS)
        # The newer program refuses the tables of the older one.
        code, said = await asyncio.to_thread(run_gate, later, "serve", "--port=0")
        assert code == 8 and f"has schema {KNOWN}, not {KNOWN + 1}: gate store migrate" in said
        code, said = await asyncio.to_thread(run_gate, later, "store", "migrate")
        assert (code, said) == (0, f"ran {NAME}\n")
        # The older one goes on in the newer tables.
        assert is_ready(first)
        await answer(first, ids[: AGENTS // 3])
        second = await asyncio.to_thread(lambda: team.serve(**newer))
        assert is_ready(first) and is_ready(second)
        await answer(second, ids[AGENTS // 3 : 2 * AGENTS // 3])
        ports.append(second.port)
        ports.remove(first.port)
        assert (await asyncio.to_thread(first.end))[0] == 0
        await asyncio.to_thread(eventually, lambda: team.count_waits(second) == AGENTS // 3)
        await answer(second, ids[2 * AGENTS // 3 :])
        return await asyncio.gather(*agents)

    assert asyncio.run(scene()) == [f"for {one}" for one in ids]
    eventually(lambda: all(team.store.asks.get(one).delivered_at for one in ids))
    settled = Counter(
        entry.event.subject
        for entry in team.store.audit.entries()
        if entry.event.kind == EventKind.ASK_ANSWERED
    )
    assert settled == Counter(ids) and audit.verify(team.store) == []
    code, said = run_gate(later, "audit", "verify")
    assert code == 0 and "nothing was changed" in said, said


@pytest.mark.proves("DEPLOY-5", "UPGRADE-2", "SRV-14")
def test_old_servers_say_that_they_are_too_old(team, tmp_path):
    newer = make_newer(tmp_path, RENAMES)
    ask_id = team.ask("Which region?")
    old = team.serve()

    async def scene():
        ports = [old.port]
        agent = asyncio.create_task(wait_and_take(ports, team.asker, ask_id))
        await asyncio.to_thread(eventually, lambda: team.count_waits(old) == 1)
        code, said = await asyncio.to_thread(run_gate, team.environ | newer, "store", "migrate")
        assert (code, said) == (0, f"ran {NAME}\n")
        # A proxy sends it nothing more; it says what to do.
        reply = await asyncio.to_thread(httpx.get, f"{old.url}/api/ready")
        assert reply.status_code == 503
        assert "needs a newer gatebell" in reply.text and "Upgrade it" in reply.text
        new = await asyncio.to_thread(lambda: team.serve(**newer))
        assert is_ready(new)
        ports[:] = [new.port]
        assert (await asyncio.to_thread(old.end))[0] == 0
        await asyncio.to_thread(eventually, lambda: team.count_waits(new) == 1)
        path, body = f"/api/asks/{ask_id}/answers", {"value": "eu-1"}
        assert (await call(new.port, team.person, "POST", path, body))[0] == 201
        return await agent

    assert asyncio.run(scene()) == "eu-1"
    for words in (("serve", "--port=0"), ("worker",)):
        code, said = run_gate(team.environ, *words)
        assert code == 8 and "needs a newer gatebell" in said and "Upgrade it" in said, said
    assert run_gate(team.environ | newer, "--version")[1].split()[-1] == VERSION
    assert "nothing was changed" in run_gate(team.environ | newer, "audit", "verify")[1]
