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
from gatebell.domain.enums import MemberKind
from gatebell.domain.text.display import inert_line
from gatebell.errors import UsageError
from gatebell.file_protocol.answers import HappeningKind
from gatebell.services.notifications.send_notices import Sender
from gatebell.services.people import manage_logins

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from gatebell.file_protocol.answers import Happening
    from gatebell.ports.store import Store
    from gatebell.web.context import Site

PORT = 4283
_SLOTS = 4
_PROBLEMS = (
    *(HappeningKind.REFUSED, HappeningKind.FOREIGN),
    *(HappeningKind.REPAIRED, HappeningKind.PROBLEM),
)
_LOOPBACK = ("127.0.0.1", "::1", "localhost")


def configure(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "--port",
        type=parse_port,
        default=PORT,
        metavar="N",
        help=f"the port ({PORT}; 0: any free port)",
    )
    add(
        "--host",
        default="127.0.0.1",
        metavar="ADDRESS",
        help="the address to listen on (127.0.0.1)",
    )
    add("--tls-cert", default="", metavar="F", help="serve TLS with this certificate")
    add("--tls-key", default="", metavar="F", help="serve TLS with this key")
    add("--public-url", default="", metavar="URL", help="the https:// address that people use")
    add("--proxy", default="", metavar="ADDRESS", help="the proxy to trust (127.0.0.1)")
    add("--qr", action="store_true", help="show the link as a QR code, too")
    add("--no-worker", action="store_true", help="do not drive runs")
    add("--detach", action="store_true", help="run in the background; gate down stops it")


def parse_port(text: str) -> int:
    number = int(text) if text.isdecimal() else -1
    if not 0 <= number < 65536:
        raise UsageError(f"expected a port from 0 (any free one) to 65535, got {text!r}")
    return number


def run(args: argparse.Namespace) -> int:
    _check_web_packages()
    store, path = wiring.open_store(), settings.local_path(os.environ)
    manage_logins.must_be_let_in(store, wiring.caller(store, "cli"))
    daemon.refuse_second(path)
    site = _choose_site(store, args)
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
        post, source = wiring.post(store), wiring.post_source(store, site.url)
        sender = Sender(store, post._replace(url=post.url or site.url), source)
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


def _check_web_packages() -> None:
    # Imported here: --help does not need it.
    from importlib.util import find_spec

    for name in ("jinja2", "markdown_it", "nh3", "sse_starlette", "starlette", "uvicorn"):
        if find_spec(name) is None:
            raise UsageError(f"the web inbox needs {name}; run: pip install 'gatebell[web]'")


def _choose_site(store: Store, args: argparse.Namespace) -> Site:
    """Return the address of the inbox, or refuse an unsafe one."""
    from gatebell.web.context import local_site, public_site

    tls = bool(args.tls_cert and args.tls_key)
    if bool(args.tls_cert) != bool(args.tls_key):
        raise UsageError("--tls-cert and --tls-key need each other; give both")
    if args.public_url and not args.public_url.startswith("https://"):
        raise UsageError("--public-url must begin with https://, because tokens and answers use it")
    here = args.host in _LOOPBACK
    if here and not args.public_url:
        return local_site(_free_port(args), "https" if tls else "http")
    if not here and not tls and not (args.public_url and args.proxy):
        raise UsageError(
            f"other machines can reach {args.host}; use TLS (--tls-cert, --tls-key), or name "
            "a proxy with TLS (--proxy ADDRESS --public-url https://…)"
        )
    if not any(one.tokens for one in store.people.all()):
        raise UsageError(
            "people on other machines sign in with a personal token, and no person has one; run: "
            "gate person add NAME"
        )
    host = f"[{args.host}]" if ":" in args.host else args.host
    return public_site(args.public_url or f"https://{host}:{_free_port(args)}")


def _free_port(args: argparse.Namespace) -> int:
    import socket

    family = socket.AF_INET6 if ":" in args.host else socket.AF_INET
    with socket.socket(family) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((args.host, args.port))
        except OSError as error:
            why = error.strerror or str(error)
            raise UsageError(f"cannot use port {args.port} ({why}); choose one: --port N") from None
        args.port = listener.getsockname()[1]
    return int(args.port)


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
