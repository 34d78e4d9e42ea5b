"""Serve the web inbox, drive runs, collect questions in files, send notifications and apply
deadlines, until Ctrl+C. After a host's version has changed, it tries the gates of that host again,
and leaves a note if one no longer holds.

By default only this machine can reach it. For other machines it needs TLS (--tls-cert and
--tls-key) or a proxy with TLS (--public-url), and people with personal tokens. If there are such
people and the setting url begins with https://, it is the public address (gate setup sets it).

Example: gate up
Example: gate up --install
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from gatebell.app import chats, daemon, runtime, settings, wiring
from gatebell.cli.server import qr, retry_gates
from gatebell.cli.server.leave import leave
from gatebell.cli.server.listening import (
    LOCAL_HOST,
    add_listening,
    build_sender,
    choose_site,
)
from gatebell.cli.setup import old_installations
from gatebell.cli.status_line import show_progress
from gatebell.domain.enums import MemberKind
from gatebell.domain.text.display import inert_line
from gatebell.file_protocol.answers import HappeningKind
from gatebell.services.people import manage_logins

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from gatebell.file_protocol.answers import Happening
    from gatebell.ports.store import Store
    from gatebell.web.context import Site

_SLOTS = 4
_PROBLEMS = (
    *(HappeningKind.REFUSED, HappeningKind.FOREIGN),
    *(HappeningKind.REPAIRED, HappeningKind.PROBLEM),
)


def configure(parser: argparse.ArgumentParser) -> None:
    add_listening(parser)
    add = parser.add_argument
    add("--qr", action="store_true", help="show the link as a QR code, too")
    add("--no-worker", action="store_true", help="do not drive runs")
    stays = parser.add_mutually_exclusive_group()
    stays.add_argument(
        "--detach", action="store_true", help="run in the background; gate down stops it"
    )
    stays.add_argument(
        "--install",
        action="store_true",
        help="start it now and at each login, by systemd or launchd; gate down --uninstall ends that",
    )


def run(args: argparse.Namespace) -> int:
    store, path = wiring.open_store(), settings.local_path(os.environ)
    manage_logins.must_be_let_in(store, wiring.caller(store, "cli"))
    daemon.refuse_second(path)
    args.public_url = args.public_url or _find_public_url(store, args)
    site = choose_site(store, args)
    if args.install:
        return _install(path, _build_options(args, site))
    if args.detach:
        with show_progress("Starting"):
            up = daemon.start(path, _build_options(args, site))
        _say(store, up.url, args, site)
        print(f"It runs in the background (process {up.pid}). To stop it: gate down")
        return 0
    # Imported here: --help must not load a web server.
    from gatebell.services.members import Membership
    from gatebell.web.server import serve

    lock = daemon.register(path, site.url, personal=site.personal)
    membership = Membership(store, MemberKind.SERVER, site.url)
    try:
        sender = build_sender(store, site)
        worker = None if args.no_worker else runtime.BackgroundWorker(_SLOTS)
        end_chats, end_listening = chats.begin(store), _listen(store)
        retry_gates.begin()
        left: list[int] = []
        try:
            code = serve(store, site, args, sender, lambda: _say(store, site.url, args, site))
        finally:
            end_chats()
            end_listening()
            left = worker.end() if worker else []
    finally:
        membership.end()
        os.close(lock)
    return leave(code, left)


def _install(path: str, options: list[str]) -> int:
    # Imported here: only this option needs them.
    from gatebell.cli.setup.install import find_gate_program
    from gatebell.install import login_service

    command = [find_gate_program(), "up", *options]
    service = login_service.plan_service(command, daemon.log_path(path), os.environ)
    login_service.start_service(service)
    print(f"Wrote {service.path}. gate up runs now, and starts at each login.")
    print("For a link to the inbox: gate link. To undo this: gate down --uninstall")
    return 0


def _find_public_url(store: Store, args: argparse.Namespace) -> str:
    """Return the address of the settings, if other machines can sign in there."""
    url = settings.inbox_url(os.environ)
    has_own_address = args.host != LOCAL_HOST or args.tls_cert
    has_people = any(one.tokens for one in store.people.all())
    return url if url.startswith("https://") and has_people and not has_own_address else ""


def _listen(store: Store) -> Callable[[], None]:
    """Collect questions in files where no other listener does; return a function that ends it."""
    # Imported here: --help must not load it.
    from gatebell.file_protocol.listener import Beside, Listener, list_initialised

    def tell(project: str, happening: Happening) -> None:
        if happening.what in _PROBLEMS:
            words = inert_line(f"{happening.who}: {happening.words}", 500)
            print(f"gate: in {inert_line(project, 200)}: {words}", file=sys.stderr, flush=True)

    who = wiring.caller(store, "cli")
    if who.agent and store.throwaway:
        # Agents can answer in a throwaway store, and the questions belong to other projects.
        return lambda: None
    beside = Beside(Listener(wiring.open_store(), lambda: list_initialised(os.environ), who, tell))
    beside.begin()
    return beside.end


def _build_options(args: argparse.Namespace, site: Site) -> list[str]:
    """Return the same options for the background process."""
    words = [f"--port={args.port}", f"--host={args.host}"]
    if site.personal:
        words += [f"--public-url={site.url}"]
    if args.no_worker:
        words.append("--no-worker")
    for name in ("tls_cert", "tls_key", "proxy"):
        if value := getattr(args, name):
            path = os.path.abspath(value) if name != "proxy" else value
            words.append(f"--{name.replace('_', '-')}={path}")
    return words


def _say(store: Store, url: str, args: argparse.Namespace, site: Site) -> None:
    """Print the address, the notification routes, and the number of pending asks."""
    who = wiring.caller(store, "cli")
    may_link = who.verified or not site.personal
    link = manage_logins.link_to(store, url, who) if may_link else f"{url}/login"
    print(f"Inbox          {link}")
    if args.qr:
        if site.personal:
            qr.draw(manage_logins.link_to(store, url, who) if may_link else link)
        else:
            print("               (no QR code: a phone cannot reach this address; use gate setup)")
    routes = [route.name for route in wiring.post(store).routes]
    print(f"Notifications  {', '.join(routes) or 'off; gate notify shows how to turn them on'}")
    waiting = sum(number for _, number in store.asks.waiting_counts())
    print(f"Deadlines      on; {waiting} {'ask is' if waiting == 1 else 'asks are'} waiting")
    print(f"Runs           {'not driven here' if args.no_worker else f'driven, {_SLOTS} at once'}")
    print(f"Files          {_describe_files()}")
    if found := chats.list_set_up():
        print(f"Chats          {', '.join(found)}; to link an account: gate person link {found[0]}")
    for sentence in old_installations.find_old(os.getcwd()):
        print(f"Agents         {inert_line(sentence, 500)}")
    if may_link:
        print("The link works once, within 15 minutes. For another: gate link")
    sys.stdout.flush()


def _describe_files() -> str:
    """Return in how many projects questions in files are collected."""
    from gatebell.file_protocol.listener import list_initialised

    number = len(list_initialised(os.environ))
    if not number:
        return "no project has questions in files"
    where = "1 project" if number == 1 else f"{number} projects"
    return f"questions in files of {where} are collected; to be asked: gate listen"
