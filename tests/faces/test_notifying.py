"""Notifications over real routes to servers on this machine.

One test uses a real desktop. The others use programs on PATH that record their arguments, in
place of notify-send and osascript, which need a session bus and a Mac.
"""

from __future__ import annotations

import email
import email.policy
import io
import json
import logging
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import closing, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.request import build_opener

import pytest
from aiosmtpd.controller import Controller
from bench.hot import SLOW_MODULES
from standardwebhooks.webhooks import Webhook
from tests.support.locks import look_at
from tests.support.messages import a_letter
from tests.support.notified_home import PATIENCE_SECONDS, Home, Server
from tests.support.people import a_person
from tests.support.programs import find_program
from tests.support.waiting import eventually

from gatebell.adapters.channels.apprise import AppriseChannel
from gatebell.adapters.channels.command import CommandChannel
from gatebell.adapters.channels.desktop import DesktopChannel
from gatebell.adapters.channels.webhook import WebhookChannel
from gatebell.adapters.system import file_locks, notifier_process, short_requests
from gatebell.app import locks, wiring
from gatebell.domain.asks.asks import Origin
from gatebell.domain.enums import Priority
from gatebell.domain.notifications.routes import Route
from gatebell.errors import DeliveryError
from gatebell.services.asks import create_ask
from gatebell.services.asks.create_ask import Request
from gatebell.services.notifications import send_notices
from gatebell.services.notifications.send_notices import Sender
from gatebell.testing import FakeClock

# Apprise imports modules that this Python has deprecated.
pytestmark = pytest.mark.filterwarnings("ignore:'imghdr' is deprecated")

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
HOSTILE = [
    "Why?\r\nBcc: thief@example.org\r\n\r\n<script>",
    "--help",
    "-e 'do shell script'",
    "<b>&amp;</b> \x1b[2J\x00 \u202e $(touch /tmp/x) `id`",
]


@pytest.fixture
def server():
    made = Server()
    yield made
    made.close()


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch):
    monkeypatch.setenv("no_proxy", "127.0.0.1")


@pytest.fixture
def home(world):
    made = Home(world)
    yield made
    made.wait_for_sender()


def now():
    return datetime.now(UTC)


@pytest.mark.proves("NTF-13", "NTF-17", "NTF-7")
def test_ask_sends_a_signed_event_and_the_sender_ends(home, server):
    home.write(
        {"to": f"webhook: {server.url}/in", "secret": SECRET}, first='url = "https://g.example"'
    )
    ask_id = home.ask("Deploy?", "--kind", "approval", "--context", "-", "--from", "coder")
    path, headers, body = server.take()
    event = Webhook(SECRET).verify(body, headers)
    assert path == "/in" and event["type"] == "ask.opened"
    data = event["data"]
    assert (data["id"], data["prompt"], data["agent"]) == (ask_id, "Deploy?", "coder")
    assert data["link"] == f"https://g.example/asks/{ask_id}"
    assert not {"context", "activity", "value", "call", "note"} & set(data)
    home.wait_for_sender()
    assert len(server.requests) == 1
    home.gate("cancel", ask_id)
    _, again, body = server.take()
    assert Webhook(SECRET).verify(body, again)["type"] == "ask.settled"
    assert again["webhook-id"] != headers["webhook-id"]


@pytest.mark.proves("NTF-17")
@pytest.mark.parametrize("status", [302, 404, 500])
def test_webhook_that_answers_otherwise_has_not_taken_the_event(server, status):
    server.answers = [status]
    with pytest.raises(DeliveryError, match=f"answered {status}"):
        WebhookChannel(f"{server.url}/in", "", now).send(a_letter())
    assert [path for path, _, _ in server.requests] == ["/in"], "it was led elsewhere"
    assert "webhook-signature" not in server.requests[0][1]


def hang_up(listening):
    listening.accept()[0].close()


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.mark.proves("NTF-17")
def test_unreachable_or_hanging_webhook_is_an_error(server):
    with pytest.raises(DeliveryError, match=r"cannot be reached: Connection refused"):
        WebhookChannel(f"http://127.0.0.1:{free_port()}/k3y", "", now).send(a_letter())
    server.hold.clear()
    began = time.monotonic()
    with pytest.raises(DeliveryError, match=r"did not answer within 0\.2 seconds"):
        WebhookChannel(server.url, "", now, 0.2).send(a_letter())
    assert time.monotonic() - began < 10
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        reset = threading.Thread(target=hang_up, args=(deaf,))
        reset.start()
        with pytest.raises(DeliveryError, match="webhook"):
            WebhookChannel(f"http://127.0.0.1:{deaf.getsockname()[1]}", "", now).send(a_letter())
        reset.join()


