"""Who is typing: the options by which a person proves it, and the caller they make."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from gatebell.app import wiring
from gatebell.errors import AgentRefusedError, RefusedError, UsageError

if TYPE_CHECKING:
    import argparse

    from gatebell.domain.people.principals import Caller
    from gatebell.ports.store import Store


def add_identity(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--as",
        dest="as_name",
        default="",
        metavar="NAME",
        help="act as this person; needs their token (GATE_TOKEN, --token-file, or typed)",
    )
    parser.add_argument("--token-file", metavar="F", help="a file that holds the personal token")


def caller(store: Store, args: argparse.Namespace) -> Caller:
    """The caller of this command; whoever names a person or a token must have one."""
    who = wiring.caller(store, "cli", _token(args), args.as_name)
    if (args.as_name or args.token_file) and not who.verified:
        raise RefusedError("no token was given: GATE_TOKEN=…, --token-file F, or type it")
    return who


def must_be_known_beyond(store: Store, who: Caller, deed: str) -> None:
    """For effects outside of the store: an agent can make itself a throwaway one with a person."""
    if who.agent and store.throwaway:
        raise AgentRefusedError(
            f"only a person {deed}, and a token of a throwaway store does not count outside of it. "
            "Present a token of your own store: name that store in GATE_STORE, or unset it"
        )


def again(args: argparse.Namespace) -> list[str]:
    """The same options, for a command that is started for the same person."""
    words = ["--as", args.as_name] if args.as_name else []
    return [*words, "--token-file", args.token_file] if args.token_file else words


def _token(args: argparse.Namespace) -> str:
    if args.token_file:
        return read_text(args.token_file).strip()
    if not args.as_name or os.environ.get("GATE_TOKEN") or not sys.stdin.isatty():
        return ""
    from getpass import getpass

    return getpass(f"Token of {args.as_name}: ")


def read_text(path: str) -> str:
    """A file's text, or standard input for `-`; nothing in it is changed in silence."""
    try:
        if path == "-":
            content = sys.stdin.buffer.read()
        else:
            with open(path, "rb") as file:
                content = file.read()
        text = content.decode("utf-8")
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        raise UsageError(f"{path} is not text in UTF-8, and nothing else can be shown")
    return text
