"""Waiting over HTTP: one reading for all, blanks for proxies, ends that differ, and limits."""

from __future__ import annotations

import gc
import json
import socket
import threading
from contextlib import ExitStack, closing

import pytest
from tests.support.people import a_person
from tests.support.waiting import eventually
from tests.support.web_inbox import inbox
from tests.support.web_server import WebServer

from gatebell.domain.asks.answers import Given
from gatebell.errors import StoreError
from gatebell.services.asks import answer_ask
from gatebell.services.people import manage_people
from gatebell.web import waits
from gatebell.web.rate_limits import RATES
from gatebell.web.server import LimitedConnection

__all__ = ["inbox"]


@pytest.fixture
def server(tmp_path):
    made = WebServer(tmp_path).start()
    yield made
    made.close()


class Waiting:
    """A client that waits for an ask over its own connection."""

    def __init__(self, server, ask, token, seconds=60):
        self.connection = socket.create_connection(("127.0.0.1", server.port), 20)
        self.connection.sendall(
            f"GET /api/asks/{ask.id}/wait?seconds={seconds} HTTP/1.1\r\n"
            f"Host: 127.0.0.1:{server.port}\r\nAuthorization: Bearer {token}\r\n"
            "Connection: close\r\n\r\n".encode()
        )

    def read(self):
        """Return the head and the body of the whole reply, without the marks of its chunks."""
        with self.connection.makefile("rb") as file:
            head, _, body = file.read().partition(b"\r\n\r\n")
        if b"chunked" in head:
            body = b"".join(body.split(b"\r\n")[1::2])
        return head.decode(), body

    def read_some(self):
        return self.connection.recv(65536)

    def close(self):
        self.connection.close()


def answer(server, ask, value="so"):
    answer_ask.answer(server.store, ask.id, a_person(), Given(value))


@pytest.mark.proves("SRV-7")
def test_waits_share_one_reading_and_no_thread(server, monkeypatch):
    token, ask = server.token(scopes=("read",)), server.ask("Which?")
    looks, at_first = [], threading.active_count()
    look = waits.look
    monkeypatch.setattr(waits, "look", lambda *args: looks.append(args[1]) or look(*args))
    with ExitStack() as stack:
        waiting = [stack.enter_context(closing(Waiting(server, ask, token))) for _ in range(40)]
        eventually(lambda: len(server._hub.waits) == 40)
        # Each has looked once, and sleeps.
        eventually(lambda: all(one._sleep for one in [*server._hub.waits._by_ask[ask.id]]))
        before, threads = len(looks), threading.active_count()
        answer(server, ask)
        replies = [json.loads(one.read()[1]) for one in waiting]
        assert {one["ask"]["value"] for one in replies} == {"so"}
        assert len(looks) - before == 1 and threads - at_first < 38
    eventually(lambda: len(server._hub.waits) == 0 and ask.id not in server._hub.waits)


@pytest.mark.proves("SRV-6")
def test_long_wait_sends_blanks_and_one_object(server, monkeypatch):
    monkeypatch.setattr(waits, "BLANK_SECONDS", 0.05)
    token, ask = server.token(scopes=("read",)), server.ask("Which?")
    with closing(Waiting(server, ask, token, 300)) as waiting:
        begun = b""
        while begun.count(b"1\r\n \r\n") < 3:
            begun += waiting.read_some()
        assert begun.startswith(b"HTTP/1.1 200 ") and b"no-store" in begun
        answer(server, ask)
        rest = waiting.read()[0]
    body = b"".join((begun.partition(b"\r\n\r\n")[2] + rest.encode()).split(b"\r\n")[1::2])
    assert body.startswith(b"   ") and json.loads(body)["ask"]["value"] == "so"


@pytest.mark.proves("SRV-6")
def test_usual_wait_sends_nothing_before_its_reply(server, monkeypatch):
    monkeypatch.setattr(waits, "BLANK_SECONDS", 0.01)
    token, ask = server.token(scopes=("read",)), server.ask("Which?")
    with closing(Waiting(server, ask, token, 1)) as waiting:
        head, body = waiting.read()
    assert "content-length" in head and json.loads(body)["ask"]["status"] == "pending"
    refused = Waiting(server, ask, token, 301)
    assert refused.read()[0].startswith("HTTP/1.1 400 ")
    refused.close()


@pytest.mark.proves("SRV-5")
def test_long_waits_end_at_different_times():
    ends = {waits.spread_end(60) for _ in range(200)}
    assert len(ends) > 150 and min(ends) >= 35 and max(ends) <= 60
    assert max(ends) - min(ends) > 15
    assert {waits.spread_end(seconds) for seconds in (0, 29)} == {0, 29}
    assert 175 <= waits.spread_end(300) <= 300


