"""Find hooks of Claude Code that answer its forms, or change the answer, in place of a person."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

_EVENTS = ("Elicitation", "ElicitationResult")
_MANAGED = "/etc/claude-code/managed-settings.json"


def answering_forms(environ: Mapping[str, str], folder: str) -> str:
    """Return the settings file that has such a hook or cannot be read; empty if there is none."""
    home = environ.get("CLAUDE_CONFIG_DIR") or os.path.expanduser("~/.claude")
    folders = (home, os.path.join(folder, ".claude"))
    names = ("settings.json", "settings.local.json")
    paths = [os.path.join(one, name) for one in folders for name in names]
    return next((path for path in (*paths, _MANAGED) if _has_hook(path)), "")


def _has_hook(path: str) -> bool:
    try:
        with open(path, encoding="utf-8") as file:
            settings: Any = json.load(file)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except (OSError, ValueError, RecursionError):
        return True
    hooks = settings.get("hooks") if isinstance(settings, dict) else None
    return isinstance(hooks, dict) and any(hooks.get(event) for event in _EVENTS)
