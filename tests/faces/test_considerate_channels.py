"""Withdrawals, bundles and presence with real servers, desktops, hooks and pages."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from base64 import b64encode
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.support.event_stream import Stream
from tests.support.hook_session import Session
from tests.support.messages import a_letter
from tests.support.notified_home import Home, Server
from tests.support.people import a_person
from tests.support.programs import find_program
from tests.support.waiting import eventually
from tests.support.web_server import WebServer

from gatebell.adapters.channels.ntfy import NtfyChannel
from gatebell.app import environment, wiring
from gatebell.domain.asks.asks import Origin
from gatebell.domain.notifications.ntfy_topics import Topic, parse_topic
from gatebell.errors import DeliveryError
from gatebell.ports.channels import Withdrawal
from gatebell.services.asks import create_ask
from gatebell.services.asks.create_ask import Request
from gatebell.services.notifications import send_notices
from gatebell.testing import FakeClock

HOSTILE = "Why?\r\nBcc: thief@example.org\r\n\r\n<script> \x1b[2J\x00 \u202e --help"


@pytest.fixture
def server():
    made = Server()
    yield made
    made.close()


@pytest.fixture
def home(world, monkeypatch):
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    made = Home(world)
    yield made
    made.wait_for_sender()


def back(letter, rest=None, receipt=""):
    return Withdrawal(letter.id, receipt, letter._replace(kind="withdrawn"), rest)


@pytest.mark.proves("NTF-39", "NTF-42")
def test_ntfy_message_is_sent_and_deleted_again(home, server):
    address = f"ntfy://127.0.0.1:{server.port}/topic"
    home.write({"to": address}, first='url = "https://g.example"')
    ask_id = home.ask("Which database?", "--from", "coder", "--priority", "high")
    path, headers, body = server.take()
    told = json.loads(body)
    assert (path, told["topic"], told["title"]) == ("/", "topic", "Asked by coder (high)")
    assert (told["priority"], told["click"]) == (4, f"https://g.example/asks/{ask_id}")
    assert "authorization" not in headers and len(told["sequence_id"]) == 32
    assert home.gate("answer", ask_id, "sqlite").code == 0
    path, _, body = server.take()
    assert (path, body) == (f"/topic/{told['sequence_id']}", b"")
    assert server.methods == ["POST", "DELETE"]


@pytest.mark.proves("NTF-40", "NTF-14")
def test_killed_sender_repeats_a_bundle_with_its_id(home, server):
    server.hold.clear()
    home.write({"to": f"ntfy://127.0.0.1:{server.port}/topic"})
    for number in (1, 2):
        home.ask(f"Why {number}?", XDG_CONFIG_HOME="/nowhere")
    process = home.start("notify", "send")
    first = json.loads(server.take()[2])
    process.kill()
    process.communicate()
    server.hold.set()
    clock = FakeClock(datetime.now(UTC) + timedelta(seconds=30))
    store = wiring.open_store(home.path, clock)
    post = home.post(store)
    create_ask.ask(store, Request("Later?"), Origin(), a_person())
    send_notices.spread(store, post)
    clock.advance(31)
    while send_notices.send_next(store, post, post.routes[0]):
        pass
    assert json.loads(server.take()[2]) == first and first["title"] == "2 asks wait"
    assert len(server.requests) == 2, "the later ask waits for its own message"
    store.close()


@pytest.mark.proves("NTF-39", "NTF-42", "LAW-8")
def test_ntfy_gets_plain_words_and_a_shrunk_bundle(server):
    channel = NtfyChannel(Topic(server.url, "t", "ada", "pass"))
    letter = a_letter(HOSTILE, HOSTILE)
    channel.send(letter)
    _, headers, body = server.take()
    told = json.loads(body)
    assert (told["title"] + told["message"].replace("\n", "")).isprintable()
    assert set(told) == {"topic", "title", "message", "priority", "sequence_id", "click"}
    assert headers["authorization"] == "Basic " + b64encode(b"ada:pass").decode()
    channel.withdraw(back(letter, rest=letter._replace(title="1 ask waits")))
    told = json.loads(server.take()[2])
    assert (told["title"], told["sequence_id"]) == ("1 ask waits", letter.id)
    token = NtfyChannel(parse_topic(f"ntfy://tk_abc@127.0.0.1:{server.port}/t"))
    token.send(letter)
    assert server.take()[1]["authorization"] == "Bearer tk_abc"


@pytest.mark.proves("NTF-39", "NTF-42", "LAW-10")
def test_ntfy_errors_name_no_address(server):
    channel = NtfyChannel(Topic(server.url, "hunter2", "ada", "hunter2"), 0.3)
    server.answers = [403, 404, 405, 500]
    with pytest.raises(DeliveryError, match="the service answered 403"):
        channel.send(a_letter())
    channel.withdraw(back(a_letter()))
    channel.withdraw(back(a_letter()))
    with pytest.raises(DeliveryError, match="the service answered 500"):
        channel.withdraw(back(a_letter()))
    server.hold.clear()
    with pytest.raises(DeliveryError) as caught:
        channel.send(a_letter())
    assert str(caught.value) == "the service did not answer within 0.3 seconds"


@pytest.mark.proves("NTF-39", "NTF-35")
def test_command_hears_of_a_bundle_and_settled_asks(home, tmp_path):
    told = tmp_path / "told"
    rings = {"to": f"command: echo $GATE_KIND $GATE_ASK_IDS >> {told}", "withdrawn": "yes"}
    home.write(rings | {"after": "0"}, {"to": f"command: echo $GATE_KIND >> {told}.other"})
    asks = [home.ask(f"Why {n}?", XDG_CONFIG_HOME="/nowhere") for n in (1, 2)]
    assert "(after 0)" in home.gate("notify").out
    assert home.gate("notify", "send").code == 0
    kind, *ids = told.read_text().split()
    assert (kind, set(ids)) == ("bundle", set(asks))
    assert home.gate("answer", asks[0], "so").code == 0
    eventually(lambda: told.read_text().endswith(f"\nwithdrawn {asks[0]}\n"))
    home.wait_for_sender()
    assert Path(f"{told}.other").read_text() == "bundle\n", "it did not want to hear of it"


_DESKTOP = """
Xvfb -displayfd 3 -screen 0 640x480x24 3>screen >/dev/null 2>&1 & screen=$!
until test -s screen; do sleep 0.05; done
export DISPLAY=:$(cat screen)
dunst -print >dunst.log 2>/dev/null & desktop=$!
until dbus-send --session --print-reply --dest=org.freedesktop.DBus / \\
  org.freedesktop.DBus.NameHasOwner string:org.freedesktop.Notifications | grep -q true
