"""`gate up`, `gate down` and `gate link`: one process, its lock, and who may log in where."""

from __future__ import annotations

import http.client
import json
import os
import plistlib
import re
import signal
import socket
import ssl
import subprocess
import sys
import time
from urllib.request import ProxyHandler, build_opener

import pytest
from tests.support.locks import look_at
from tests.support.people import a_person
from tests.support.programs import find_program

from gatebell.app import daemon, locks
from gatebell.app.wiring import open_store
from gatebell.install import login_service
from gatebell.services.people import manage_logins, manage_people


class Up:
    """One store, and `gate` for it."""

    def __init__(self, folder):
        self.path = str(folder / "gate.db")
        keep = {k: v for k, v in os.environ.items() if not k.startswith("GATE_")}
        self.environ = keep | {"GATE_STORE": self.path, "HOME": str(folder), "NO_COLOR": "1"}
        self.started = []

    def command(self, *words):
        return [sys.executable, "-m", "gatebell", *words]

    def gate(self, *words, **environ):
        return subprocess.run(
            self.command(*words),
            env=self.environ | environ,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
            stdin=subprocess.DEVNULL,
        )

    def start(self, *words):
        process = subprocess.Popen(
            self.command("up", "--port=0", *words),
            env=self.environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.started.append(process)
        return process, process.stdout.readline().removeprefix("Inbox").strip()

    def end(self):
        for process in self.started:
            process.kill()
            process.communicate()


@pytest.fixture
def up(tmp_path):
    made = Up(tmp_path)
    yield made
    made.end()
    daemon.end(made.path)


SYSTEMCTL = """#!/bin/sh
echo "$*" >> "{folder}/calls"
if [ -e "{folder}/refuses" ]; then echo "Failed to connect to bus" >&2; exit 1; fi
"""


def write_systemctl(folder):
    """Write a systemctl that only records its calls; return a PATH that begins with it."""
    if sys.platform == "darwin":
        pytest.skip("macOS has launchd: a real one would start gate up")
    programs = folder / "bin"
    programs.mkdir()
    for name, text in (("systemctl", SYSTEMCTL.format(folder=folder)), ("gate", "#!/bin/sh\n")):
        (programs / name).write_text(text, encoding="utf-8")
        (programs / name).chmod(0o755)
    return f"{programs}:{os.environ['PATH']}"


@pytest.mark.proves("SETUP-15")
def test_up_is_installed_as_a_service_and_removed(up, tmp_path):
    up.environ |= {"PATH": write_systemctl(tmp_path), "XDG_CONFIG_HOME": str(tmp_path / "conf ig")}
    unit = tmp_path / "conf ig" / "systemd" / "user" / login_service.UNIT
    assert up.gate("up", "--install", "--port=0", CLAUDECODE="1").returncode == 7
    installed = up.gate("up", "--install", "--port=0")
    assert installed.returncode == 0 and f"Wrote {unit}" in installed.stdout, installed.stderr
    assert "daemon-reload\n--user enable --now" in (tmp_path / "calls").read_text()
    text = unit.read_text(encoding="utf-8")
    assert unit.stat().st_mode & 0o777 == 0o600
    assert "StandardOutput=null" in text and f'"GATE_STORE={up.path}"' in text
    verify = find_program("systemd-analyze", "the unit of gate up was not checked by it")
    command = [verify, "--user", "verify", unit]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "gatebell" not in done.stdout + done.stderr
    removed = up.gate("down", "--uninstall")
    assert removed.returncode == 0 and not unit.exists(), removed.stderr
    assert up.gate("down", "--uninstall").returncode == 5


@pytest.mark.proves("SETUP-15", "LAW-10")
def test_refusal_of_systemctl_says_how_to_undo(up, tmp_path):
    up.environ |= {"PATH": write_systemctl(tmp_path), "XDG_CONFIG_HOME": str(tmp_path)}
    (tmp_path / "refuses").touch()
    refused = up.gate("up", "--install", "--port=0")
    assert refused.returncode == 1 and "Failed to connect to bus" in refused.stderr
    assert "gate down --uninstall" in refused.stderr
    up.environ |= {"PATH": str(tmp_path / "none")}
    assert "gate up --detach" in up.gate("up", "--install", "--port=0").stderr


@pytest.mark.proves("SETUP-15")
def test_launchd_gets_a_file_of_its_format(tmp_path):
    environ = {"HOME": str(tmp_path), "PATH": "/bin", "SECRET": "x"}
    command = ["/opt/gate", "up", "--port=4283"]
    service = login_service.plan_service(command, "/x.log", environ, platform="darwin")
    assert service.path == str(tmp_path / "Library" / "LaunchAgents" / "gatebell.up.plist")
    wanted = plistlib.loads(service.text.encode())
    assert wanted["ProgramArguments"] == command and wanted["StandardOutPath"] == os.devnull
    assert wanted["EnvironmentVariables"] == {"PATH": "/bin"}


def fetch(url):
    return build_opener(ProxyHandler({})).open(url, timeout=10)


@pytest.mark.proves("WEB-40", "WEB-41")
def test_up_prints_its_address_is_unique_and_obeys_signals(up):
    process, link = up.start()
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/link/[0-9a-f]{64}", link)
    lines = [process.stdout.readline() for _ in range(2)]
    assert lines[0].startswith("Notifications  off;")
    assert lines[1] == "Deadlines      on; 0 asks are waiting\n"
    url = link.partition("/link/")[0]
    assert fetch(f"{url}/api/health").read() == b'{"status":"ok"}'
    assert f"gate up runs at {url} (process {process.pid})" in up.gate("doctor").stdout
    taken = up.gate("up", f"--port={url.rpartition(':')[2]}")
    assert taken.returncode == 2 and "open it with gate link" in taken.stderr
    assert up.gate("up", "--port=99999").stderr.startswith("gate: --port: expected a port from 0")
    second = up.gate("up", "--port=0")
    assert second.returncode == 2 and url in second.stderr and "gate down" in second.stderr
    process.send_signal(signal.SIGTERM)
    assert process.wait(10) == 0
    assert daemon.find(up.path) is None and process.stderr.read() == ""


@pytest.mark.proves("WEB-40")
def test_up_runs_in_the_background_until_down(up):
    started = up.gate("up", "--port=0", "--detach")
    assert started.returncode == 0, started.stderr
    found = daemon.find(up.path)
    assert (
        found
        and f"process {found.pid}" in started.stdout
        and f"{found.url}/link/" in started.stdout
    )
    log = daemon.log_path(up.path)
    assert os.stat(log).st_mode & 0o777 == 0o600
    with open(log, encoding="utf-8") as file:
        assert "/link/" not in file.read()
    again = up.gate("up", "--port=0", "--detach")
    assert again.returncode == 2 and "already running" in again.stderr
    ended = up.gate("down")
    assert ended.returncode == 0 and str(found.pid) in ended.stdout
    assert daemon.find(up.path) is None
    nothing = up.gate("down")
    assert nothing.returncode == 5 and "not running" in nothing.stderr


@pytest.mark.proves("WEB-40")
def test_leftovers_of_a_killed_up_stop_no_process(up):
    process, _ = up.start()
    process.kill()
    process.wait()
    assert daemon.find(up.path) is None
    _, link = up.start()
    assert link


@pytest.fixture
def stranger():
    process = subprocess.Popen(["sleep", "60"])
    yield process
    process.kill()
    process.wait()


@pytest.mark.proves("NTF-27")
def test_reading_the_lock_does_not_revive_a_dead_process(up, stranger):
    lock = locks.up_lock_path(up.path)
    with open(lock, "w", encoding="utf-8") as file:
        json.dump({"pid": stranger.pid, "url": "http://127.0.0.1:1"}, file)
    looking = look_at(lock)
    assert daemon.find(up.path) is daemon.end(up.path) is None
    locks.release(looking)
    assert stranger.poll() is None


@pytest.mark.proves("NTF-27", "LAW-10")
def test_down_spares_a_process_that_lacks_the_lock(up, stranger):
    lock = locks.up_lock_path(up.path)
    with open(lock, "w", encoding="utf-8") as file:
        json.dump({"pid": stranger.pid, "url": "http://127.0.0.1:1"}, file)
    starting = locks.hold(lock)
    refused = up.gate("down")
    assert refused.returncode == 1 and "was not ended" in refused.stderr
    locks.release(starting)
    assert stranger.poll() is None


@pytest.mark.proves("WEB-40")
def test_error_of_a_background_process_is_reported(up):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        for words in (("up", f"--port={port}"), ("up", f"--port={port}", "--detach")):
            refused = up.gate(*words)
            assert refused.returncode == 2 and "--port N" in refused.stderr, refused.stderr
    assert daemon.find(up.path) is None


@pytest.mark.proves("WEB-1", "WEB-41")
def test_gate_link_makes_a_login_but_not_for_agents(up):
    assert up.gate("link").returncode == 5
    _, link = up.start()
    url = link.partition("/link/")[0]
    made = up.gate("link")
    assert made.returncode == 0 and made.stdout.startswith(f"{url}/link/")
    assert up.gate("link", "--json").stdout.startswith(f'{{"url": "{url}/link/')
    for words in (("link",), ("up", "--port=0")):
        refused = up.gate(*words, CLAUDECODE="1")
        assert refused.returncode == 7 and "only a person opens the web inbox" in refused.stderr
    store = open_store(up.path)
    secret = made.stdout.strip().rpartition("/")[2]
    found = manage_logins.whose_login(store, manage_logins.enter_by_link(store, secret, {}))
    assert found.scopes == ("ask", "answer", "read", "admin", "metrics") and not found.verified
    store.close()


@pytest.mark.proves("WEB-10")
@pytest.mark.parametrize(
    ("words", "because"),
    [
        (["--host=0.0.0.0"], "use TLS"),
        (["--host=::"], "use TLS"),
        (["--host=0.0.0.0", "--public-url=https://gate.example.org"], "use TLS"),
        (["--host=0.0.0.0", "--tls-cert=c.pem"], "need each other"),
        (["--public-url=http://gate.example.org"], "https://"),
        (["--public-url=https://gate.example.org"], "gate person add"),
        (
            ["--host=0.0.0.0", "--proxy=10.0.0.1", "--public-url=https://g.example"],
            "gate person add",
        ),
    ],
)
def test_other_machines_need_tls_and_personal_tokens(up, words, because):
    refused = up.gate("up", "--port=0", *words)
    assert refused.returncode == 2 and because in refused.stderr, refused.stderr
    assert daemon.find(up.path) is None


@pytest.mark.proves("WEB-10")
def test_behind_a_proxy_a_claimed_login_is_worth_nothing(up):
    store = open_store(up.path)
    token = manage_people.add(store, a_person(), "zoe")
    claimed = manage_logins.enter_by_link(store, manage_logins.make_link(store, a_person()), {})
    proven = manage_logins.enter_by_token(store, token, {})
    process, link = up.start("--public-url=https://gate.example.org")
    assert link == "https://gate.example.org/login"
    port = _listening_port(process.pid)
    for secret, status in ((claimed, 401), (proven, 200)):
        head = (
            f"GET /api/asks HTTP/1.1\r\nHost: gate.example.org\r\nCookie: gatebell={secret}\r\n"
            "Connection: close\r\n\r\n"
        )
        with socket.create_connection(("127.0.0.1", port), 10) as connection:
            connection.sendall(head.encode())
            assert f" {status} " in connection.recv(100).decode()
    store.close()


def _listening_port(pid):
    """Return the port on which a process listens, from the kernel's table."""
    until = time.monotonic() + 20
    while time.monotonic() < until:
        sockets = {
            os.readlink(f"/proc/{pid}/fd/{fd}").removeprefix("socket:[").rstrip("]")
            for fd in os.listdir(f"/proc/{pid}/fd")
            if os.path.islink(f"/proc/{pid}/fd/{fd}")
        }
        with open(f"/proc/{pid}/net/tcp", encoding="utf-8") as file:
            for line in file.readlines()[1:]:
                words = line.split()
                if words[3] == "0A" and words[9] in sockets:
                    return int(words[1].rpartition(":")[2], 16)
    raise AssertionError("it does not listen")


@pytest.mark.proves("WEB-10")
def test_up_serves_tls_and_its_cookie_stays_there(up, tmp_path):
    find_program("openssl", "TLS was not tried")
    cert, key = tmp_path / "c.pem", tmp_path / "k.pem"
    words = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:P-256",
        "-nodes",
    ]
    words += ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1", "-days", "2"]
    subprocess.run([*words, "-keyout", key, "-out", cert], check=True, capture_output=True)
    _, link = up.start(f"--tls-cert={cert}", f"--tls-key={key}")
    url = link.partition("/link/")[0]
    assert url.startswith("https://127.0.0.1:")
    trusting = ssl.create_default_context(cafile=str(cert))
    host = url.removeprefix("https://")
    client = http.client.HTTPSConnection(host, timeout=10, context=trusting)
    form = {"origin": url, "content-type": "application/x-www-form-urlencoded"}
    client.request("POST", link.removeprefix(url), "next=/", form)
    entered = client.getresponse()
    cookie = entered.getheader("set-cookie")
    assert entered.status == 303 and "Secure" in cookie and "HttpOnly" in cookie
    assert entered.getheader("strict-transport-security")
    client.close()
    plain = http.client.HTTPConnection(host, timeout=10)
    plain.request("GET", "/api/health")
    with pytest.raises((http.client.HTTPException, OSError)):
        plain.getresponse()
    plain.close()
