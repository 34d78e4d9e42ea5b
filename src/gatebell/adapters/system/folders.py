"""Find the user's folders for data and settings.

A folder that an earlier version made under the old name is still used: worktrees and the agents'
sessions contain its path.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

NAME, OLD_NAME = "gatebell", "humangate"
# Another program also has the old name: a folder without any of these is not ours.
_DATA = ("gate.db", "installed")
_SETTINGS = ("config.toml", "agents", "flows", "templates")


def data_folder(environ: Mapping[str, str]) -> str:
    return _find(_data_base(environ), _DATA)


def settings_file(environ: Mapping[str, str]) -> str:
    return os.path.join(_find(_settings_base(environ), _SETTINGS), "config.toml")


def old_folders(environ: Mapping[str, str]) -> list[str]:
    """Return the folders that are used under the old name."""
    used = (data_folder(environ), os.path.dirname(settings_file(environ)))
    return [folder for folder in used if os.path.basename(folder) == OLD_NAME]


def ignored_folders(environ: Mapping[str, str]) -> list[str]:
    """Return the folders of the old name that are ignored, because the new ones exist."""
    found = []
    for base, signs in ((_data_base(environ), _DATA), (_settings_base(environ), _SETTINGS)):
        new, old = os.path.join(base, NAME), os.path.join(base, OLD_NAME)
        if os.path.isdir(new) and _is_ours(old, signs) and not os.path.samefile(new, old):
            found.append(old)
    return found


def _data_base(environ: Mapping[str, str]) -> str:
    return environ.get("XDG_DATA_HOME") or os.path.expanduser("~/.local/share")


def _settings_base(environ: Mapping[str, str]) -> str:
    return environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")


def runs_folder(store_path: str) -> str:
    """Return the folder for the worktrees and logs of a store's runs, beside the store."""
    return f"{os.path.abspath(store_path)}-runs"


def _find(base: str, signs: tuple[str, ...]) -> str:
    new, old = os.path.join(base, NAME), os.path.join(base, OLD_NAME)
    return old if not os.path.isdir(new) and _is_ours(old, signs) else new


def _is_ours(folder: str, signs: tuple[str, ...]) -> bool:
    return any(os.path.exists(os.path.join(folder, sign)) for sign in signs)
