"""The key of a project: the same on every host and in every clone.

An agent can write the files that are read here, so a key never widens what an agent may do.
"""

from __future__ import annotations

import os
import stat

from gatebell.adapters.system.hosts import this_host
from gatebell.domain.projects import normalise_remote, parse_name

_NAME_FILE = os.path.join(".gate", "project")
_MAX_NAME_BYTES = 1_000
_MAX_CONFIG_BYTES = 100_000
_MAX_LINK_BYTES = 4_096


def find_key(folder: str) -> str:
    """Return the name in .gate/project, or the address of `origin`, or the host and the folder."""
    if not folder:
        return ""
    if name := parse_name(_read(os.path.join(folder, _NAME_FILE), _MAX_NAME_BYTES)):
        return name
    if remote := normalise_remote(find_origin(folder)):
        return remote
    return f"{this_host()}:{folder}"


def find_origin(folder: str) -> str:
    """Return the address of `origin` as git's own file has it; no program is started."""
    text = _read(os.path.join(_find_git_folder(folder), "config"), _MAX_CONFIG_BYTES)
    inside, found = False, ""
    for line in text.splitlines():
        name, _, value = line.strip().partition("=")
        if name.startswith("["):
            section, _, which = name.partition('"')
            inside = section.lower().strip() == "[remote" and which == 'origin"]'
        elif inside and name.strip().lower() == "url":
            # Of several, git fetches from the first one.
            found = found or value.strip().strip('"')
    return found


def _find_git_folder(folder: str) -> str:
    """Return the folder with the settings of a repository; a worktree has only a file."""
    path = os.path.join(folder, ".git")
    lead, _, git_folder = _read(path, _MAX_LINK_BYTES).partition("\n")[0].partition(": ")
    if lead != "gitdir":
        return path
    git_folder = os.path.join(folder, git_folder)
    common = _read(os.path.join(git_folder, "commondir"), _MAX_LINK_BYTES).partition("\n")[0]
    return os.path.join(git_folder, common) if common else git_folder


def _read(path: str, limit: int) -> str:
    """Return the text of a file, or "" if it cannot be read, is too long or is not a file."""
    try:
        # Follow no link and do not block: an agent may have put anything here.
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        if not stat.S_ISREG(os.fstat(file).st_mode):
            return ""
        text = os.read(file, limit + 1)
    except OSError:
        return ""
    finally:
        os.close(file)
    return text.decode("utf-8", "replace") if len(text) <= limit else ""
