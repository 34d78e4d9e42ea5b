"""Attacks by which an agent with a token that may only ask would keep people from answering."""

from __future__ import annotations

import json
import socket
from contextlib import ExitStack

import pytest
from tests.support.people import a_person
from tests.support.server_world import ServerWorld
from tests.support.waiting import eventually
from tests.support.web_requests import send

from gatebell.errors import StoreError
from gatebell.services.people import manage_people
from gatebell.web import server as serving, waits
from gatebell.web.rate_limits import RATES

# Each is refused, or accepted and shown: the inbox of a person must work after it.
BODIES = {
    "a number that is none": '{"prompt": "Q?", "context": {"a": NaN}}',
    "an endless number": '{"prompt": "Q?", "context": 1e999}',
    "an endless default": '{"prompt": "Q?", "default": Infinity, "expires_seconds": 60}',
    "a number of 4,000 digits": '{"prompt": "Q?", "context": %s}' % ("9" * 4_000),
    "a number of 9,000 digits": '{"prompt": "Q?", "context": %s}' % ("9" * 9_000),
    "ninety lists in one another": '{{"prompt": "Q?", "context": {}1{}}}'.format("[" * 90, "]" * 90),
    "900 lists in one another": '{{"prompt": "Q?", "context": {}1{}}}'.format("[" * 900, "]" * 900),
    "100,000 lists in one another": "[" * 100_000,
    "half of a surrogate pair": '{"prompt": "Q\\ud800?"}',
    "a zero in every text": '{"prompt": "Q\\u0000?", "agent": "\\u0000", "project": "/\\u0000"}',
    "one key twice": '{"prompt": "Q?", "kind": "approval", "kind": "text"}',
    "an escape sequence": '{"prompt": "\\u001b[2J\\u001b]0;x\\u0007", "agent": "\\u202e"}',
    "an escalation in a distant time": '{"prompt": "Q?", "escalations": [{"after_seconds": 1e308, "who": "ada"}]}',
    "a pattern that takes long": '{"prompt": "Q?", "kind": "form", "schema": {"properties": {"a": {"pattern": "^(a+)+$"}}}}',
    "a prompt of 200,000 lines": json.dumps({"prompt": "Q\n" * 100_000}),
    "a thousand options": json.dumps({"prompt": "Q?", "kind": "choice", "options": [f"o{n}" for n in range(1000)]}),
}  # fmt: skip


@pytest.fixture
def world(tmp_path):
    made = ServerWorld(tmp_path)
    yield made
    made.close()


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    made = ServerWorld(tmp_path_factory.mktemp("floods"))
    yield made
    made.close()


@pytest.mark.proves("REMOTE-12")
@pytest.mark.parametrize("about", BODIES, ids=lambda about: about.replace(" ", "-"))
def test_odd_ask_leaves_the_inbox_usable(shared, about):
    port, token = shared.web.port, shared.tokens["agent"]
    status, said = send(port, "POST", "/api/asks", token, BODIES[about].encode())
    assert status in (201, 400), said
    asks = [f"/api/asks/{json.loads(said)['ask']['id']}"] if status == 201 else []
    pages = [path.removeprefix("/api") for path in asks]
    for path in ("/", "/api/asks", "/history", *asks, *pages):
        assert send(port, "GET", path, shared.tokens["ada"])[0] == 200, path
    shown = shared.ada.gate("inbox")
    assert shown.code == 0 and "\x1b" not in shown.out and "\u202e" not in shown.out


@pytest.mark.proves("SRV-21")
def test_waits_on_all_connections_keep_no_person_out(world, monkeypatch):
    monkeypatch.setattr(serving.LimitedConnection, "max_connections", 20)
    ask_id, port = world.ask("Deploy?", "--kind", "approval"), world.web.port
    request = (
        f"GET /api/asks/{ask_id}/wait?seconds=300 HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\n"
        f"authorization: Bearer {world.tokens['agent']}\r\n\r\n"
    )
    with ExitStack() as stack:
        for number in range(1, 21):
            stream = stack.enter_context(socket.create_connection(("127.0.0.1", port), 10))
            stream.sendall(request.encode())
            eventually(lambda number=number: len(world.web._hub.waits) == number)
        path, yes = f"/api/asks/{ask_id}/answers", {"value": "yes"}
        assert send(port, "POST", path, world.tokens["ada"], yes)[0] == 201


@pytest.mark.proves("SRV-22")
def test_invented_ids_get_no_limit_of_their_own(world):
    port, ask_id = world.web.port, world.ask("Deploy?")
    for token, refused in ((world.tokens["agent"], 404), ("gate_unknown", 401)):
        found = {
            send(port, "GET", f"/api/asks/a-{number}/wait?seconds=0", token)[0]
            for number in range(RATES["missed wait"].at_once + 20)
        }
        assert found == {refused, 429}
    other = manage_people.add(world.store, a_person("root"), "other", ("ask",))
    assert send(port, "GET", "/api/asks/a-1/wait?seconds=0", other)[0] == 404
    assert send(port, "POST", f"/api/asks/{ask_id}/answers", world.tokens["ada"], {"value": "x"})[0] == 201  # fmt: skip


@pytest.mark.proves("SRV-23")
@pytest.mark.parametrize("error", [RuntimeError("odd"), StoreError("the store is away")])
def test_wait_for_unreadable_ask_ends(world, monkeypatch, error):
    ask_id = world.ask("Deploy?")

    def fail(*_):
        raise error

    monkeypatch.setattr(waits, "look", fail)
    path = f"/api/asks/{ask_id}/wait?seconds=1"
    assert send(world.web.port, "GET", path, world.tokens["agent"])[0] == 503
