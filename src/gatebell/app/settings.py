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
    "data_folder",
    "dialog",
    "inbox_url",
    "models",
    "read_settings",
    "routes",
    "session_cli",
    "session_command",
    "settings_file",
    "store_path",
    "templates",
]


NAME, OLD_NAME = folders.NAME, folders.OLD_NAME
_SHARE_OF_LIMIT = 0.9
"""Of the time that a host gives a shell command."""
DIALOGS = ("auto", "tkinter", "zenity", "yad", "osascript", "dialog", "off")


def data_folder(environ: Mapping[str, str]) -> str:
    return folders.data_folder(environ)


def settings_file(environ: Mapping[str, str]) -> str:
    return folders.settings_file(environ)


def old_folders(environ: Mapping[str, str]) -> list[str]:
    """Return the folders that are used under the old name."""
    return folders.old_folders(environ)


def ignored_folders(environ: Mapping[str, str]) -> list[str]:
    """Return the folders of the old name that are not used, because there is a new one as well."""
    return folders.ignored_folders(environ)


def store_path(environ: Mapping[str, str]) -> str:
    """The database file that the settings name."""
    named = read_settings(environ)["store"].text.removeprefix("sqlite://")
    if "://" in named:
        raise UsageError(f"GATE_STORE={named}: this gatebell keeps its inbox in SQLite only")
    path = os.path.abspath(os.path.expanduser(named or data_folder(environ)))
    is_folder = not named or named.endswith(os.sep) or os.path.isdir(path)
    return os.path.join(path, "gate.db") if is_folder else path


def agent_wait_seconds(environ: Mapping[str, str]) -> float:
    value = read_settings(environ)["agent_wait_seconds"]
    try:
        seconds = float(value.text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < 1e9:
        raise UsageError(f"agent_wait_seconds ({value.source}) is a number of seconds above 0")
    return min([seconds, *(_SHARE_OF_LIMIT * limit for limit in _shell_limits(environ))])


def _shell_limits(environ: Mapping[str, str]) -> Iterator[float]:
    """How many seconds Claude Code gives a shell command, where the person has said it."""
    for name in ("BASH_DEFAULT_TIMEOUT_MS", "BASH_MAX_TIMEOUT_MS"):
        given = environ.get(name, "")
        # Claude Code itself passes over what is no number.
        if given.isascii() and given.isdecimal() and int(given):
            yield int(given) / 1000


def session_cli(environ: Mapping[str, str]) -> str:
    value = read_settings(environ)["session_cli"]
    if value.text not in SESSION_CLIS:
        raise UsageError(f"session_cli ({value.source}) is one of {', '.join(SESSION_CLIS)}")
    return value.text


def dialog(environ: Mapping[str, str]) -> str:
    value = read_settings(environ)["dialog"]
    if value.text not in DIALOGS:
        raise UsageError(f"dialog ({value.source}) is one of {', '.join(DIALOGS)}")
    return value.text


def templates(environ: Mapping[str, str]) -> dict[str, str]:
    """The answers that the settings file holds ready, by name."""
    path = settings_file(environ)
    found = read_table(path, TEMPLATES)
    for name, text in found.items():
        if not isinstance(text, str):
            raise UsageError(f"templates.{name} in {path} is an answer, as a text")
    return found
