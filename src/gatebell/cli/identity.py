"""Options with which a person proves who they are, and the caller that follows from them."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from gatebell.app import server_access, wiring
from gatebell.errors import AgentRefusedError, RefusedError, UsageError

if TYPE_CHECKING:
    import argparse

    from gatebell.domain.people.principals import Caller
    from gatebell.ports.backends.backend import Backend
    from gatebell.ports.backends.server_watcher import ServerWatcher
    from gatebell.ports.store import Store


_NOT_PROVEN = "no token was given; set GATE_TOKEN, use --token-file F, or type it"


def add_identity(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--as",
        dest="as_name",
        default="",
        metavar="NAME",
        help="act as this person; needs their token: GATE_TOKEN, --token-file, or type it",
    )
    parser.add_argument("--token-file", metavar="F", help="a file that holds the personal token")


def caller(store: Store, args: argparse.Namespace) -> Caller:
    """Return the caller of this command; refuse --as and --token-file without a valid token."""
    who = wiring.caller(store, "cli", _read_token(args), args.as_name)
    _must_be_proven(who, args)
    return who


def open_backend(args: argparse.Namespace, *, has_notices: bool = True) -> tuple[Backend, Caller]:
    """Return the side that keeps the asks, and the caller of this command, as `caller` does.

    Args:
        has_notices: say on stderr when a server is slow or away
    """
    token = _read_token(args)
    if args.token_file and not token:
        # Not the token of the environment, which may belong to another person.
        raise RefusedError(_NOT_PROVEN)
    backend = open_asks(token) if has_notices else wiring.open_backend(token)
    who = backend.caller("cli", token, args.as_name)
    _must_be_proven(who, args)
    return backend, who


def open_asks(token: str = "") -> Backend:
    """Return the side that keeps the asks; say on stderr when a server is slow or away."""
    return wiring.open_backend(token, _watch)


def _watch(server: str) -> ServerWatcher:
    # Imported here: a store needs no notices.
    from gatebell.cli.server_notices import ServerNotices

    return ServerNotices(server)


def open_reader(args: argparse.Namespace) -> Backend:
    """Return the side that keeps the asks, for a list: only a token that was given is checked."""
    if args.as_name or args.token_file:
        return open_backend(args)[0]
    return open_asks()


def _must_be_proven(who: Caller, args: argparse.Namespace) -> None:
    if (args.as_name or args.token_file) and not who.verified:
        raise RefusedError(_NOT_PROVEN)


def must_be_known_beyond(store: Store, who: Caller, deed: str) -> None:
    """Refuse an agent whose person is known only in a throwaway store.

    An agent can make such a store and a person in it, so this guards effects outside of the store.
    """
    if who.agent and store.throwaway:
        raise AgentRefusedError(
            f"only a person {deed}, and a token of a throwaway store is valid only in that store. "
            "Use a token of your own store: name that store in GATE_STORE, or unset GATE_STORE"
        )


def repeat_identity(args: argparse.Namespace) -> list[str]:
    """Return the same options, for a command that is started for the same person."""
    words = ["--as", args.as_name] if args.as_name else []
    return [*words, "--token-file", args.token_file] if args.token_file else words


def _read_token(args: argparse.Namespace) -> str:
    if args.token_file:
        return read_text(args.token_file).strip()
    if not args.as_name or server_access.has_token() or not sys.stdin.isatty():
        return ""
    from getpass import getpass

    return getpass(f"Token of {args.as_name}: ")


def read_text(path: str) -> str:
    """Return the text of a file, or of standard input for `-`; refuse text that is not UTF-8."""
    try:
        if path == "-":
            content = sys.stdin.buffer.read()
        else:
            with open(path, "rb") as file:
                content = file.read()
        text = content.decode("utf-8")
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        raise UsageError(f"{path} is not UTF-8 text; convert it first")
    return text


def add_attach(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--attach",
        action="append",
        default=[],
        metavar="FILE",
        help="attach a file of at most 10 MB; repeat it for more, up to 10",
    )