class Dripping:
    """A server whose answer does not end: it begins well, then sends byte after byte."""

    def __init__(self, beginning):
        self.arrived, self.let_go = threading.Event(), threading.Event()
        self._ended = threading.Event()
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = self._listening.getsockname()[1]
        threading.Thread(target=self._accept, args=(beginning,), daemon=True).start()

    def _accept(self, beginning):
        with suppress(OSError):
            while True:
                connection, _ = self._listening.accept()
                args = (connection, beginning)
                threading.Thread(target=self._drip, args=args, daemon=True).start()

    def _drip(self, connection, beginning):
        with connection, suppress(OSError):
            connection.recv(65536)
            self.arrived.set()
            connection.sendall(beginning)
            until = time.monotonic() + PATIENCE_SECONDS
            while not self._ended.wait(0.05) and time.monotonic() < until:
                connection.sendall(b"a")
        self.let_go.set()

    def close(self):
        self._ended.set()
        self._listening.close()


ENDLESS_HEADER = b"HTTP/1.1 200 OK\r\nX: "
ENDLESS_HANDSHAKE = b"\x16\x03\x03\x40\x00\x02\x00\x3f\xfc"


@pytest.fixture
def dripping(request):
    made = Dripping(getattr(request, "param", ENDLESS_HEADER))
    yield made
    made.close()


@pytest.mark.proves("NTF-24")
def test_endless_webhook_is_cut_off(dripping):
    began = time.monotonic()
    with pytest.raises(DeliveryError, match=r"did not answer within 0\.5 seconds"):
        WebhookChannel(f"http://127.0.0.1:{dripping.port}/", "", now, 0.5).send(a_letter())
    assert time.monotonic() - began < 20
    assert dripping.let_go.wait(PATIENCE_SECONDS), "somebody still listens to it"


@pytest.mark.proves("NTF-24")
@pytest.mark.parametrize("dripping", [ENDLESS_HANDSHAKE], indirect=True)
def test_connection_behind_tls_can_be_cut_off(dripping):
    line = short_requests.CuttableHandler()

    def listen():
        with suppress(OSError):
            build_opener(line).open(f"https://127.0.0.1:{dripping.port}/", timeout=60)

    listening = threading.Thread(target=listen, daemon=True)
    listening.start()
    assert dripping.arrived.wait(PATIENCE_SECONDS)
    line.cut()
    listening.join(PATIENCE_SECONDS)
    assert not listening.is_alive()


@pytest.mark.proves("NTF-24")
def test_late_connection_is_cut_off_at_once(server, monkeypatch):
    connect = socket.create_connection

    def late(*args, **more):
        threading.Event().wait(0.3)
        return connect(*args, **more)

    monkeypatch.setattr(socket, "create_connection", late)
    server.hold.clear()
    with pytest.raises(DeliveryError, match="did not answer"):
        WebhookChannel(server.url, "", now, 0.1).send(a_letter())
    assert server.requests == []


@pytest.mark.proves("NTF-24")
@pytest.mark.parametrize("scheme", ["webhook: http", "json"])
def test_endless_route_keeps_no_process_from_ending(tmp_path, dripping, scheme):
    # Apprise loads all its plugins at the first address, which may take seconds.
    code = (
        "import sys, apprise; apprise.Apprise().add('json://127.0.0.1'); from gatebell.app import wiring; from gatebell.domain.notifications.routes import parse_route; "
        "from gatebell.services.notifications import send_notices as notifying, use_channel as using; using._SENDS_WITHIN_SECONDS = 3; store = "
        "wiring.open_throwaway_store(sys.argv[1]); road = parse_route({'to': sys.argv[2]}, ''); "
        "print(notifying.send_test(store, wiring.post(store), [road])[0].problem)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "gate.db"), f"{scheme}://127.0.0.1:{dripping.port}/"],
        capture_output=True, text=True, check=False, timeout=30,
    )  # fmt: skip
    assert dripping.arrived.is_set()
    assert ran.stdout == "it took longer than 3 seconds\n", ran.stderr


