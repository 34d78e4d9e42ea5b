"""`gate setup` for scripts, run twice, with missing programs, and for agents."""

from __future__ import annotations

import argparse
import os
import re
import signal
import sys
import time

import pytest
from tests.support.people import a_person
from tests.support.phone_world import CLOUDFLARED, PhoneWorld

from gatebell.adapters.system.tunnels import ProgramTunnels
from gatebell.app import daemon
from gatebell.app.wiring import open_store
from gatebell.cli.setup import setup_routes
from gatebell.cli.setup.setup_dialogue import Dialogue
from gatebell.domain.enums import TunnelKind
from gatebell.domain.people.logins import PERSONAL
from gatebell.errors import GateError
from gatebell.services.people import manage_logins, manage_people
from gatebell.services.phone import ways
from gatebell.testing import MemoryStore


@pytest.fixture
def world(tmp_path):
    made = PhoneWorld(tmp_path)
    yield made
    made.close()


@pytest.fixture
def store():
    made = MemoryStore()
    yield made
    made.close()


def wanted(**given):
    """Return the options of a person without a token."""
    usual = {"notify": [], "ntfy_server": "https://ntfy.example.org", "wait": 60.0, "as_name": "",
             "token_file": "", "port": 4283, "test": True}  # fmt: skip
    return argparse.Namespace(**usual | given)


def files(world):
    kept = (".claude", ".claude.json", ".config")
    return {
        str(path): path.read_bytes()
        for path in sorted(world.home.rglob("*"))
        if path.is_file() and path.relative_to(world.home).parts[0] in kept
    }


@pytest.mark.proves("SETUP-14", "NTF-42")
def test_plain_installation_sets_ntfy_up(tmp_path, monkeypatch, store):
    monkeypatch.setitem(sys.modules, "apprise", None)  # as if it were not installed
    monkeypatch.setattr(os, "environ", {"HOME": str(tmp_path)})
    args = wanted(notify=["ntfy"])
    made = setup_routes.run(args, store, Dialogue(asks=False, prints=False))
    assert made["subscribe"].startswith("https://ntfy.example.org/gate-")
    assert len(made["routes"]) == 1


@pytest.mark.proves("SETUP-16")
def test_address_of_another_service_is_checked_and_added(tmp_path, monkeypatch, capsys, store):
    monkeypatch.setattr(os, "environ", {"HOME": str(tmp_path)})
    typed = iter(["n", "n", "telegram", "command: rm x", "tgram://123456:secret-token/42"])
    monkeypatch.setattr("builtins.input", lambda _: next(typed))
    args = wanted()
    made = setup_routes.run(args, store, Dialogue(asks=True, prints=True))
    out = capsys.readouterr().out
    assert out.count("Not added") == 2 and "secret-token" not in out
    (name,) = made["routes"]
    assert name.startswith("tgram://") and "secret" not in name
    # A second run asks for no other service.
    assert setup_routes.run(args, store, Dialogue(asks=False, prints=True)) == made
    args.notify = ["slack:no"]
    with pytest.raises(GateError, match="this address: expected for to"):
        setup_routes.run(args, store, Dialogue(asks=False, prints=False))


@pytest.mark.proves("SETUP-3", "SETUP-4", "SETUP-11", "SETUP-12", "SETUP-14")
def test_second_run_of_a_script_changes_nothing(world):
    world.add_program("claude")
    world.add_tailscale()
    words = ("--notify", "ntfy", "--ntfy-server", world.ntfy.url, "--phone", "tailscale")
    ran, first = world.set_up(*words)
    assert ran.returncode == 0, ran.stderr
    assert first["agents"] == {"claude": "installed"} and first["test"] is None
    assert first["notify"]["subscribe"].startswith(f"{world.ntfy.url}/gate-")
    phone = first["phone"]
    assert (phone["url"], phone["person"]) == (world.url, "ada")
    assert phone["link"].startswith(f"{world.url}/link/")
    assert world.calls()[-3:] == [
        f"serve --bg --https=443 http://127.0.0.1:{world.port}",
        "status --json",
        "serve status --json",
    ]
    before = files(world)
    ran, second = world.set_up(*words)
    assert ran.returncode == 0, ran.stderr
    assert files(world) == before
    assert second["agents"] == {"claude": "existed"} and second["notify"]["subscribe"] is None
    same = phone | {"link": None, "token_id": None}
    assert second["phone"] == same
    assert sum(call.startswith("serve --bg") for call in world.calls()) == 1

    _, third = world.set_up("--phone", world.url, "--sign-in")
    store = open_store(world.store)
    secret = phone["link"].rpartition("/")[2]
    login = manage_logins.enter_by_link(store, secret, {})
    found = manage_logins.whose_login(store, login)
    assert (found.person, found.verified, found.scopes) == ("ada", True, PERSONAL)
    manage_people.revoke(store, a_person("ada"), third["phone"]["token_id"])
    assert manage_logins.whose_login(store, login)
    manage_people.revoke(store, a_person("ada"), phone["token_id"])
    assert manage_logins.whose_login(store, login) is None
    store.close()

    drawn = world.gate("link", "--qr")
    assert drawn.returncode == 7 and "gate link --as NAME" in drawn.stderr
    assert world.gate("down").returncode == 0
    world.gate("person", "token", "ada")
    up = world.gate("up", "--detach", f"--port={world.port}")
    assert up.stdout.startswith(f"Inbox          {world.url}/login\n")


