"""Where a server listens: its options, the address that clients use, and its notifications."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gatebell.app import wiring
from gatebell.errors import UsageError
from gatebell.services.notifications.send_notices import Sender

if TYPE_CHECKING:
    import argparse

    from gatebell.ports.store import Store
    from gatebell.web.context import Site

PORT = 4283
LOCAL_HOST = "127.0.0.1"
_LOOPBACK = ("127.0.0.1", "::1", "localhost")


def add_listening(parser: argparse.ArgumentParser) -> None:
    """Add the options of the address, TLS and the proxy."""
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
        default=LOCAL_HOST,
        metavar="ADDRESS",
        help="the address to listen on (127.0.0.1)",
    )
    add("--tls-cert", default="", metavar="F", help="serve TLS with this certificate")
    add("--tls-key", default="", metavar="F", help="serve TLS with this key")
    add("--public-url", default="", metavar="URL", help="the https:// address that people use")
    add("--proxy", default="", metavar="ADDRESS", help="the proxy to trust (127.0.0.1)")


def parse_port(text: str) -> int:
    number = int(text) if text.isdecimal() else -1
    if not 0 <= number < 65536:
        raise UsageError(f"expected a port from 0 (any free one) to 65535, got {text!r}")
    return number


def choose_site(store: Store, args: argparse.Namespace) -> Site:
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
    if not args.public_url and not args.host.strip("0.:"):
        raise UsageError(
            f"{args.host or 'no host'} is every address of this machine, and clients use one: name it with "
            "--public-url https://gate.example.org, with the port if it is not 443"
        )
    host = f"[{args.host}]" if ":" in args.host else args.host
    return public_site(args.public_url or f"https://{host}:{_free_port(args)}")


def build_sender(store: Store, site: Site) -> Sender:
    """Return the sender of a server's notifications; without a setting, they link to this site."""
    post, source = wiring.post(store), wiring.post_source(store, site.url)
    return Sender(store, post._replace(url=post.url or site.url), source)


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
