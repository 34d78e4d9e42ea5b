"""The project's .gate/backlog.toml."""

from __future__ import annotations

import os

from gatebell.adapters.files.text_files import read_text
from gatebell.domain.tasks.backlog_settings import BacklogTerms, parse_backlog_terms
from gatebell.errors import GateError, UsageError

_COMMIT_LENGTH = 40


class BacklogFiles:
    """How the tasks of each project are worked on."""

    def terms(self, project: str) -> BacklogTerms:
        # Imported here: most who read the file do not look at the repository.
        from gatebell.adapters.git import changes

        terms, here = read(project), changes.branch(project)
        # Where no branch is checked out, git names the commit.
        is_commit = len(here) >= _COMMIT_LENGTH and not here.strip("0123456789abcdef")
        return terms if terms.base or is_commit else terms._replace(base=here)

    def problem(self, project: str) -> str:
        try:
            read(project)
        except GateError as error:
            return str(error)
        return ""


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
