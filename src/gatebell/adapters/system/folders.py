"""The folders of the user in which data and settings are kept.

A folder that an earlier version made under the old name stays where it is: worktrees and the
sessions of agents hold its path.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

NAME, OLD_NAME = "gatebell", "humangate"


def data_folder(environ: Mapping[str, str]) -> str:
    return _find(environ.get("XDG_DATA_HOME") or os.path.expanduser("~/.local/share"))


def settings_file(environ: Mapping[str, str]) -> str:
    base = environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
    return os.path.join(_find(base), "config.toml")


def _find(base: str) -> str:
    new, old = os.path.join(base, NAME), os.path.join(base, OLD_NAME)
    return old if os.path.isdir(old) and not os.path.isdir(new) else new
