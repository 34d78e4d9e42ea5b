"""The step of `gate setup` that brings the inbox to a phone."""

from __future__ import annotations

import getpass
import os
import socket
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from gatebell.app import daemon, settings, wiring
from gatebell.cli.identity import caller
from gatebell.cli.server.listening import LOCAL_HOST, PORT
from gatebell.domain.enums import TunnelKind, TunnelState
from gatebell.domain.phone.tunnels import find_quick_tunnel
from gatebell.errors import GateError, UsageError
from gatebell.install import own_settings
from gatebell.services.phone import sign_in, ways

if TYPE_CHECKING:
    import argparse

    from gatebell.app.daemon import Up
    from gatebell.cli.setup.setup_dialogue import Dialogue
    from gatebell.domain.phone.tunnels import Tunnel
    from gatebell.ports.store import Store

_REACHED_WITHIN_SECONDS = 30.0
_LOOK_SECONDS = 5.0
_SKIP = "s"
_DOCS = "docs/phone.md"


def run(args: argparse.Namespace, store: Store, dialogue: Dialogue) -> dict[str, Any] | None:
    """Make an address, a person, a running inbox and a link; return them, or None if skipped."""
    if not args.phone and not dialogue.asks:
        return None
    up = daemon.find(settings.local_path(os.environ))
    port = urlsplit(up.url).port if up and not up.personal else args.port
    url, tunnel_pid = _choose_address(args, dialogue, up, port or args.port)
    if not url:
        return None
    name = args.name or _ask_name(store, dialogue)
    token = sign_in.add_person(store, caller(store, args), name)
    own_settings.set_url(os.environ, url)
    up = _start_inbox(dialogue, up, url, port or args.port)
    if up is None:
        return None
    _check_address(dialogue, url)
    link = _sign_phone_in(args, store, dialogue, name, url, token)
    return {
        "url": url,
        "person": name,
        "up_pid": up.pid,
        "tunnel_pid": tunnel_pid or None,
        "link": link.link if link else None,
        "token_id": link.token_id if link else None,
    }


def _ask_name(store: Store, dialogue: Dialogue) -> str:
    known = [one.name for one in store.people.all()]
    if len(known) == 1:
        return known[0]
    return dialogue.read("Your name in the inbox?", sign_in.suggest_name(getpass.getuser()))


def _choose_address(
    args: argparse.Namespace, dialogue: Dialogue, up: Up | None, port: int
) -> tuple[str, int]:
    """Return the address for the phone, or "", and the process of a new tunnel."""
    if up and up.personal and _keeps(args, up.url) and _is_reached(up.url):
        dialogue.say(f"Your inbox is at {up.url} already.")
        return up.url, 0
    way = args.phone or _ask_way(dialogue, ways.list_ways(wiring.tunnels(), port))
    if not way:
        return "", 0
    made = ways.open_way(wiring.tunnels(), way, port)
    dialogue.say(f"The address of your inbox is {made.url}")
    if made.pid:
        dialogue.say(f"The tunnel runs in the background. To stop it: kill {made.pid}")
    return made.url, made.pid


def _keeps(args: argparse.Namespace, url: str) -> bool:
    """Return whether this address may stay; a second quick tunnel would only change it."""
    is_quick_tunnel = find_quick_tunnel(url) == url
    return not args.phone or (args.phone == TunnelKind.CLOUDFLARED and is_quick_tunnel)


def _is_reached(url: str) -> bool:
    return not wiring.probe().look(f"{url}/login", _LOOK_SECONDS).problem


def _ask_way(dialogue: Dialogue, found: list[Tunnel]) -> str:
    """Return the chosen program or address; empty: none."""
    usable = [one for one in found if one.state != TunnelState.OFF]
    dialogue.say("A phone needs an https:// address of this machine. Ways to get one:")
    for number, one in enumerate(usable, 1):
        dialogue.say(f"  {number}  {one.name}: {one.who_reaches_it}")
    for one in found:
        if one.state == TunnelState.OFF:
            dialogue.say(f"  -  {one.name}: {one.hint}")
    dialogue.say("  a  an address of your own, with a proxy that leads here")
    dialogue.say(f"  s  skip this; {_DOCS} describes each way")
    if not found:
        dialogue.say("With Tailscale or cloudflared this is easy, but neither is on the PATH.")
    # Only the private way is a default: the other one is open to the internet.
    default = "1" if usable and usable[0].is_private else _SKIP
    numbers = [str(number) for number in range(1, len(usable) + 1)]
    chosen = dialogue.choose("Which way?", (*numbers, "a", _SKIP), default)
    if chosen == "a":
        return dialogue.read("The address, such as https://gate.example.org:")
    return "" if chosen == _SKIP else usable[int(chosen) - 1].kind


def _start_inbox(dialogue: Dialogue, up: Up | None, url: str, port: int) -> Up | None:
    """Start `gate up` at the address, or keep it; return None if the person keeps another one."""
    path = settings.local_path(os.environ)
    if up and up.url == url:
        dialogue.say("gate up runs already.")
        return up
    if up:
        dialogue.say(f"gate up runs at {up.url}, where the phone does not reach it.")
        if not dialogue.confirm("Restart it at the new address? Nothing is lost."):
            return None
        daemon.end(path)
    check_port(port)
    words = [f"--port={port}", f"--host={LOCAL_HOST}", f"--public-url={url}"]
    started = daemon.start(path, words)
    dialogue.say("gate up runs in the background now. To stop it: gate down")
    own_port = "" if port == PORT else f" --port {port}"
    dialogue.say(f"After a restart of this machine, start it again: gate up --detach{own_port}")
    return started


def check_port(port: int) -> None:
    """Refuse a port that another program uses."""
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((LOCAL_HOST, port))
        except OSError as error:
            raise UsageError(
                f"cannot use port {port} ({error.strerror}): choose another one with --port N"
            ) from None


def _check_address(dialogue: Dialogue, url: str) -> None:
    """Open the address as a phone would; refuse to go on if another server answers there."""
    dialogue.say("Opening that address from here; this may take 30 seconds …")
    seen = wiring.probe().look(f"{url}/login", _REACHED_WITHIN_SECONDS)
    if seen.problem and seen.answered:
        raise GateError(f"{url}: {seen.problem}. {_DOCS} says what to check")
    if seen.problem:
        dialogue.say(f"This machine could not open it: {seen.problem}. Try it on the phone.")
    else:
        dialogue.say("It answers.")


def _sign_phone_in(
    args: argparse.Namespace,
    store: Store,
    dialogue: Dialogue,
    name: str,
    url: str,
    token: str | None,
) -> sign_in.PhoneLink | None:
    phones = sign_in.count_phones(store, name)
    if token is None and phones and not args.sign_in:
        number = "1 phone" if phones == 1 else f"{phones} phones"
        dialogue.say(f"{name} has links for {number} so far.")
        if not dialogue.confirm("Sign in another phone?", default=False, unasked=False):
            return None
    made = sign_in.make_link(store, caller(store, args), name, url, token)
    dialogue.say(f"Scan this with the camera of the phone, and sign in as {name}:")
    dialogue.draw(made.link)
    dialogue.say(made.link)
    dialogue.say(
        "It works once, within 15 minutes. To sign this phone out later: "
        f"gate person revoke {made.token_id}"
    )
    return made
