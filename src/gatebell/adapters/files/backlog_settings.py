"""The project's .gate/backlog.toml."""

from __future__ import annotations

import os

from gatebell.adapters.files.text_files import read_text
from gatebell.domain.tasks.backlog_settings import BacklogTerms, parse_backlog_terms
from gatebell.errors import UsageError


def path_of(project: str) -> str:
    return os.path.join(project, ".gate", "backlog.toml")


def read(project: str) -> BacklogTerms:
    """How the tasks of a project are worked on; without the file, as is usual."""
    path = path_of(project)
    if not os.path.lexists(path):
        return BacklogTerms()
    # Imported here: most projects have no such file.
    import tomllib

    try:
        written = tomllib.loads(read_text(path, project))
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path} is not TOML: {error}") from None
    return parse_backlog_terms(written, path)
