"""Serve the web inbox, drive runs, collect questions in files, send notifications and apply
deadlines, until Ctrl+C.

By default only this machine can reach it. For other machines it needs TLS (--tls-cert and
--tls-key) or a proxy with TLS (--public-url), and people with personal tokens.
Example: gate up --detach
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from gatebell.app import daemon, runtime, settings, wiring
from gatebell.cli.server.leave import leave
from gatebell.cli.server.listening import (
    add_listening,
    build_sender,
    check_web_packages,
    choose_site,
)
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
    add("--detach", action="store_true", help="run in the background; gate down stops it")


def run(args: argparse.Namespace) -> int:
    check_web_packages()
    store, path = wiring.open_store(), settings.local_path(os.environ)
    manage_logins.must_be_let_in(store, wiring.caller(store, "cli"))
    daemon.refuse_second(path)
    site = choose_site(store, args)
    if args.detach:
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
        end_listening = _listen(store)
        left: list[int] = []
        try:
            code = serve(store, site, args, sender, lambda: _say(store, site.url, args, site))
        finally:
            end_listening()
            left = worker.end() if worker else []
    finally:
        membership.end()
        os.close(lock)
    return leave(code, left)


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
        # Imported here: only --qr needs it.
        import segno

        segno.make(manage_logins.link_to(store, url, who) if may_link else link).terminal(
            compact=True
        )
        if not site.personal:
            print("               (a phone needs --public-url or --host)")
    routes = [route.name for route in wiring.post(store).routes]
    print(f"Notifications  {', '.join(routes) or 'off; gate notify shows how to turn them on'}")
    waiting = sum(number for _, number in store.asks.waiting_counts())
    print(f"Deadlines      on; {waiting} {'ask is' if waiting == 1 else 'asks are'} waiting")
    print(f"Runs           {'not driven here' if args.no_worker else f'driven, {_SLOTS} at once'}")
    print(f"Files          {_describe_files()}")
    if may_link:
        print("The link works once, within 15 minutes. For another: gate link")
    sys.stdout.flush()


def _describe_files() -> str:
    """Return in how many projects questions in files are collected."""
    from gatebell.file_protocol.listener import list_initialised

    number = len(list_initialised(os.environ))
    if not number:
        return "no project is set up for questions in files; run gate init in one"
    where = "1 project" if number == 1 else f"{number} projects"
    return f"questions in files of {where} are collected; to be asked: gate listen"
