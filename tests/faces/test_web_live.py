"""Events reach every watcher: streams over a real connection."""

from __future__ import annotations

import asyncio
import socket
import threading
from contextlib import ExitStack
from types import SimpleNamespace

import httpx
import pytest
from tests.support.event_stream import Stream
from tests.support.people import a_person
from tests.support.waiting import eventually
from tests.support.web_server import WebServer

from gatebell.domain.asks.answers import Given
from gatebell.domain.asks.asks import Origin
from gatebell.errors import StoreError
from gatebell.services.asks import answer_ask, create_ask
from gatebell.services.asks.create_ask import Request
from gatebell.services.people import manage_people
from gatebell.testing import MemoryStore
from gatebell.web import server as serving
from gatebell.web.live import MAX_BEHIND, Hub, Told

UNENDED_HEADERS = b"GET / HTTP/1.1\r\nHost: "
UNENDED_BODY = (
    b"POST /login HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nOrigin: http://127.0.0.1:PORT\r\n"
    b"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 100\r\n\r\ntoken="
)


@pytest.fixture
def server(tmp_path):
    made = WebServer(tmp_path).start()
    yield made
    made.close()


def is_cut_off(connection):
    try:
        return connection.recv(10) == b""
    except ConnectionResetError:
        return True


def kinds(stream, number):
    return [stream.next()[1]["kind"] for _ in range(number)]


@pytest.mark.proves("WEB-27")
def test_stream_reports_events_of_every_face(server):
    stream = Stream(server, server.token(scopes=("read",)))
    seen, hello = stream.next()
    assert hello == {} and int(seen) == server.store.audit.head().seq
    ask = server.ask("Which?")
    number, data = stream.next()
    assert data == {
        "seq": int(number),
        "at": data["at"],
        "kind": "ask.opened",
        "subject": ask.id,
        "actor": "person:root",
    }
    answer_ask.save_draft(server.store, ask.id, a_person(), "perhaps")
    assert stream.next() == (None, {"kind": "draft", "subject": ask.id})
    answer_ask.answer(server.store, ask.id, a_person(), Given("this"))
    assert kinds(stream, 1) == ["ask.answered"]
    stream.close()


@pytest.mark.proves("WEB-27")
def test_returning_reader_gets_missed_events_after_a_restart_too(server):
    token = server.token(scopes=("read",))
    stream = Stream(server, token)
    last, _ = stream.next()
    stream.close()
    server.ask("One?")
    server.stop()
    server.ask("Two?")
    server.start()
    again = Stream(server, token, last)
    again.next()
    assert kinds(again, 2) == ["ask.opened", "ask.opened"]
    server.ask("Three?")
    assert kinds(again, 1) == ["ask.opened"]
    again.close()


@pytest.mark.proves("WEB-27")
@pytest.mark.parametrize("last", ["-1", "x", "9" * 30, "999999"])
def test_unknown_event_number_is_ignored(server, last):
    stream = Stream(server, server.token(scopes=("read",)), last)
    assert stream.status == 200 and stream.next()[1] == {}
    server.ask("Next?")
    assert kinds(stream, 1) == ["ask.opened"]
    stream.close()


@pytest.mark.proves("WEB-4", "WEB-27")
def test_stream_ends_with_the_token_it_came_with(server):
    token, other = server.token(scopes=("read",)), server.token("bob", ("read",))
    stream, stays = Stream(server, token), Stream(server, other)
    stream.next()
    stays.next()
    (own,) = [one for one in server.store.people.tokens() if one.person == "ada"]
    manage_people.revoke(server.store, a_person(), own.id)
    assert stream.next() is None
    assert kinds(stays, 1) == ["token.revoked"]
    stream.close()
    stays.close()
    eventually(lambda: server.streams() == 0)


@pytest.mark.proves("WEB-27")
def test_slow_reader_is_disconnected_and_no_other():
    async def scene():
        hub = Hub(MemoryStore())
        hub.open = True
        with hub.stream() as slow, hub.stream() as quick:
            for number in range(MAX_BEHIND):
                slow.put_nowait(Told(number, "{}"))
            hub._tell([], frozenset(["a-222"]))
            assert quick.qsize() == 1 and slow.qsize() == MAX_BEHIND + 1
            left = [slow.get_nowait() for _ in range(MAX_BEHIND + 1)]
            assert left[-1] is None and None not in left[:-1]

    asyncio.run(scene())


