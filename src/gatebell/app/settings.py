"""Settings: an environment variable wins over the settings file, the file over the default."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from gatebell.adapters.files.settings_file import (
    MODEL_WORDS,
    MODELS,
    SESSION_CLIS,
    SETTINGS,
    TEMPLATES,
    Setting,
    Value,
    inbox_url,
    models,
    read_settings,
    read_table,
    routes,
    session_command,
)
from gatebell.adapters.remote.servers import check_address, read_login
from gatebell.adapters.system import folders
from gatebell.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = [
    "DIALOGS",
    "MODELS",
    "MODEL_WORDS",
    "SESSION_CLIS",
    "SETTINGS",
    "Setting",
    "Value",
    "agent_wait_seconds",
    "ca_file",
    "data_folder",
    "dialog",
    "inbox_url",
    "local_path",
    "models",
    "pool",
    "read_settings",
    "routes",
    "server",
    "session_cli",
    "session_command",
    "settings_file",
    "store_name",
    "store_path",
    "store_place",
    "templates",
    "temporal",
    "travel",
]


ADDRESSES = ("postgresql://", "postgres://")
NAME, OLD_NAME = folders.NAME, folders.OLD_NAME
_SHARE_OF_LIMIT = 0.9
"""Of a host's time limit for a shell command."""
DIALOGS = ("auto", "tkinter", "zenity", "yad", "osascript", "dialog", "off")


def data_folder(environ: Mapping[str, str]) -> str:
    return folders.data_folder(environ)


def settings_file(environ: Mapping[str, str]) -> str:
    return folders.settings_file(environ)


def old_folders(environ: Mapping[str, str]) -> list[str]:
    """Return the folders that are used under the old name."""
    return folders.old_folders(environ)


def ignored_folders(environ: Mapping[str, str]) -> list[str]:
    """Return the folders of the old name that are ignored, because the new ones exist."""
    return folders.ignored_folders(environ)


def store_place(environ: Mapping[str, str]) -> str:
    """Return the store that the settings name: a path, or the address of a PostgreSQL store."""
    values = read_settings(environ)
    named, source = values["store"]
    if not named and (path := values["store_file"].text):
        return _read_address(path)
    if named.startswith(ADDRESSES):
        return named
    named = named.removeprefix("sqlite://")
    if "://" in named:
        # Without the address itself: it may have a password.
        raise UsageError(
            f"the store of {source} is neither a path nor an address that begins with {ADDRESSES[0]}"
        )
    path = os.path.abspath(os.path.expanduser(named or data_folder(environ)))
    is_folder = not named or named.endswith(os.sep) or os.path.isdir(path)
    return os.path.join(path, "gate.db") if is_folder else path


def server(environ: Mapping[str, str]) -> str:
    """Return the address of the server that keeps the asks, or "" for a store of this machine.

    A store that the environment names wins over a login and the settings file.
    """
    named = environ.get("GATE_SERVER", "")
    if not named and names_store(environ):
        return ""
    return check_address(named or read_settings(environ)["server"].text or read_login(environ))


def server_alone(environ: Mapping[str, str]) -> str:
    """Return the address of the server if this machine has no store of its own, else ""."""
    return "" if names_store(environ) else server(environ)


def names_store(environ: Mapping[str, str]) -> bool:
    """Return whether the environment itself names a store."""
    return bool(environ.get("GATE_STORE") or environ.get("GATE_STORE_FILE"))


def ca_file(environ: Mapping[str, str]) -> str:
    """Return the file with the certificates that the server's certificate is checked with, or ""."""
    return read_settings(environ)["ca"].text


def store_path(environ: Mapping[str, str]) -> str:
    """Return the path of the database file that the settings name.

    For a PostgreSQL store: the path beside which this machine keeps its own files of that store.
    """
    place = store_place(environ)
    return address_path(place, environ) if place.startswith(ADDRESSES) else place