@pytest.mark.proves("NTF-24")
def test_route_that_is_sending_does_not_delay_gate_up(home, dripping):
    home.write(
        {"to": f"webhook: http://127.0.0.1:{dripping.port}/"},
        {"to": f"json://127.0.0.1:{dripping.port}/"},
    )
    up = home.start("up", "--port=0")
    up.stdout.readline()
    home.ask("Deploy?")
    assert dripping.arrived.wait(PATIENCE_SECONDS)
    began = time.monotonic()
    assert home.gate("down").code == 0
    assert up.wait(PATIENCE_SECONDS) == 0 and time.monotonic() - began < 10
    up.communicate()


@pytest.mark.proves("NTF-18")
def test_apprise_reaches_ntfy_and_other_servers(home, server):
    home.write(
        {"to": f"ntfy://127.0.0.1:{server.port}/topic"}, {"to": f"json://127.0.0.1:{server.port}/j"}
    )
    ask_id = home.ask("Which database?", "--from", "coder")
    for _ in range(2):
        server.take()
    bodies = {path: json.loads(body) for path, _, body in server.requests}
    assert sorted(bodies) == ["/", "/j"]
    assert bodies["/"]["topic"] == "topic" and bodies["/"]["title"] == "Asked by coder"
    assert bodies["/j"]["message"].splitlines() == ["Which database?", f"{ask_id} · text · project"]


@pytest.mark.proves("NTF-18", "LAW-8")
@pytest.mark.parametrize("hostile", HOSTILE)
def test_hostile_words_reach_ntfy_as_words(server, hostile):
    AppriseChannel(f"ntfy://127.0.0.1:{server.port}/topic").send(a_letter(hostile, hostile))
    _, headers, body = server.take()
    told = json.loads(body)
    assert "bcc" not in headers and set(told) <= {
        "topic",
        "title",
        "message",
        "markdown",
        "priority",
        "tags",
    }
    assert (told["title"] + told["message"].replace("\n", "")).isprintable()


class Mailbox:
    """A mail server, which can be set to refuse mail."""

    def __init__(self):
        self.mails = []
        self.answer = "250 OK"

    async def handle_DATA(self, _, __, envelope):  # noqa: N802 - aiosmtpd's name
        self.mails.append(envelope)
        return self.answer


@pytest.fixture
def smtp():
    made = Controller(Mailbox(), "127.0.0.1", free_port())
    made.start()
    yield made
    made.stop()


@pytest.mark.proves("NTF-18", "LAW-8")
@pytest.mark.parametrize("hostile", HOSTILE)
def test_mail_has_one_recipient_and_no_markup_of_agents(smtp, hostile):
    url = f"mailto://127.0.0.1:{smtp.port}?from=gate@example.org&to=ada@example.org"
    AppriseChannel(url).send(a_letter(hostile, hostile))
    (envelope,) = smtp.handler.mails
    assert envelope.rcpt_tos == ["ada@example.org"]
    mail = email.message_from_bytes(envelope.content, policy=email.policy.default)
    assert mail["bcc"] is None and mail["subject"].startswith("Asked by ")
    html = [part.get_content() for part in mail.walk() if part.get_content_type() == "text/html"]
    assert not any("<script" in text or "<b>&amp;" in text for text in html)
    assert "https://gate.example.org/asks/a-222" in mail.get_body(("plain", "html")).get_content()


@pytest.mark.proves("NTF-18", "NTF-2", "LAW-10")
def test_apprise_error_is_reported_without_the_address(server, smtp, monkeypatch, request):
    smtp.handler.answer = "550 nobody of that name"
    log = logging.StreamHandler(io.StringIO())
    logging.getLogger().addHandler(log)
    request.addfinalizer(lambda: logging.getLogger().removeHandler(log))
    address = f"127.0.0.1:{server.port}"
    server.answers = [403]
    server.hold.set()
    for url, sentence in (
        (f"ntfy://ada:hunter2@{address}/topic", "the service answered 403"),
        (f"json://ada:hunter2@127.0.0.1:{free_port()}/", "cannot be reached"),
        ("nosuchservice://hunter2", "does not understand this address"),
        (f"mailto://127.0.0.1:{smtp.port}?from=g@example.org&to=hunter2@example.org", "Apprise could not send the message"),
    ):  # fmt: skip
        with pytest.raises(DeliveryError, match=sentence) as caught:
            AppriseChannel(url).send(a_letter())
        assert "hunter2" not in str(caught.value)
    assert log.stream.getvalue() == ""
    server.hold.clear()
    with pytest.raises(DeliveryError):
        AppriseChannel(f"json://{address}/?rto=0.2").send(a_letter())
    monkeypatch.setitem(sys.modules, "apprise", None)
    with pytest.raises(DeliveryError, match=r"pip install 'gatebell\[notify\]'"):
        AppriseChannel("json://x").send(a_letter())


