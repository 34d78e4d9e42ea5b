"""Say where a session opens, on a machine that has only a server."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gatebell.cli.identity import open_backend
from gatebell.domain.asks.owners import run_of
from gatebell.domain.enums import AskKind
from gatebell.domain.text.display import inert_line
from gatebell.errors import RefusedError
from gatebell.services.sessions import session_place

if TYPE_CHECKING:
    import argparse


def describe_place(args: argparse.Namespace) -> RefusedError:
    """Return the error that says where this session opens."""
    backend, _ = open_backend(args)
    ask = backend.find(args.id)
    if ask.question.kind == AskKind.SESSION:
        where = session_place.describe_place(ask, session_place.find_host(backend.events(ask.id)))
    else:
        number = run_of(ask.origin.owner)
        host = backend.run(number).run.host if number is not None else ""
        where = f"{ask.id} has its agent " + (
            f"on {inert_line(host, 80)}: run gate continue {ask.id} there"
            if host
            else f"on another machine. Answer it: gate answer {ask.id}"
        )
    return RefusedError(
        f"{where}. gate continue also needs the store itself, and this machine has only "
        f"{backend.name}"
    )
