"""Run the inbox in the browser, drive runs, listen to questions in files, send notifications, keep
deadlines, until Ctrl+C.

Only this machine reaches it. To be reached from elsewhere it needs TLS (--tls-cert and --tls-key)
or a proxy that speaks TLS for it (--public-url), and people with personal tokens.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from gatebell.app import daemon, runtime, settings, wiring
from gatebell.cli.server.leave import leave
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
    add("--port", type=port, default=PORT, metavar="N", help=f"where to listen ({PORT}; 0: any)")
    add("--host", default="127.0.0.1", metavar="ADDRESS", help="on which address (127.0.0.1)")
    add("--tls-cert", default="", metavar="F", help="serve TLS with this certificate")
    add("--tls-key", default="", metavar="F", help="and this key")
    add("--public-url", default="", metavar="URL", help="https://…: how people reach it")
    add("--proxy", default="", metavar="ADDRESS", help="the proxy whose word is taken (127.0.0.1)")
    add("--qr", action="store_true", help="show the link also as a QR code")
    add("--no-worker", action="store_true", help="drive no runs")
    add("--detach", action="store_true", help="go on in the background; gate down ends it")


def port(text: str) -> int:
    number = int(text) if text.isdecimal() else -1
    if not 0 <= number < 65536:
        raise UsageError(f"{text!r} is no port: a number up to 65535, or 0 for any that is free")
    return number


def run(args: argparse.Namespace) -> int:
    _needs_web()
    store, path = wiring.open_store(), settings.store_path(os.environ)
    manage_logins.must_be_let_in(store, wiring.caller(store, "cli"))
    daemon.must_be_alone(path)
    site = _site(store, args)
    if args.detach:
        up = daemon.start(path, _options(args, site))
        _say(store, up.url, args, site)
        print(f"It runs in the background (process {up.pid}): gate down ends it.")
        return 0
    # Imported here: asking for --help must not load a web server.
    from gatebell.web.server import serve

    lock = daemon.become(path, site.url, personal=site.personal)
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
        os.close(lock)
    return leave(code, left)


def _listen(store: Store) -> Callable[[], None]:
    """Answer agents that ask by files, wherever nobody else listens; returns what ends that."""
    # Imported here: asking for --help must not load it.
    from gatebell.file_protocol.listener import Beside, Listener, list_initialised

    def tell(project: str, happening: Happening) -> None:
        if happening.what in _PROBLEMS:
            words = inert_line(f"{happening.who}: {happening.words}", 500)
            print(f"gate: in {inert_line(project, 200)}: {words}", file=sys.stderr, flush=True)

    who = wiring.caller(store, "cli")
    if who.agent and store.throwaway:
        # Anybody answers in there, and the questions are those of other projects.
        return lambda: None
    beside = Beside(Listener(wiring.open_store(), lambda: list_initialised(os.environ), who, tell))
    beside.begin()
    return beside.end


def _needs_web() -> None:
    # Imported here: only whoever starts it must know.
    from importlib.util import find_spec

    for name in ("jinja2", "markdown_it", "nh3", "sse_starlette", "starlette", "uvicorn"):
        if find_spec(name) is None:
            raise UsageError(f"the web inbox needs {name}: pip install 'gatebell[web]'")


def _site(store: Store, args: argparse.Namespace) -> Site:
    """Where it is reached, if it may be reached there."""
    from gatebell.web.context import local_site, public_site

    tls = bool(args.tls_cert and args.tls_key)
    if bool(args.tls_cert) != bool(args.tls_key):
        raise UsageError("--tls-cert and --tls-key go together")
    if args.public_url and not args.public_url.startswith("https://"):
        raise UsageError("--public-url begins with https://: passwords and answers go through it")
    here = args.host in _LOOPBACK
    if here and not args.public_url:
        return local_site(_free_port(args), "https" if tls else "http")
    if not here and not tls and not (args.public_url and args.proxy):
        raise UsageError(
            f"{args.host} can be reached from elsewhere: give it TLS (--tls-cert, --tls-key), or name "
            "the proxy that speaks TLS for it (--proxy ADDRESS --public-url https://…)"
        )
    if not any(one.tokens for one in store.people.all()):
        raise UsageError(
            "whoever comes from elsewhere logs in with a personal token, and nobody has one: "
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
            raise UsageError(f"port {args.port} cannot be used ({why}): --port N") from None
        args.port = listener.getsockname()[1]
    return int(args.port)


def _options(args: argparse.Namespace, site: Site) -> list[str]:
    """The same again, for the process in the background."""
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
    """One line each: where it is, who is told, what waits."""
    who = wiring.caller(store, "cli")
    may_link = who.verified or not site.personal
    link = manage_logins.link_to(store, url, who) if may_link else f"{url}/login"
    print(f"Inbox          {link}")
    if args.qr:
        # Imported here: few have a phone at hand.
        import segno

        segno.make(manage_logins.link_to(store, url, who) if may_link else link).terminal(
            compact=True
        )
        if not site.personal:
            print("               (a phone reaches it only through --public-url or --host)")
    routes = [route.name for route in wiring.post(store).routes]
    print(f"Notifications  {', '.join(routes) or 'none set up yet: gate notify says how'}")
    waiting = sum(number for _, number in store.asks.waiting_counts())
    print(f"Deadlines      kept; {waiting} {'ask is' if waiting == 1 else 'asks are'} waiting")
    print(f"Runs           {'left to others' if args.no_worker else f'driven, {_SLOTS} at once'}")
    print(f"Files          {_files_in_words()}")
    if may_link:
        print("The link works once, within 15 minutes; gate link makes another.")
    sys.stdout.flush()


def _files_in_words() -> str:
    """Where agents that ask by files are answered."""
    from gatebell.file_protocol.listener import list_initialised

    number = len(list_initialised(os.environ))
    if not number:
        return "no project is set up for questions in files: gate init"
    where = "1 project" if number == 1 else f"{number} projects"
    return f"questions in files of {where} are listened to; gate listen asks you"
