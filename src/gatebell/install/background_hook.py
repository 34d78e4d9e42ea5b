"""The hook that passes answers on after a tool call. It costs nothing while no answer is awaited."""

from __future__ import annotations

import os
import shlex
from typing import TYPE_CHECKING

from gatebell.app import background

if TYPE_CHECKING:
    from gatebell.install.places import Place


def hand_over_hook(place: Place, hook: str) -> str:
    """Return a line of shell that starts the hook only if the agents have background asks.

    It runs after every tool call of every session, and a Python program takes 100 ms to start.
    """
    files = os.path.join(shlex.quote(background.folder(place.environ)), "*")
    return f'set -- {files}; [ ! -e "$1" ] || exec {hook}'
