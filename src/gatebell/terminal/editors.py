"""Find the person's editor, and open a folder in it."""

from __future__ import annotations

import os
import shutil

from gatebell.errors import UsageError

_EDITORS = ("code", "cursor")


def find() -> str:
    """Return $VISUAL, $EDITOR, or the first installed editor that opens folders."""
    named = os.environ.get("VISUAL") or os.environ.get("EDITOR")
    found = named or next((name for name in _EDITORS if shutil.which(name)), "")
    if not found:
        raise UsageError("no editor was found; set $VISUAL or $EDITOR")
    return found


def build_command(editor: str, folder: str) -> list[str]:
    # Through a shell, because the variable may have options: "code --wait".
    return ["/bin/sh", "-c", f'{editor} "$1"', "gate", folder]
