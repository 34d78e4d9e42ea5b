"""A program that answers in place of a server of gatebell: it gets no more than an error."""

from __future__ import annotations

import json
import socket
import threading
from contextlib import suppress

import pytest

from gatebell.adapters.remote.backend import RemoteBackend
from gatebell.cli.main import main
from gatebell.errors import GateError

ESCAPES = "\x1b]0;title\x07\x1b[2J\u202eevil"
HEAD = b"HTTP/1.1 200 OK\r\nconnection: close\r\n"


def _say(text, status=b"200 OK"):
    body = text.encode()
    return b"HTTP/1.1 %s\r\nconnection: close\r\ncontent-length: %d\r\n\r\n%s" % (
        status,
        len(body),
        body,
    )


REPLIES = {
    "an object of its own": _say("{}"),
    "a number": _say("1"),
    "a list of numbers": _say("[1]"),
    "lists in one another": _say("[" * 100_000),
    "an error of lists in one another": _say("[" * 100_000, b"403 No"),
    "a length that begins with zeros": HEAD + b"content-length: 000000000000999999999999\r\n\r\n",
    "a length of many digits": HEAD + b"content-length: " + b"9" * 5000 + b"\r\n\r\n",
    "a part of negative length": HEAD + b"transfer-encoding: chunked\r\n\r\n-1\r\n{}\r\n0\r\n\r\n",
    "headers without an end": HEAD + b"x: y\r\n" * 20_000,
    "another address": b"HTTP/1.1 302 Found\r\nconnection: close\r\nlocation: http://127.0.0.1:1/\r\n\r\n",
    "no HTTP": b"\x1b[2J 200\r\nconnection: close\r\n\r\n",
}


@pytest.fixture
def impostor():
    """Return a function that starts a server with one reply, and gives its address."""
    sockets = []

    def start(reply):
        listening = socket.create_server(("127.0.0.1", 0))
        sockets.append(listening)

        def serve():
            with suppress(OSError):
                while True:
                    with listening.accept()[0] as stream, suppress(OSError):
                        stream.recv(65_536)
                        stream.sendall(reply)

        threading.Thread(target=serve, daemon=True).start()
        return f"http://127.0.0.1:{listening.getsockname()[1]}"

    yield start
    for one in sockets:
        one.shutdown(socket.SHUT_RDWR)
        one.close()


@pytest.mark.proves("REMOTE-22")
@pytest.mark.parametrize("about", REPLIES, ids=lambda about: about.replace(" ", "-"))
def test_odd_reply_is_an_error(impostor, tmp_path, about):
    backend = RemoteBackend(impostor(REPLIES[about]), "gate_x", "", str(tmp_path))
    for verb in (
        *(backend.me, lambda: backend.pending(9), lambda: backend.get("a-1")),
        *(lambda: backend.runs(9), lambda: backend.run(1), backend.has_worker),
        *(lambda: backend.task("tm-1"), lambda: backend.look_up_task("tm-1")),
        *(lambda: backend.tasks("/p", "all", 9), lambda: backend.asks_of_task("tm-1")),
        lambda: backend.task_events("", "/p", "", None, 9),
    ):
        with pytest.raises(GateError):
            verb()


@pytest.mark.proves("REMOTE-22", "LAW-8")
def test_words_of_a_server_are_inert(impostor, tmp_path, monkeypatch, capsys):
    me = {"person": ESCAPES, "scopes": [ESCAPES], "token_id": "", "may_approve": False}
    (tmp_path / "token").write_text("gate_x")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("GATE_TOKEN", "gate_x")
    monkeypatch.delenv("GATE_STORE", raising=False)
    for reply in (_say(json.dumps(me)), _say(json.dumps({"detail": ESCAPES}), b"403 No")):
        monkeypatch.setenv("GATE_SERVER", address := impostor(reply))
        main(["login", address, "--token-file", str(tmp_path / "token")])
        main(["doctor"])
        said = "".join(capsys.readouterr())
        assert "evil" in said and "\x1b" not in said and "\u202e" not in said


@pytest.mark.proves("REMOTE-22")
def test_length_with_leading_zeros_is_read_whole(impostor, tmp_path):
    address = impostor(REPLIES["a length that begins with zeros"])
    with pytest.raises(GateError, match="too long"):
        RemoteBackend(address, "gate_x", "", str(tmp_path)).me()
