"""Read the project's .gate/backlog.toml."""

from __future__ import annotations

import os

from gatebell.adapters.files.text_files import read_text
from gatebell.domain.tasks.backlog_settings import BacklogTerms, parse_backlog_terms
from gatebell.errors import GateError, UsageError

_COMMIT_LENGTH = 40


class BacklogFiles:
    """The backlog settings of each project."""

    def terms(self, project: str) -> BacklogTerms:
        # Imported here: most readers of the file do not need the repository.
        from gatebell.adapters.git.git_folders import read_branch

        terms, here = read(project), read_branch(project)
        # When no branch is checked out, git returns the commit.
        is_commit = len(here) >= _COMMIT_LENGTH and not here.strip("0123456789abcdef")
        return terms if terms.base or is_commit else terms._replace(base=here)

    def key(self, project: str) -> str:
        from gatebell.adapters.git.project_keys import find_key

        return find_key(project)

    def problem(self, project: str) -> str:
        try:
            read(project)
        except GateError as error:
            return str(error)
        return ""


def build_path(project: str) -> str:
    return os.path.join(project, ".gate", "backlog.toml")


def read(project: str) -> BacklogTerms:
    """Read how the tasks of a project are worked on; without the file, the defaults."""
    path = build_path(project)
    if not os.path.lexists(path):
        return BacklogTerms()
    # Imported here: most projects have no such file.
    import tomllib

    try:
        written = tomllib.loads(read_text(path, project))
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path} is not valid TOML: {error}") from None
    return parse_backlog_terms(written, path)
