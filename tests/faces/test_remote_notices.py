"""What commands say on stderr while their server is slow or away."""

from __future__ import annotations

import io
import json
from contextlib import nullcontext, redirect_stderr

import pytest
from tests.support.cutting_proxy import CuttingProxy
from tests.support.people import a_person
from tests.support.server_world import server_world

from gatebell.adapters.remote.backend import RemoteBackend
from gatebell.cli import status_line
from gatebell.cli.server_notices import ServerNotices
from gatebell.domain.asks.answers import Given
from gatebell.errors import ServerError

__all__ = ["server_world"]


@pytest.mark.proves("REMOTE-67")
@pytest.mark.parametrize("name", ["", "tidy"])
def test_ask_tells_once_that_its_server_is_away(server_world, name):
    proxy = CuttingProxy(server_world.web.port, before=["POST"])
    agent = server_world.shell("agent", GATE_SERVER=proxy.url, GATE_HIL_NAME=name)
    asking = agent.start("ask", "Away?", "--no-wait", "--json")
    first = asking.stderr.readline()
    proxy.before = ()
    out, err = asking.communicate(timeout=60)
    begin = f"[HIL:{name}]" if name else "gate:"
    assert first.startswith(f"{begin} the server {proxy.url} cannot be reached (")
    assert first.endswith("; trying again\n")
    assert err == f"{begin} the server {proxy.url} is back\n"
    assert json.loads(out)["prompt"] == "Away?"
    proxy.close()


@pytest.mark.proves("REMOTE-67")
@pytest.mark.parametrize("verb", ["wait", "answer"])
def test_other_verbs_tell_of_it_too(server_world, verb):
    ask_id = server_world.ask(f"Which {verb}?")
    proxy = CuttingProxy(server_world.web.port, before=["GET /api/asks", "POST"])
    heard = []

    class Watcher:
        def watch_request(self):
            return nullcontext()

        def note_failure(self, error):
            heard.append(str(error))
            proxy.before = ()

        def note_reply(self):
            heard.append("reply")

    token = server_world.tokens["ada" if verb == "answer" else "agent"]
    backend = RemoteBackend(proxy.url, token, "", "")
    backend.watch(Watcher())
    if verb == "wait":
        assert server_world.ada.gate("answer", ask_id, "this").code == 0
        list(backend.follow(ask_id, 30))
    else:
        backend.answer(ask_id, a_person("ada", verified=True), Given("this"))
    backend.close()
    assert len(heard) == 2 and "cannot be reached" in heard[0] and heard[1] == "reply"
    proxy.close()


@pytest.mark.proves("REMOTE-67")
def test_short_outage_prints_nothing():
    err = io.StringIO()
    with redirect_stderr(err):
        notices = ServerNotices("https://gate.example.org")
        notices.note_failure(ServerError("it is away"))
        notices.note_reply()
    assert err.getvalue() == ""


@pytest.mark.proves("REMOTE-67", "LAW-8")
def test_words_of_server_are_inert(monkeypatch):
    monkeypatch.setattr("gatebell.cli.server_notices._QUIET_SECONDS", 0)
    err = io.StringIO()
    with redirect_stderr(err):
        ServerNotices("https://gate.example.org").note_failure(ServerError("\x1b[2Jall\nis well"))
    assert err.getvalue().count("\n") == 1 and "\x1b" not in err.getvalue()


@pytest.mark.proves("REMOTE-67")
def test_slow_response_is_shown_and_a_wait_is_not(server_world, monkeypatch):
    shown = []
    monkeypatch.setattr(
        status_line, "show_progress", lambda text: shown.append(text) or nullcontext()
    )
    terminal = io.StringIO()
    terminal.isatty = lambda: True
    ask_id = server_world.ask("Slow?")
    backend = RemoteBackend(server_world.web.url, server_world.tokens["agent"], "", "")
    backend.watch(ServerNotices(server_world.web.url))
    with redirect_stderr(terminal):
        backend.get(ask_id)
        assert shown == [f"Waiting for {server_world.web.url}"]
        backend.wait_once(ask_id, 0)
    backend.close()
    assert len(shown) == 1