@pytest.mark.proves("SRV-8")
def test_wait_ends_when_its_client_goes(server):
    token, ask = server.token(scopes=("read",)), server.ask("Which?")
    waiting = Waiting(server, ask, token, 300)
    eventually(lambda: ask.id in server._hub.waits)
    waiting.close()
    eventually(lambda: ask.id not in server._hub.waits)
    assert len(server._hub.waits) == 0


@pytest.mark.proves("SRV-9", "WEB-4")
def test_revoked_token_gets_no_answer_after_blanks(server, monkeypatch):
    monkeypatch.setattr(waits, "BLANK_SECONDS", 0.02)
    token, ask = server.token(scopes=("read",)), server.ask("Which?")
    with closing(Waiting(server, ask, token, 300)) as waiting:
        begun = waiting.read_some()
        manage_people.remove(server.store, a_person("root"), "ada")
        answer(server, ask, "the secret plan")
        while part := waiting.read_some():
            begun += part
        # Cut off: without its last chunk, the client knows that the reply is not complete.
        assert b"secret plan" not in begun and not begun.endswith(b"0\r\n\r\n")
    again = Waiting(server, ask, token, 300)
    assert again.read()[0].startswith("HTTP/1.1 401 ")
    again.close()


@pytest.mark.proves("SRV-9")
def test_known_token_is_forgotten_when_revoked_elsewhere(server):
    # Its time never runs out here: only the event of the revoked token ends it.
    server._hub.tokens._monotonic = lambda: 0.0
    token, ask = server.token(scopes=("read",)), server.ask("Which?")
    first = Waiting(server, ask, token, 0)
    assert first.read()[0].startswith("HTTP/1.1 200 ")
    assert server._hub.tokens.get(token)
    manage_people.remove(server.store, a_person("root"), "ada")
    eventually(lambda: not server._hub.tokens.get(token))
    again = Waiting(server, ask, token, 0)
    assert again.read()[0].startswith("HTTP/1.1 401 ")
    for one in (first, again):
        one.close()


@pytest.mark.proves("SRV-4", "WEB-28")
def test_stopped_server_tells_waits_when_to_return(server):
    token, asks = server.token(scopes=("read",)), [server.ask(f"Number {n}?") for n in range(30)]
    with ExitStack() as stack:
        waiting = [stack.enter_context(closing(Waiting(server, one, token))) for one in asks]
        eventually(lambda: len(server._hub.waits) == 30)
        stopping = threading.Thread(target=server.stop)
        stopping.start()
        heads = [one.read()[0].lower() for one in waiting]
        stopping.join(20)
    pauses = {head.partition("retry-after: ")[2].partition("\r\n")[0] for head in heads}
    assert len(pauses) > 1 and pauses <= set("012345")


@pytest.mark.proves("SRV-10", "WEB-13")
def test_waits_use_up_no_readings(inbox):
    agent = inbox.client("ask")
    ids = [agent.post("/api/asks", json={"prompt": f"{n}?"}).json()["ask"]["id"] for n in range(2)]
    first, other = (f"/api/asks/{one}/wait?seconds=0" for one in ids)
    codes = [agent.get(first).status_code for _ in range(RATES["wait"].at_once + 1)]
    assert codes[-2:] == [200, 429]
    assert agent.get(other).status_code == 200
    left = inbox.desk.limits._buckets
    assert not [kind for kind, _ in left if kind == "read"]


@pytest.mark.proves("SRV-11", "WEB-13")
def test_runaway_session_leaves_other_sessions_alone(inbox):
    agent = inbox.client("ask")

    def ask(number, session):
        body = {"prompt": f"{number}?", "session": session}
        return agent.post("/api/asks", json=body).status_code

    codes = [ask(number, "runaway") for number in range(62)]
    assert codes[59] == 201 and codes[60:] == [429, 429]
    assert ask(0, "calm") == 201
    inbox.clock.advance(1)
    assert [ask(number, "runaway") for number in (62, 63)] == [201, 429]
    note = {"text": "look", "session": "runaway"}
    assert agent.post("/api/notes", json=note).status_code == 429
    signal = {"status": "DONE", "session": "runaway"}
    assert agent.post("/api/signals", json=signal).status_code == 429