@pytest.mark.proves("NTF-19")
def test_command_gets_variables_and_stdin_and_never_arguments(home, world):
    home.write({"to": "command: cat > told.json; env > told.env; pwd > told.folder; "
                      "tr '\\0' '\\n' < /proc/$$/cmdline > told.words"})  # fmt: skip
    prompt = 'Deploy "$(id)" `id`; rm -rf?'
    ask_id = home.ask(prompt, "--priority", "high")
    folder = Path(world.plain.environ["HOME"])
    eventually((folder / "told.words").exists)
    home.wait_for_sender()
    told = json.loads((folder / "told.json").read_text())
    environ = (folder / "told.env").read_text()
    assert told["ask_id"] == ask_id and told["body"].startswith(prompt) and told["kind"] == "opened"
    for line in (f"GATE_ASK_ID={ask_id}", f"GATE_BODY={prompt}", "GATE_KIND=opened", "GATE_LINK=",
                 "GATE_PRIORITY=high", f"GATE_NOTICE_ID={told['id']}", f"GATE_TITLE={told['title']}"):  # fmt: skip
        assert f"\n{line}\n" in f"\n{environ}"
    assert "Deploy" not in (folder / "told.words").read_text()
    assert (folder / "told.folder").read_text().strip() == str(folder)


@pytest.mark.proves("NTF-19")
def test_command_gets_no_login_secrets(tmp_path, monkeypatch):
    monkeypatch.setenv("GATE_TOKEN", "a token")
    CommandChannel(f"env > {tmp_path}/told").send(a_letter())
    told = (tmp_path / "told").read_text()
    assert "GATE_TITLE=Asked by coder\n" in told and "a token" not in told


@pytest.mark.proves("NTF-19")
def test_failing_or_hanging_command_is_reported_and_leaves_nothing(tmp_path):
    with pytest.raises(DeliveryError, match="exit code 3"):
        CommandChannel("exit 3").send(a_letter())
    pid = tmp_path / "pid"
    with pytest.raises(DeliveryError, match=r"ended after 0\.5 seconds"):
        CommandChannel(f"sleep 60 & echo $! > {pid}; wait", 0.5).send(a_letter())
    state = Path(f"/proc/{pid.read_text().strip()}/stat")
    eventually(lambda: not state.exists() or " Z " in state.read_text())


def fake_program(folder, name, ending="exit 0"):
    program = folder / name
    program.write_text(f"#!/bin/sh\nprintf '%s\\0' \"$@\" > {folder}/called\n{ending}\n")
    program.chmod(0o755)


@pytest.mark.proves("NTF-20", "LAW-8")
@pytest.mark.parametrize("hostile", HOSTILE)
@pytest.mark.parametrize(
    ("platform", "program"), [("linux", "notify-send"), ("darwin", "osascript")]
)
def test_desktop_shows_text_as_plain_words(tmp_path, monkeypatch, hostile, platform, program):
    fake_program(tmp_path, program)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    letter = a_letter(hostile, hostile, priority=0)
    DesktopChannel(platform).send(letter)
    words = (tmp_path / "called").read_text().split("\0")[:-1]
    assert words[-3] == "--" and words[-2] == letter.title
    if platform == "linux":
        assert "--urgency=critical" in words and "<" not in words[-1]
        assert (
            words[-1]
            .replace("&lt;", "<")
            .replace("&gt;", ">")
            .replace("&amp;", "&")
            .startswith(letter.body)
        )
    else:
        assert words[-1].startswith(letter.body) and words[0] == "-e"


