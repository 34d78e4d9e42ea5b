"""The variables that let a process into the store or sign it in: agents' programs get none."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

_SECRETS = frozenset(("GATE_TOKEN", "GATE_SERVER_TOKEN", "GATE_STORE_FILE", "GATE_KEY_FILE"))
_DATABASE_PREFIX = "PG"
_FILE_SCHEME = "sqlite://"


def remove_secrets(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables without tokens and without the way to a database server.

    If the store is on a database server, that includes the variables of its client library. With a
    store in a file they belong to the user's project, and stay.
    """
    on_server = _is_on_server(environ.get("GATE_STORE", "")) or "GATE_STORE_FILE" in environ
    return {
        name: text
        for name, text in environ.items()
        if name not in _SECRETS
        and not (on_server and (name == "GATE_STORE" or name.startswith(_DATABASE_PREFIX)))
    }


def _is_on_server(store: str) -> bool:
    return "://" in store.removeprefix(_FILE_SCHEME)