def _read_address(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            named = file.read().strip()
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", "") or "it is not text"
        raise UsageError(f"the file {path} of GATE_STORE_FILE cannot be read: {why}") from None
    if not named.startswith(ADDRESSES):
        raise UsageError(f"the file {path} of GATE_STORE_FILE has no address {ADDRESSES[0]}…")
    return named


def address_path(address: str, environ: Mapping[str, str]) -> str:
    """Return the path beside which this machine keeps its own files of a PostgreSQL store."""
    # Imported here: only servers and workers use such a store.
    from gatebell.adapters.postgres.names import name_store
    from gatebell.domain.digests import text_digest

    folder = f"postgres-{text_digest(name_store(address))[:12]}"
    return os.path.join(data_folder(environ), folder, "gate.db")


def store_name(environ: Mapping[str, str]) -> str:
    """Return the store for messages: its path, or its address without the user and the password."""
    place = store_place(environ)
    if not place.startswith(ADDRESSES):
        return place
    # Imported here: only servers and workers use such a store.
    from gatebell.adapters.postgres.names import name_store

    return name_store(place)


def key_file(environ: Mapping[str, str]) -> str:
    return os.path.expanduser(read_settings(environ)["key_file"].text)


def local_path(environ: Mapping[str, str]) -> str:
    """Return the beginning of the paths of this host's files for the store of the settings."""
    return store_path(environ)


def agent_wait_seconds(environ: Mapping[str, str]) -> float:
    value = read_settings(environ)["agent_wait_seconds"]
    try:
        seconds = float(value.text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < 1e9:
        raise _build_error("agent_wait_seconds", value, "a number of seconds above 0")
    return min([seconds, *(_SHARE_OF_LIMIT * limit for limit in _shell_limits(environ))])


def _build_error(name: str, value: Value, expected: str) -> UsageError:
    return UsageError(f"{name} ({value.source}): expected {expected}, got {value.text!r}")


def _shell_limits(environ: Mapping[str, str]) -> Iterator[float]:
    """Return Claude Code's limits for a shell command in seconds, if the user has set them."""
    for name in ("BASH_DEFAULT_TIMEOUT_MS", "BASH_MAX_TIMEOUT_MS"):
        given = environ.get(name, "")
        # Claude Code itself ignores a value that is not a number.
        if given.isascii() and given.isdecimal() and int(given):
            yield int(given) / 1000


def session_cli(environ: Mapping[str, str]) -> str:
    value = read_settings(environ)["session_cli"]
    if value.text not in SESSION_CLIS:
        raise _build_error("session_cli", value, f"one of {', '.join(SESSION_CLIS)}")
    return value.text


def dialog(environ: Mapping[str, str]) -> str:
    value = read_settings(environ)["dialog"]
    if value.text not in DIALOGS:
        raise _build_error("dialog", value, f"one of {', '.join(DIALOGS)}")
    return value.text


def pool(environ: Mapping[str, str]) -> str:
    value = read_settings(environ)["pool"]
    # Imported here: only workers have a pool.
    from gatebell.adapters.system.hosts import is_name

    if not is_name(value.text):
        raise _build_error("pool", value, "at most 64 letters, digits, dots, '-' and '_'")
    return value.text


def travel(environ: Mapping[str, str]) -> Value:
    """Return where waiting runs go: `origin`, an address, or an empty text."""
    return read_settings(environ)["travel"]


def temporal(environ: Mapping[str, str]) -> tuple[str, str]:
    """Return the address of the Temporal server, and the namespace."""
    values = read_settings(environ)
    return values["temporal"].text, values["temporal_namespace"].text


def templates(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the templates of the settings file, by name."""
    path = settings_file(environ)
    found = read_table(path, TEMPLATES)
    for name, text in found.items():
        if not isinstance(text, str):
            raise UsageError(f"templates.{name} in {path}: expected a text, got {text!r}")
    return found