@pytest.mark.proves("NTF-20")
def test_missing_desktop_is_named_in_the_error(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    letter = a_letter()._replace(link="", priority=Priority.LOW)
    with pytest.raises(DeliveryError, match="notify-send is not installed"):
        DesktopChannel("linux").send(letter)
    fake_program(tmp_path, "notify-send", "exit 1")
    with pytest.raises(DeliveryError, match="exit code 1: is there a desktop"):
        DesktopChannel("linux").send(letter)
    fake_program(tmp_path, "notify-send", "exec /bin/sleep 60")
    with pytest.raises(DeliveryError, match="took too long"):
        DesktopChannel("linux", 0.3).send(letter)


def ids(server):
    return {headers["webhook-id"] for _, headers, _ in server.requests}


def held_by_a_sender(home, server):
    """Start a sender that is sending: the server has the request and does not answer."""
    server.hold.clear()
    home.write({"to": f"webhook: {server.url}/in"})
    # Asked without routes, so that no other sender starts.
    home.ask("Deploy?", XDG_CONFIG_HOME="/nowhere")
    process = home.start("notify", "send")
    server.take()
    return process


@pytest.mark.proves("NTF-14", "NTF-11")
def test_killed_send_is_repeated_with_the_same_id(home, server):
    process = held_by_a_sender(home, server)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    server.hold.set()
    clock = FakeClock(datetime.now(UTC) + timedelta(seconds=30))
    store = wiring.open_store(home.path, clock)
    post = home.post(store)
    assert not send_notices.send_next(store, post, post.routes[0]), "it is still claimed"
    clock.advance(31)
    assert send_notices.send_next(store, post, post.routes[0])
    for _ in range(5):
        clock.advance(3600)
        assert not send_notices.send_next(store, post, post.routes[0])
    assert len(server.requests) == 2
    assert len(ids(server)) == 1
    store.close()


@pytest.mark.proves("NTF-14", "NTF-16")
def test_first_sender_sends_events_of_a_second_one(home, server):
    first = held_by_a_sender(home, server)
    second = home.gate("notify", "send", "--json")
    assert json.loads(second.out) == {"worked": False, "retried": 0}
    assert "Another process is sending now" in home.gate("notify", "send").out
    home.ask("And why?")
    server.hold.set()
    server.take()
    assert first.communicate(timeout=PATIENCE_SECONDS)[0].startswith("Done. To list messages")
    assert len(ids(server)) == len(server.requests) == 2


@pytest.mark.proves("NTF-14", "NTF-16")
def test_two_senders_send_everything_once(home, server):
    home.write({"to": f"webhook: {server.url}/in"}, {"to": f"webhook: {server.url}/two"})
    store = wiring.open_store(home.path)
    for number in range(10):
        create_ask.ask(store, Request(f"Question {number}?"), Origin(), a_person())
    sender = Sender(store, home.post(store))
    other = home.start("notify", "send")
    sender.start()
    for _ in range(20):
        server.take()
    assert other.wait(PATIENCE_SECONDS) == 0
    other.communicate()
    sender.stop()
    store.close()
    assert len(ids(server)) == len(server.requests) == 20


@pytest.mark.proves("NTF-13")
def test_only_gate_up_sends_while_it_lives(home, server, monkeypatch):
    home.write({"to": f"webhook: {server.url}/in"})
    home.ask("Before?", XDG_CONFIG_HOME="/nowhere")
    up = locks.hold(locks.up_lock_path(home.path))
    home.ask("First?")
    starter = notifier_process.Starter(home.path)
    monkeypatch.setattr(starter, "_spawn", lambda: pytest.fail("it sends, too"))
    starter()
    locks.release(up)
    home.ask("Second?")
    for _ in range(3):
        server.take()


@pytest.mark.proves("NTF-13")
def test_inspecting_a_lock_does_not_block_taking_it(tmp_path, monkeypatch):
    path = str(tmp_path / "lock")
    looking = look_at(path)
    monkeypatch.setattr(file_locks.time, "sleep", lambda _: locks.release(looking))
    held = locks.hold(path)
    assert held is not None and locks.is_held(path)
    monkeypatch.setattr(file_locks.time, "sleep", lambda _: None)
    assert locks.hold(path) is None
    locks.release(held)
    assert not locks.is_held(path)


@pytest.mark.proves("NTF-27")
def test_two_lock_inspections_do_not_count_as_holders(tmp_path):
    path = str(tmp_path / "lock")
    looking = look_at(path)
    assert not locks.is_held(path)
    locks.release(looking)


@pytest.mark.proves("NTF-13")
def test_sender_inherits_nothing_from_its_starter(home, server, monkeypatch):
    server.hold.clear()
    home.write({"to": f"webhook: {server.url}/in"})
    home.ask("Deploy?", XDG_CONFIG_HOME="/nowhere")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home.file.parent.parent))
    starter = notifier_process.Starter(home.path)
    reading, writing = os.pipe()
    os.set_inheritable(writing, True)
    starter()
    os.close(writing)
    server.take()
    assert locks.is_held(locks.lock_path(home.path))
    assert select.select([reading], [], [], 2)[0], "the sender would keep a host waiting"
    os.close(reading)
    (child,) = starter._children
    assert os.getsid(child) == child
    starter()
    assert starter._children == [child], "there is one already"
    server.hold.set()
    home.wait_for_sender()
    eventually(lambda: starter._reap() or not starter._children)