@pytest.mark.proves("WEB-95")
@pytest.mark.parametrize("begin", [b"", UNENDED_HEADERS, UNENDED_BODY])
def test_request_that_never_ends_is_cut_off(server, monkeypatch, begin):
    monkeypatch.setattr(serving, "HEADERS_WITHIN_SECONDS", 0.05)
    monkeypatch.setattr(serving, "BODY_WITHIN_SECONDS", 0.1)
    with socket.create_connection(("127.0.0.1", server.port), 10) as endless:
        endless.sendall(begin.replace(b"PORT", str(server.port).encode()))
        assert is_cut_off(endless)


@pytest.mark.proves("WEB-95")
def test_second_request_that_never_ends_is_cut_off(server, monkeypatch):
    monkeypatch.setattr(serving, "HEADERS_WITHIN_SECONDS", 0.05)
    with socket.create_connection(("127.0.0.1", server.port), 10) as endless:
        first = f"GET /api/health HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n\r\n".encode()
        endless.sendall(first)
        answered = b""
        while not answered.endswith(b'{"status":"ok"}'):
            part = endless.recv(1000)
            assert part, answered
            answered += part
        endless.sendall(UNENDED_HEADERS)
        assert is_cut_off(endless)


@pytest.mark.proves("WEB-95")
@pytest.mark.parametrize("begin", [UNENDED_HEADERS, UNENDED_BODY])
def test_endless_requests_keep_no_person_out(server, monkeypatch, begin):
    monkeypatch.setattr(serving.LimitedConnection, "max_connections", 20)
    begin = begin.replace(b"PORT", str(server.port).encode())
    stream = Stream(server, server.token(scopes=("read",)))
    stream.next()
    with ExitStack() as stack:
        for _ in range(60):
            address = ("127.0.0.1", server.port)
            stack.enter_context(socket.create_connection(address, 10)).sendall(begin)
        assert httpx.get(f"{server.url}/login").status_code == 200
    server.ask("Still heard?")
    assert kinds(stream, 1) == ["ask.opened"]
    stream.close()


@pytest.mark.proves("WEB-95")
def test_connection_is_refused_when_all_others_are_served(server, monkeypatch):
    stream = Stream(server, server.token(scopes=("read",)))
    stream.next()
    monkeypatch.setattr(serving.LimitedConnection, "max_connections", 1)
    with socket.create_connection(("127.0.0.1", server.port), 10) as one_too_many:
        assert is_cut_off(one_too_many)
    stream.close()


@pytest.mark.proves("WEB-28")
def test_stopping_sends_streams_and_waits_home_at_once(server):
    token = server.token(scopes=("read",))
    stream, ask = Stream(server, token), server.ask("Still?")
    stream.next()
    waiting = socket.create_connection(("127.0.0.1", server.port), 10)
    waiting.sendall(
        f"GET /api/asks/{ask.id}/wait?seconds=60 HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n"
        f"Authorization: Bearer {token}\r\nConnection: close\r\n\r\n".encode()
    )
    eventually(lambda: ask.id in server._hub.waits)
    stopping = threading.Thread(target=server.stop)
    stopping.start()
    assert b'"status":"pending"' in waiting.makefile("rb").read()
    while stream.next():
        """Return the events before the end."""
    stopping.join(10)
    assert not stopping.is_alive()
    waiting.close()
    stream.close()


@pytest.mark.proves("SRV-55")
@pytest.mark.parametrize(
    ("more", "is_told"), [(set(), True), ({"run:1"}, True), ({"603a11"}, False)]
)
def test_wait_hears_before_events_are_sealed(monkeypatch, more, is_told):
    """Unless a token may have ended: then the wait looks at its token first."""
    store = MemoryStore()
    ask = create_ask.ask(store, Request("Go?"), Origin(), a_person()).ask
    hub = Hub(store)
    monkeypatch.setattr(store.audit, "entries", fail)
    changes = SimpleNamespace(changes=lambda: [frozenset({ask.id} | more)])
    loop = SimpleNamespace(call_soon_threadsafe=lambda do, *words: do(*words))
    with hub.waits.join(ask.id) as wait:
        with pytest.raises(StoreError):
            hub._publish(changes, loop)
        assert (wait.news is not None) is is_told


def fail(*_):
    raise StoreError("another process seals")
