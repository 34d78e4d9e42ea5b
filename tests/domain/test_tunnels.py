"""The output of tailscale and cloudflared, and topics of ntfy."""

from __future__ import annotations

import json

import pytest

from gatebell.domain.enums import TunnelKind, TunnelState
from gatebell.domain.notifications.ntfy_topics import make_topic
from gatebell.domain.phone.tunnels import (
    Tunnel,
    explain_refusal,
    find_quick_tunnel,
    read_tailscale,
)
from gatebell.errors import UsageError

RUNNING = json.dumps({"BackendState": "Running"})


def serve(*sites):
    return json.dumps({"Web": {at: {"Handlers": {"/": {"Proxy": to}}} for at, to in sites}})


@pytest.mark.parametrize(
    ("sites", "state", "url", "https_port"),
    [
        ([], TunnelState.READY, "", 443),
        ([("a.ts.net:443", "http://127.0.0.1:3000")], TunnelState.READY, "", 8443),
        ([("a.ts.net:443", "http://127.0.0.1:4283")], TunnelState.SERVING, "https://a.ts.net", 443),
        (
            [("a.ts.net:443", "http://x"), ("a.ts.net:8443", "http://localhost:4283/")],
            TunnelState.SERVING,
            "https://a.ts.net:8443",
            443,
        ),
        (
            [(f"a.ts.net:{port}", "http://127.0.0.1:1") for port in (443, 8443, 10000)],
            TunnelState.OFF,
            "",
            443,
        ),
    ],
)
@pytest.mark.proves("SETUP-7")
def test_served_port_and_free_port_are_found(sites, state, url, https_port):
    found = read_tailscale(RUNNING, serve(*sites), 4283)
    assert (found.state, found.url, found.https_port) == (state, url, https_port)


@pytest.mark.parametrize("status", ["", "{}", "[", '{"BackendState": "NeedsLogin"}', "[1]", "null"])
@pytest.mark.proves("SETUP-7")
def test_tailscale_that_is_not_connected_says_how(status):
    found = read_tailscale(status, "", 4283)
    assert found.state == TunnelState.OFF and "tailscale up" in found.hint


@pytest.mark.parametrize(
    "text", ["", "No serve config", "[]", '{"Web": 1}', '{"Web": {"a": {"Handlers": {"/": 3}}}}']
)
@pytest.mark.proves("SETUP-7")
def test_strange_services_count_as_none(text):
    assert read_tailscale(RUNNING, text, 4283).state == TunnelState.READY


@pytest.mark.parametrize(
    ("output", "says"),
    [
        (
            "Serve is not enabled.\nTo enable, visit:\n\n  https://login.tailscale.com/f/serve?node=nABC\n",
            "open https://login.tailscale.com/f/serve?node=nABC once",
        ),
        ("Access denied: serve config denied\n", "sudo tailscale set --operator=$USER"),
        ("first\nfatal: no\n\n", "tailscale serve failed: fatal: no"),
        ("", "it said nothing"),
    ],
)
@pytest.mark.proves("SETUP-7")
def test_refusal_of_tailscale_says_what_to_do(output, says):
    assert says in explain_refusal(output)


@pytest.mark.proves("SETUP-7")
def test_address_is_found_in_the_log_of_cloudflared():
    log = "INF |  https://calm-river-1234.trycloudflare.com   |\n"
    assert find_quick_tunnel(log) == "https://calm-river-1234.trycloudflare.com"
    other = "see https://developers.cloudflare.com and https://trycloudflare.com.evil.example"
    assert find_quick_tunnel(other) == ""


@pytest.mark.proves("SETUP-14")
def test_topic_has_all_random_bytes_in_its_name():
    topic = make_topic("https://ntfy.sh/", bytes(range(15)))
    assert topic.name == "gate-aaaqeayeaudaocajbifqydio"
    assert topic.page == f"https://ntfy.sh/{topic.name}"
    assert topic.route == f"ntfys://ntfy.sh/{topic.name}"
    assert make_topic("http://127.0.0.1:80", b"12345").route.startswith("ntfy://127.0.0.1:80/gate-")
    for wrong in ("ntfy.sh", "https://", "https://a@b", "ftp://x", 'https://a"b', "https://a/b"):
        with pytest.raises(UsageError, match="expected a server"):
            make_topic(wrong, b"12345")


@pytest.mark.proves("SETUP-7")
def test_tunnel_says_who_can_reach_the_inbox():
    own, public = (Tunnel(kind, TunnelState.READY) for kind in TunnelKind)
    assert (own.name, own.is_private) == ("Tailscale", True)
    assert own.who_reaches_it == "only your own devices reach it"
    assert (public.name, public.is_private) == ("Cloudflare Tunnel", False)
    assert "open to the internet" in public.who_reaches_it