@pytest.mark.proves("NTF-6", "NTF-21", "LAW-10")
def test_failed_notifications_are_shown_and_can_be_resent(home, server):
    server.answers = [500] * 6
    home.write({"to": f"webhook: {server.url}/in?key=hunter2"})
    ask_id = home.ask("Deploy?", XDG_CONFIG_HOME="/nowhere")
    clock = FakeClock(datetime.now(UTC))
    store = wiring.open_store(home.path, clock)
    post = home.post(store)
    send_notices.spread(store, post)
    assert not send_notices.send_next(store, post, post.routes[0])
    assert "again at" in home.gate("notify").out
    assert "open" in home.gate("doctor").out
    for seconds in (10, 60, 300, 1800, 7200):
        clock.advance(seconds)
        assert not send_notices.send_next(store, post, post.routes[0])
    store.close()
    assert len(server.requests) == 6
    doctor, listed = home.gate("doctor"), home.gate("notify")
    assert doctor.code == 1 and "gate notify send --again" in doctor.out
    assert f"notification not sent: opened {ask_id} by" in doctor.out
    for out in (doctor.out, listed.out):
        assert f"opened {ask_id} by webhook http://127.0.0.1" in out
        assert "the webhook answered 500, not 2xx (tried 6 times, given up)" in out
    assert (
        "Repair the route (gate notify test tries it), then: gate notify send --again" in listed.out
    )
    shown = json.loads(home.gate("notify", "--json").out)
    assert shown["problems"][0]["route"] == shown["routes"][0]["name"]
    assert shown["problems"][0]["given_up_at"] and shown["problems"][0]["again_at"] is None
    for kept in [
        doctor.out,
        listed.out,
        json.dumps(shown),
        *map(str, Path(home.path).parent.iterdir()),
    ]:
        assert "hunter2" not in kept
    assert b"hunter2" not in b"".join(
        path.read_bytes() for path in Path(home.path).parent.iterdir()
    )
    assert home.gate("notify", "send", "--again").code == 0
    assert len(server.requests) == 7 and home.gate("doctor").code == 0
    assert len(ids(server)) == 1


@pytest.mark.proves("NTF-36", "LAW-10")
def test_without_routes_it_says_how_notifications_are_turned_on(home):
    assert home.gate("notify").out.splitlines() == [
        "Notifications are off: no route is set up.",
        f"To turn them on, write these two lines into {home.file}:",
        "",
        "    [[notify]]",
        '    to = "desktop"',
        "",
        "Then try it: gate notify test",
        "Mail, chat, phone, a command or a webhook: docs/notifications.md",
    ]
    ran = home.gate("notify", "test")
    assert ran.code == 5 and "no route is set up yet: gate notify shows how" in ran.err
    assert "notifications are off: gate notify shows how to turn them on" in home.gate("doctor").out
    assert json.loads(home.gate("notify", "--json").out) == {"routes": [], "problems": []}


