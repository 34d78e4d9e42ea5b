"""The editor that a person wants a folder opened in."""

from __future__ import annotations

import os
import shutil

from gatebell.errors import UsageError

_EDITORS = ("code", "cursor")


def find() -> str:
    """$VISUAL, $EDITOR, or the first of those that open folders well."""
    named = os.environ.get("VISUAL") or os.environ.get("EDITOR")
    found = named or next((name for name in _EDITORS if shutil.which(name)), "")
    if not found:
        raise UsageError("no editor is known here: name yours in $VISUAL or $EDITOR")
    return found


def command(editor: str, folder: str) -> list[str]:
    # As a shell reads it, for people set "code --wait".
    return ["/bin/sh", "-c", f'{editor} "$1"', "gate", folder]
