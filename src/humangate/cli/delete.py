"""Forget a run that has ended, with its folder and its agents' words; the audit trail stays."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from humangate import wiring
from humangate.cli import runs_screen
from humangate.cli.identity import add_identity, caller
from humangate.domain.runs import must_be_ended
from humangate.errors import RefusedError
from humangate.service import running
from humangate.service.journalling import place_of

if TYPE_CHECKING:
    import argparse


def configure(parser: argparse.ArgumentParser) -> None:
    runs_screen.add_run_id(parser)
    add_identity(parser)


def run(args: argparse.Namespace) -> int:
    store = wiring.open_store()
    who = caller(store, args)
    found = running.get(store, args.id)
    must_be_ended(found)
    if found.branch and (kept := wiring.workspace(store).remove(place_of(found), found.id)):
        raise RefusedError(f"run {found.id} was not deleted, for its work would be lost: {kept}")
    running.delete(store, found.id, who)
    with suppress(FileNotFoundError):
        os.unlink(wiring.Papers(store.path).path(found.id))
    print(f"Deleted run {found.id}")
    return 0