@pytest.mark.proves("NTF-15", "NTF-21", "NTF-36", "LAW-10")
def test_routes_are_listed_and_tried(home, server):
    home.write(
        {"to": f"ntfy://ada:hunter2@127.0.0.1:{server.port}/t", "person": "ada", "priority": "high"},
        {"to": "command: exit 9", "quiet": "22:00-07:00"},
    )  # fmt: skip
    head, first, second = home.gate("notify").out.splitlines()
    assert head == "Notifications are on. Routes:"
    assert first.startswith("  ntfy://127.0.0.1 #") and first.endswith("of ada  (high and above)")
    assert second.endswith("(quiet from 22:00 to 07:00)")
    shown = json.loads(home.gate("notify", "list", "--json").out)["routes"]
    assert [(route["person"], route["priority"], route["quiet"]) for route in shown] == [
        ("ada", "high", None), ("", "backlog", "22:00-07:00"),
    ]  # fmt: skip
    assert "hunter2" not in json.dumps(shown)
    ran = home.gate("notify", "test")
    assert ran.code == 1 and ": sent\n" in ran.out and "exit code 9" in ran.out
    assert json.loads(server.requests[0][2])["title"] == "Test from gate"
    ran = home.gate("notify", "test", "ADA", "--json")
    (tried,) = json.loads(ran.out)
    assert ran.code == 0 and tried["problem"] == ""
    assert tried["route"] == shown[0]["name"]
    ran = home.gate("notify", "test", "zebra")
    assert ran.code == 5 and "no route has 'zebra' in its name" in ran.err
    assert home.gate("notify", "test", "--again").code == 2
    assert home.gate("notify", "list", "x").code == 2
    assert "notifications go out by ntfy://127.0.0.1" in home.gate("doctor").out


@pytest.mark.proves("NTF-1", "NTF-2", "LAW-10")
def test_bad_settings_name_the_file_and_the_key(home):
    for text, sentence in (
        (
            '[[notify]]\nto = "desktop"\nquiet = "late"',
            "notify number 1 in {}: expected hours such as",
        ),
        (
            '[[notify]]\nto = "desktop"\n[[notify]]\nto = "desktop"',
            "notify number 2 in {} repeats an earlier route",
        ),
        ('[[notify]]\nurl = "x"', "notify number 1 in {} sets 'url'; a route has only to"),
        ('notify = "desktop"', "notify in {} must be a list"),
    ):
        home.file.write_text(text)
        ran = home.gate("notify")
        assert ran.code == 2 and sentence.format(home.file) in ran.err
        assert home.gate("inbox").code == 0
    home.write(
        {"to": "desktop"}, first='notify_cmd = "curl -u ada:hunter2 x"\nurl = "https://ada@g/"'
    )
    assert "url (" in home.gate("notify").err
    assert "without user@" in home.gate("notify", GATE_URL="https://g/?t=1").err
    assert "hunter2" not in home.gate("config").out + home.gate("config", "notify_cmd").out
    shown = json.loads(home.gate("config", "--json").out)
    assert shown["notify"]["text"].startswith("desktop, command curl #")
    assert shown["notify_cmd"]["text"].startswith("command curl #")


@pytest.mark.proves("NTF-1")
def test_shortcut_rings_for_everybody(home, tmp_path):
    rung = tmp_path / "rung"
    home.ask("Why?", GATE_NOTIFY_CMD=f"echo $GATE_KIND >> {rung}")
    eventually(lambda: rung.exists() and rung.read_text() == "opened\n")


@pytest.mark.proves("CLI-14", "NTF-22")
def test_hot_commands_load_nothing_slow_for_notifications(home):
    ours = [
        "domain.notifications.routes",
        "domain.notifications.messages",
        "adapters.system.notifier_process",
        "services.notifications.send_notices",
    ]
    code = (
        "import sys; from gatebell.cli.main import main; code = main(sys.argv[1:]); "
        f"print(' '.join(m for m in {SLOW_MODULES!r} if m in sys.modules), file=sys.stderr); "
        f"print(*(m for m in {ours!r} if f'gatebell.{{m}}' in sys.modules), file=sys.stderr); sys.exit(code)"
    )
    for environ, expected in (
        ({}, ["", "adapters.system.notifier_process"]),
        (
            {"GATE_NOTIFY_CMD": "true"},
            ["", "domain.notifications.routes adapters.system.notifier_process"],
        ),
    ):
        ran = subprocess.run(
            [sys.executable, "-c", code, "ask", "Q?", "--no-wait"],
            env=home.shell.environ | environ, cwd=home.shell.folder, capture_output=True, text=True, check=True,
        )  # fmt: skip
        assert ran.stderr.split("\n")[:2] == expected