@pytest.mark.proves("SETUP-4")
def test_defaults_of_a_script_leave_this_machine_alone(world):
    world.add_tailscale()
    world.add_program("cloudflared", CLOUDFLARED)
    ran, done = world.set_up()
    assert ran.returncode == 0, ran.stderr
    assert done["agents"] == {}
    assert done["notify"] == {"routes": [], "subscribe": None, "chats": []}
    assert done["phone"] is None and done["test"] is None and done["problems"] == {}
    assert world.calls() == [] and files(world) == {} and daemon.find(world.store) is None
    _, skipped = world.set_up("--skip", "agents", "--skip", "notify", "--skip", "test")
    assert skipped["agents"] is None and skipped["notify"] is None


@pytest.mark.proves("SETUP-4", "SETUP-5")
def test_setup_needs_a_terminal_or_options_and_a_person(world):
    world.add_program("claude")
    silent = world.gate("setup")
    assert silent.returncode == 2 and silent.stdout == ""
    for option in ("--yes", "--agent", "--notify", "--phone", "--test", "--skip"):
        assert option in silent.stderr
    refused = world.gate("setup", "--yes", CLAUDECODE="1")
    assert refused.returncode == 7 and "only a person sets gate up" in refused.stderr
    assert files(world) == {}


@pytest.mark.parametrize(
    ("words", "running", "refuses", "says"),
    [
        (["--phone=tailscale"], False, "", "tailscale is not connected: run tailscale up"),
        (["--phone=tailscale"], True, "Access denied\n", "sudo tailscale set --operator"),
        (["--phone=cloudflared"], True, "", "cloudflared is not on the PATH"),
        (["--phone=http://gate.example.org"], True, "", "expected an address such as https://"),
        (["--phone=tailscale", "--name=a b"], True, "", "expected a name of letters"),
    ],
)
@pytest.mark.proves("SETUP-7")
def test_address_that_cannot_be_made_is_a_named_problem(world, words, running, refuses, says):
    world.add_tailscale(running=running)
    if refuses:
        (world.state / "refuses").write_text(refuses)
    ran, done = world.set_up(*words)
    assert ran.returncode == 1 and says in done["problems"]["phone"]
    assert daemon.find(world.store) is None and files(world) == {}


@pytest.mark.proves("SETUP-7")
def test_other_server_at_the_address_stops_the_sign_in(world):
    world.proxy.ports = [int(world.ntfy.url.rpartition(":")[2])]
    ran, done = world.set_up("--phone", world.url)
    assert ran.returncode == 1 and "does not reach gate up" in done["problems"]["phone"]
    assert done["phone"] is None


@pytest.mark.proves("SETUP-7")
def test_quick_tunnel_is_started_and_outlives_the_call(world, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", world.environ["PATH"])
    world.add_program("cloudflared", CLOUDFLARED)
    tunnels = ProgramTunnels(str(tmp_path / "tunnel.log"))
    assert [one.kind for one in ways.list_ways(tunnels, 4283)] == [TunnelKind.CLOUDFLARED]
    made = ways.open_way(tunnels, "cloudflared", 4283)
    try:
        assert made.url == "https://calm-river-1234.trycloudflare.com"
        assert world.calls() == ["cloudflared tunnel --no-autoupdate --url http://127.0.0.1:4283"]
    finally:
        os.kill(made.pid, signal.SIGKILL)
        os.waitpid(made.pid, 0)
    (world.state / "refuses").write_text("ERR quick tunnels need no config file\n")
    with pytest.raises(GateError, match="need no config file"):
        ways.open_way(tunnels, "cloudflared", 4283)


@pytest.mark.proves("SETUP-7")
def test_program_that_hangs_is_ended(world, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", world.environ["PATH"])
    monkeypatch.setattr("gatebell.adapters.system.tunnels._STATUS_SECONDS", 0.2)
    world.add_program("tailscale", "#!/bin/sh\nexec sleep 600\n")
    began = time.monotonic()
    tunnels = ProgramTunnels(str(tmp_path / "tunnel.log"))
    assert tunnels.find(TunnelKind.TAILSCALE, 4283).hint.startswith("tailscale is not connected")
    assert time.monotonic() - began < 60


@pytest.mark.proves("SETUP-13")
def test_test_without_an_answer_is_withdrawn(world):
    ran, done = world.set_up("--test", "--wait=1s")
    assert ran.returncode == 3 and not done["test"]["answered"]
    store = open_store(world.store)
    assert store.asks.get(done["test"]["ask_id"]).status == "cancelled"
    store.close()
    spoken = world.gate("setup", "--yes", "--test", "--wait=1s")
    assert spoken.returncode == 3 and "gate notify lists" in spoken.stdout
    # The phone step was skipped: only this machine can answer.
    said = " ".join(spoken.stdout.split())
    assert re.search(r"No inbox runs for the phone, so .*: gate answer a-\w+ yes ", said)
