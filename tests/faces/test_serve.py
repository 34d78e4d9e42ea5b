"""`gate serve`: servers for a team in real processes."""

from __future__ import annotations

import asyncio
import signal
import socket
from contextlib import ExitStack

import httpx
import pytest
from tests.support.people import a_person
from tests.support.team_servers import Team, call, wait_and_take
from tests.support.waiting import eventually

from gatebell.app import daemon
from gatebell.services.members import list_living
from gatebell.services.people import manage_logins


@pytest.fixture
def team(tmp_path):
    made = Team(tmp_path)
    yield made
    made.close()


@pytest.mark.proves("SRV-1", "SRV-2")
def test_answer_at_one_server_reaches_the_other(team):
    first, second = team.serve(), team.serve()
    assert daemon.find(team.path) is None
    members = {(one.kind, one.url) for one in list_living(team.store)}
    assert members == {("server", first.url), ("server", second.url)}
    ask_id = team.ask("Which?")

    async def scene():
        waiting = asyncio.create_task(wait_and_take([first.port], team.asker, ask_id))
        path, body = f"/api/asks/{ask_id}/answers", {"value": "this"}
        status, _ = await call(second.port, team.person, "POST", path, body)
        return status, await waiting

    assert asyncio.run(scene()) == (201, "this")
    # It is recorded after the reply was sent.
    eventually(lambda: team.store.asks.get(ask_id).delivered_at)


@pytest.mark.proves("SRV-1")
def test_serve_applies_deadlines_and_sends_notifications(team, tmp_path):
    sent = tmp_path / "sent"
    server = team.serve(GATE_NOTIFY_CMD=f"echo $GATE_ASK_ID >> {sent}")
    ask_id = team.ask("Soon?", expires_seconds=1)

    async def scene():
        path = f"/api/asks/{ask_id}/wait?seconds=60"
        return await call(server.port, team.asker, "GET", path)

    status, reply = asyncio.run(scene())
    assert status == 200 and reply["ask"]["status"] == "timed_out"
    eventually(lambda: sent.exists() and ask_id in sent.read_text().split())


@pytest.mark.proves("SRV-4")
def test_stopped_serve_sends_waits_home_and_logs(team):
    server, ask_id = team.serve(), team.ask("Which?")

    def stop():
        eventually(lambda: team.count_waits(server) == 1)
        return server.end()

    async def scene():
        path = f"/api/asks/{ask_id}/wait?seconds=300"
        waiting = asyncio.create_task(call(server.port, team.asker, "GET", path))
        return *await asyncio.to_thread(stop), await waiting

    code, log, (status, reply) = asyncio.run(scene())
    assert code == 0 and (status, reply["ask"]["status"]) == (200, "pending")
    lines = log.splitlines()
    assert "1 waits and 0 streams are sent home" in lines[0] and lines[-1].endswith(": ended")
    assert team.asker not in log and team.person not in log


@pytest.mark.proves("SRV-12", "WEB-93")
def test_claimed_names_do_not_sign_in_at_serve(team):
    server = team.serve()
    link = manage_logins.make_link(team.store, a_person("ada"))
    refused = httpx.get(f"{server.url}/link/{link}")
    assert refused.status_code == 403 and "personal token" in refused.text
    entered = httpx.post(
        f"{server.url}/login", data={"token": team.person}, headers={"origin": server.url}
    )
    assert entered.status_code == 303


def is_cut_off(connection):
    try:
        return connection.recv(10) == b""
    except ConnectionResetError:
        return True


@pytest.mark.proves("SRV-13", "WEB-95")
def test_endless_requests_keep_no_client_out_of_serve(team):
    server, ask_id = team.serve("--max-connections=20"), team.ask("Which?")
    with ExitStack() as stack:
        address, endless = ("127.0.0.1", server.port), []
        for _ in range(60):
            # The server would cut it off after 10 seconds in any case.
            endless.append(stack.enter_context(socket.create_connection(address, 5)))
            endless[-1].sendall(b"GET / HTTP/1.1\r\nHost: ")
        assert is_cut_off(endless[0])

        async def scene():
            waiting = asyncio.create_task(wait_and_take([server.port], team.asker, ask_id))
            path, body = f"/api/asks/{ask_id}/answers", {"value": "this"}
            status, _ = await call(server.port, team.person, "POST", path, body)
            return status, await waiting

        assert asyncio.run(scene()) == (201, "this")


@pytest.mark.proves("SRV-13", "LAW-10")
@pytest.mark.parametrize("words", [["--max-connections=0"], ["--max-connections=many"]])
def test_wrong_number_of_connections_is_refused(team, words):
    with pytest.raises(AssertionError, match="from 1 to 1000000"):
        team.serve(*words)


@pytest.mark.proves("SRV-12", "WEB-10")
def test_serve_for_other_machines_needs_tls(team):
    with pytest.raises(AssertionError, match="--tls-cert"):
        team.serve("--host=0.0.0.0")


@pytest.mark.proves("SRV-41")
@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
def test_serve_on_every_address_needs_a_public_one(team, host):
    with pytest.raises(AssertionError, match="clients use one: name it with --public-url"):
        team.serve(f"--host={host}", "--tls-cert=c.pem", "--tls-key=k.pem")


@pytest.mark.proves("SRV-3")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_ended_server_leaves_its_agents_to_another(team, number):
    first, second = team.serve(), team.serve()
    ask_id = team.ask("Which?")

    async def scene():
        ports = [first.port]
        waiting = asyncio.create_task(wait_and_take(ports, team.asker, ask_id))
        await asyncio.to_thread(eventually, lambda: team.count_waits(first) == 1)
        await asyncio.to_thread(first.end, number)
        ports[:] = [second.port]
        team.answer(ask_id, "this")
        return await waiting

    assert asyncio.run(scene()) == "this"
