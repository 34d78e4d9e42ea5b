"""Files of an agent's question, and of the answer to it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from gatebell.errors import UsageError

if TYPE_CHECKING:
    from gatebell.domain.asks.asks import Ask, Origin
    from gatebell.domain.asks.requests import Request
    from gatebell.ports.backends.backend import Backend

# Imported inside the functions: most questions have no files.


def attach_files(backend: Backend, request: Request, paths: Any, origin: Origin) -> Request:
    """Attach files of the project, and no others: an agent may be led to ask for any path."""
    if not paths:
        return request
    from gatebell.app.attached_files import attach

    if not isinstance(paths, list) or not all(isinstance(path, str) for path in paths):
        raise UsageError("attachments must be a list of paths of files")
    within = origin.project or origin.cwd
    if not within:
        raise UsageError("there is no project here, so no file can be attached: ask without")
    found = [os.path.join(origin.cwd, path) for path in paths]
    return request._replace(attachments=attach(backend, found, within))


def save_files(backend: Backend, ask: Ask) -> str:
    """Save the files of the answer beside the store; return the lines that name them."""
    if not ask.answer_attachments:
        return ""
    from gatebell.app.attached_files import save

    folder = os.path.join(backend.folder, "received", ask.id)
    saved = save(backend, ask, ask.answer_attachments, folder)
    return "".join(f"\nattached file: {path}" for path in saved)