do sleep 0.05; done
dbus-monitor --session "type='signal',member='NotificationClosed'" >closed.log & monitor=$!
until grep -q NameAcquired closed.log; do sleep 0.05; done
"$@"
ended=$?
until grep -q NotificationClosed closed.log || test $ended != 0; do sleep 0.05; done
kill $desktop $screen $monitor
exit $ended
"""
_SHOW_AND_CLOSE = """
from gatebell.adapters.channels.desktop import DesktopChannel
from gatebell.ports.channels import Withdrawal
from tests.support.messages import a_letter
letter = a_letter()
channel = DesktopChannel()
first, second = channel.send(letter), channel.send(a_letter("And why?"))
assert first != second and first.rpartition(" ")[0] == second.rpartition(" ")[0], (first, second)
channel.withdraw(Withdrawal(letter.id, "elsewhere " + first.rpartition(" ")[2], letter, None))
channel.withdraw(Withdrawal(letter.id, first, letter, letter))
channel.withdraw(Withdrawal(letter.id, "", letter, None))
channel.withdraw(Withdrawal(letter.id, second, letter, None))
print(second.rpartition(" ")[2])
"""


@pytest.mark.proves("NTF-39")
def test_real_desktop_closes_only_the_settled_notification(tmp_path):
    for program in ("dbus-run-session", "dunst", "notify-send", "Xvfb", "gdbus", "dbus-monitor"):
        find_program(program, "no real desktop was tried")
    words = ["dbus-run-session", "--", "bash", "-c", _DESKTOP, "_"]
    environ = os.environ | {"HOME": str(tmp_path), "PYTHONPATH": str(Path(__file__).parents[2])}
    ran = subprocess.run(
        [*words, sys.executable, "-c", _SHOW_AND_CLOSE],
        cwd=tmp_path, env=environ, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    by_call = re.findall(r"uint32 (\d+)\n\s+uint32 3\n", (tmp_path / "closed.log").read_text())
    assert by_call == [ran.stdout.strip()]


@pytest.mark.proves("NTF-39")
def test_old_notify_send_is_used_without_a_number(tmp_path, monkeypatch):
    from gatebell.adapters.channels.desktop import DesktopChannel

    for name, script in (
        ("gdbus", "echo x"),
        ("notify-send", f"case $1 in --print-id) echo Unknown option >&2; exit 1;; esac; echo $1 > {tmp_path}/told"),
    ):  # fmt: skip
        (tmp_path / name).write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    assert DesktopChannel("linux").send(a_letter()) == ""
    assert (tmp_path / "told").read_text() == "--app-name=gatebell\n"


@pytest.mark.proves("NTF-41")
@pytest.mark.parametrize(
    ("event", "environ", "is_here"),
    [
        ("UserPromptSubmit", {}, True),
        ("UserPromptSubmit", {"CLAUDE_CODE_SESSION_ATTENDED": "0"}, False),
        ("UserPromptSubmit", {"GATE_TURN": "t-1"}, False),
        ("Stop", {}, False),
    ],
)
def test_typed_prompt_shows_that_a_person_is_here(world, event, environ, is_here):
    session = Session(world)
    world.plain.environ.update(environ)
    assert session.hook(session.event(event)) == (0, "", "")
    seen = world.store.presence.last_seen(environment.user_name())
    assert (seen is not None) is is_here


@pytest.mark.proves("NTF-41")
@pytest.mark.parametrize("fields", [{"agent_id": "a1"}, {"prompt": "<task-notification>\n"}])
def test_prompt_about_a_sub_agent_was_not_typed(world, fields):
    session = Session(world)
    assert session.hook(session.event("UserPromptSubmit", **fields)) == (0, "", "")
    assert world.store.presence.last_seen(environment.user_name()) is None


@pytest.fixture
def site(tmp_path):
    made = WebServer(tmp_path).start()
    yield made
    made.close()


@pytest.mark.proves("NTF-41", "NTF-38")
def test_visible_page_shows_that_its_person_is_here(site):
    program = Stream(site, site.token("bob"))
    page = Stream(site, cookie=site.login("ada"))
    assert program.status == page.status == 200
    eventually(lambda: site.store.presence.last_seen("ada"))
    assert site.store.presence.last_seen("bob") is None, "a program listens"
    page.close()
    program.close()