@pytest.mark.proves("NTF-13")
def test_sender_that_cannot_start_changes_nothing_about_the_ask(home, monkeypatch):
    home.write({"to": "desktop"})
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home.file.parent.parent))
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    store = wiring.open_store(home.path)
    create_ask.ask(store, Request("Why?"), Origin(), a_person())
    assert len(store.outbox.waiting(9)) == 1
    store.close()


@pytest.mark.proves("NTF-23")
def test_every_kind_of_route_has_its_channel(home):
    store = wiring.open_store(home.path)
    channels = wiring.post(store).channels
    kinds = [
        type(channels.open(Route(via, "x"))).__name__
        for via in ("desktop", "apprise", "command", "webhook")
    ]
    assert kinds == ["DesktopChannel", "AppriseChannel", "CommandChannel", "WebhookChannel"]
    store.close()


@pytest.mark.proves("NTF-29")
def test_gate_up_uses_a_route_added_while_it_runs(home, tmp_path):
    up = home.gate("up", "--port=0", "--detach")
    assert up.code == 0 and "off; gate notify" in up.out, up.err
    try:
        rang = tmp_path / "rang"
        home.write({"to": f"command: cat > {rang}"})
        home.ask("Does anybody hear?")
        eventually(lambda: rang.exists() and "Does anybody hear?" in rang.read_text())
        home.write({"to": "desktop", "quiet": "25:00-7"})
        assert home.gate("link").code == 0
    finally:
        assert home.gate("down").code == 0


@pytest.mark.proves("NTF-33")
def test_process_started_without_routes_uses_a_new_one(home, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home.file.parent.parent))
    rang = tmp_path / "rang"
    with closing(wiring.open_store(home.path)) as store:
        create_ask.ask(store, Request("Unheard?"), Origin(), a_person())
        home.write({"to": f"command: cat > {rang}"})
        create_ask.ask(store, Request("Heard?"), Origin(), a_person())
        eventually(rang.exists)


@pytest.mark.proves("NTF-30")
def test_unreadable_route_stops_no_question_or_answer(home):
    home.write({"to": "desktop", "quiet": "25:00-7"})
    ask_id = home.ask("Still?")
    assert home.gate("answer", ask_id, "yes").code == 0
    assert home.gate("wait", ask_id).out == "yes\n"
    doctor = home.gate("doctor")
    assert doctor.code == 1 and "quiet" in doctor.out
    assert home.gate("notify").code == 2


_DESKTOP = """
Xvfb -displayfd 3 -screen 0 640x480x24 3>screen >/dev/null 2>&1 & screen=$!
until test -s screen; do sleep 0.05; done
export DISPLAY=:$(cat screen)
dunst -print >dunst.log 2>/dev/null & desktop=$!
until dbus-send --session --print-reply --dest=org.freedesktop.DBus / \\
  org.freedesktop.DBus.NameHasOwner string:org.freedesktop.Notifications | grep -q true
do sleep 0.05; done
"$@"
kill $desktop $screen
"""


@pytest.mark.proves("NTF-31")
def test_real_desktop_shows_the_question_as_it_is(tmp_path):
    for program in ("dbus-run-session", "dunst", "notify-send", "Xvfb"):
        find_program(program, "no real desktop was tried")
    send = (
        "from gatebell.adapters.channels.desktop import DesktopChannel as Desktop\n"
        "from tests.support.messages import a_letter\n"
        "Desktop().send(a_letter('--kill <b>Deploy</b> & \"42\"?', priority=0))\n"
    )
    words = ["dbus-run-session", "--", "bash", "-c", _DESKTOP, "_", sys.executable, "-c", send]
    environ = os.environ | {"HOME": str(tmp_path), "PYTHONPATH": str(Path(__file__).parents[2])}
    ran = subprocess.run(
        words, cwd=tmp_path, env=environ, capture_output=True, text=True, check=False, timeout=60
    )
    assert ran.returncode == 0, ran.stderr
    shown = (tmp_path / "dunst.log").read_text(encoding="utf-8")
    assert "appname: 'gatebell'" in shown and "urgency: CRITICAL" in shown
    assert '--kill &lt;b&gt;Deploy&lt;/b&gt; &amp; "42"?' in shown
