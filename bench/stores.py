"""Stores to measure: real files, outside the source tree, removed afterwards."""

from __future__ import annotations

import os
from contextlib import contextmanager
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from gatebell.adapters.sqlite.store import SqliteStore
from gatebell.adapters.system.clock import SystemClock
from gatebell.domain.asks.answers import Given
from gatebell.domain.asks.asks import Origin
from gatebell.domain.people.principals import SIGNS, Caller, person
from gatebell.services.asks import answer_ask, create_ask
from gatebell.services.asks.create_ask import Request

if TYPE_CHECKING:
    from collections.abc import Iterator

# Like the command line in a shell a few processes deep.
CALLER = Caller(
    person("ada"),
    verified=False,
    via="cli",
    agent=None,
    evidence={
        "uid": 1000,
        "terminal": "/dev/pts/1",
        "ancestors": ["4711 bash", "4242 tmux: server", "1 systemd"],
        "variables": [],
    },
)
ORIGIN = Origin("/projects/shop", "/projects/shop/api", "claude", started_by=person("ada"))
REQUEST = Request("Which region should the new bucket be in?")
GIVEN = Given("eu-central-1")


@contextmanager
def folder() -> Iterator[str]:
    """Make a new folder on the disk of the temporary files."""
    with TemporaryDirectory(prefix="gatebell-bench-") as path:
        yield path


def open_store(path: str) -> SqliteStore:
    return SqliteStore(path, SystemClock())


def ask(store: SqliteStore, request: Request = REQUEST) -> str:
    """Open an ask and return its id."""
    return create_ask.ask(store, request, ORIGIN, CALLER).ask.id


def answer(store: SqliteStore, ask_id: str) -> None:
    answer_ask.answer(store, ask_id, CALLER, GIVEN)


def environment(path: str) -> dict[str, str]:
    """Return the environment of a child that uses this store like a person at a terminal."""
    signs = {variable for sign in SIGNS for variable in sign.variables}
    # Without byte code files, every child would compile its imports.
    unwanted = {*signs, "GATE_TOKEN", "PYTHONDONTWRITEBYTECODE"}
    kept = {name: value for name, value in os.environ.items() if name not in unwanted}
    nowhere = os.path.join(os.path.dirname(path), "no-settings")
    return kept | {"GATE_STORE": path, "XDG_CONFIG_HOME": nowhere}
