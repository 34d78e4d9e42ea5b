"""The present content of the file that a held call would change, for the page of its ask."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

from gatebell.domain.people.logins import client_of
from gatebell.domain.permissions.calls import WRITERS

if TYPE_CHECKING:
    from gatebell.domain.asks.asks import Ask

_MAX_BYTES = 1_000_000


def read_edited_file(ask: Ask) -> str | None:
    """Return the text of the file; None if it is not there, not text, or not of the project.

    Only for a call of this machine: the path of another one may name any file here.
    """
    call, project = ask.question.call, ask.origin.project
    if call is None or call.tool not in WRITERS or not call.real_path or not project:
        return None
    inside = f"{os.path.realpath(project).rstrip('/')}/"
    if not ask.pending or client_of(ask.origin.session) or not call.real_path.startswith(inside):
        return None
    # A folder on the way may be a link by now.
    if os.path.realpath(call.real_path) != call.real_path:
        return None
    try:
        return _read(call.real_path)
    except (OSError, ValueError):
        return None


def _read(path: str) -> str | None:
    # Open without waiting and without a link: an agent may have put a pipe or a link there.
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
    with open(os.open(path, flags), encoding="utf-8", newline="") as file:
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode) or found.st_size > _MAX_BYTES:
            return None
        return file.read()