@pytest.mark.proves("SRV-54")
def test_asker_takes_no_name_of_another_person(inbox):
    agent = inbox.client("ask", name="ci")
    for name in ("ada", "claude"):
        inbox.token("answer", name=name)
    for name, code in (
        *(("Ada (verified)", 400), ("ada", 400), ("person:zoe", 400)),
        *(("person:claude", 400), ("claude (verified)", 400)),
        *(("ada's claude", 201), ("claude", 201), ("ci", 201), ("person:ci", 201), ("", 201)),
    ):
        asked = agent.post("/api/asks", json={"prompt": f"{name}?", "agent": name})
        assert asked.status_code == code, (name, asked.text)


@pytest.mark.proves("SRV-14")
def test_ready_names_the_obstacle(inbox, monkeypatch):
    with inbox.running() as server:
        store = inbox.store
        monkeypatch.setattr(inbox.desk.hub, "feed_age", lambda: 11.0)
        assert "for 11 s" in server.get("/api/ready").json()["detail"]
        monkeypatch.setattr(store.audit, "schema_faults", lambda: ["the table asks is missing"])
        assert "table asks" in server.get("/api/ready").json()["detail"]

        def fail():
            raise StoreError("the disk is full")

        monkeypatch.setattr(store.audit, "head", fail)
        refused = server.get("/api/ready")
        assert refused.status_code == 503 and "disk is full" in refused.json()["detail"]
        assert server.get("/api/health").status_code == 200


@pytest.mark.proves("SRV-14")
def test_feed_grows_old_when_the_store_fails(server, monkeypatch, caplog):
    def fail(seq):
        raise StoreError("the disk is gone")

    monkeypatch.setattr(server.store.audit, "changed_since", fail)
    eventually(lambda: "the disk is gone" in caplog.text)
    # While it works, it is read every second.
    eventually(lambda: server._hub.feed_age() > 2)
    monkeypatch.undo()
    eventually(lambda: "read again" in caplog.text)
    assert server._hub.feed_age() < 2
    assert caplog.text.count("the disk is gone") == 1


@pytest.mark.proves("SRV-15", "WEB-9")
def test_probes_may_use_any_host_name(inbox):
    token = inbox.token("metrics")
    with inbox.running() as server:
        server.headers.update({"host": "10.1.2.3:4283", "authorization": f"Bearer {token}"})
        codes = [server.get(one).status_code for one in ("/api/health", "/api/ready", "/metrics")]
        assert codes == [200, 200, 200]
        for other in ("/api/counts", "/login", "/api/health/", "/metrics/x"):
            assert server.get(other).status_code == 403, other
        server.headers["origin"] = "https://evil.example"
        assert server.get("/metrics").status_code == 403


@pytest.mark.proves("SRV-16")
def test_metrics_show_numbers_and_no_texts(inbox):
    ask = inbox.ask("Where is the treasure?")
    with inbox.running() as server:
        refused = server.get("/metrics")
        assert refused.status_code == 401
        assert refused.headers["content-type"] == "application/problem+json", "no page for programs"
        reader = inbox.token("read", "admin")
        assert (
            server.get("/metrics", headers={"authorization": f"Bearer {reader}"}).status_code == 403
        )
        server.headers["authorization"] = f"Bearer {inbox.token('metrics', name='prometheus')}"
        server.get("/api/asks")
        shown = server.get("/metrics")
    lines = dict(line.rsplit(" ", 1) for line in shown.text.splitlines() if line[0] != "#")
    assert lines["gate_asks_pending"] == "1" and lines["gate_waits"] == "0"
    assert lines['gate_requests_total{class="read",status="403"}'] == "1"
    assert lines['gate_requests_total{class="page",status="401"}'] == "1"
    assert float(lines["gate_feed_age_seconds"]) >= 0
    assert lines["gate_notifications_waiting"] == "1"
    assert "treasure" not in shown.text and ask.id not in shown.text
    assert shown.headers["content-type"].startswith("text/plain; version=0.0.4")


@pytest.mark.proves("SRV-17")
def test_ended_connections_leave_no_garbage(server):
    token, ask = server.token(scopes=("read",)), server.ask("Which?")

    def visit(number):
        for _ in range(number):
            with closing(Waiting(server, ask, token, 0)) as waiting:
                assert waiting.read()[0].startswith("HTTP/1.1 200 ")
        eventually(lambda: not server._server.server_state.connections)

    visit(3)
    gc.collect()
    gc.disable()
    try:
        visit(10)
        gc.set_debug(gc.DEBUG_SAVEALL)
        gc.collect()
        found = {type(one).__name__ for one in gc.garbage}
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()
    ours = {LimitedConnection.__name__, "RequestResponseCycle", "Connection", "Task", "coroutine"}
    assert not found & ours
