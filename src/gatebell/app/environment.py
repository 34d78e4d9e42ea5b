"""Describe the environment of this process: user, terminal, ancestors, agent, project."""

from __future__ import annotations

import os
import pwd
from typing import TYPE_CHECKING, Any

from gatebell.domain.people.principals import (
    GONE,
    OF_ANOTHER_USER,
    SIGNS,
    UNREADABLE,
    Caller,
    Process,
    Sighting,
    find_agent,
    person,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gatebell.domain.runs.identities import Identity

HELPERS, QUESTIONS, WAY = ".helpers", "questions", "project"
"""The folder for questions in files, its folder of questions, and its file that names a project."""
_MAX_WALKS = 5
_MAX_PATH_BYTES = 4097
_INTERPRETERS = ("node", "bun", "deno", "python", "python3", "bash", "sh")


def user_name() -> str:
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return f"uid{os.getuid()}"


def sees_processes() -> bool:
    """Return whether /proc exists; without it, only the agent's variables can be read."""
    return os.path.exists("/proc/self/stat")


def identify(pid: int) -> Identity | None:
    """Return the process that has this number now, if there is one."""
    # Imported here and below: asking needs no code for other processes.
    from gatebell.adapters.system import processes

    return processes.identify(pid)


def start_of(pid: int) -> str:
    """Return the start of a process in this system's format, or "" if it has ended."""
    from gatebell.adapters.system import processes

    found = processes.identify(pid)
    return found.start if found else ""


def ancestors() -> list[Process]:
    """Return the processes above this one, nearest first; empty without /proc.

    A process that cannot be read is the last one; its name is the reason.
    """
    # A parent may end during the walk; its children then have another parent.
    for _ in range(_MAX_WALKS):
        found, ended_at = _walk_up()
        if not ended_at or (not found and not sees_processes()):
            return found
        if (hidden := _describe_hidden(ended_at)) != GONE:
            break
    return [*found, Process(ended_at, hidden, hidden)]


def _walk_up() -> tuple[list[Process], int]:
    """Return the readable processes above this one, and the first unreadable one, or 0."""
    found: list[Process] = []
    seen = {0}
    pid = os.getppid()
    while pid not in seen:
        seen.add(pid)
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
                stat = file.read()
            with open(f"/proc/{pid}/cmdline", encoding="utf-8", errors="replace") as file:
                words = file.read(4096).split("\0")
        except OSError:
            return found, pid
        # The name is in brackets, and may itself contain brackets and blanks.
        name = stat[stat.index("(") + 1 : stat.rindex(")")]
        found.append(Process(pid, name, _choose_program_name(words)))
        pid = int(stat[stat.rindex(")") + 2 :].split()[1])
    return found, 0


def _describe_hidden(pid: int) -> str:
    """Return why a process cannot be read; with hidepid, other users' processes cannot."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return GONE
    except PermissionError:
        return OF_ANOTHER_USER
    return UNREADABLE


def _choose_program_name(words: list[str]) -> str:
    program = os.path.basename(words[0])
    if program in _INTERPRETERS and len(words) > 1:
        return os.path.basename(words[1])
    return program


def terminal() -> str:
    for descriptor in (0, 1, 2):
        try:
            return os.ttyname(descriptor)
        except OSError:
            continue
    return ""


def caller(environ: Mapping[str, str], via: str) -> Caller:
    """Return the caller of this process: the OS user, not verified."""
    above = ancestors()
    agent = find_agent(environ, above)
    evidence: dict[str, Any] = {
        "uid": os.getuid(),
        "terminal": terminal(),
        "ancestors": [f"{process.pid} {process.name}" for process in above],
        "variables": [v for sign in SIGNS for v in sign.variables if v in environ],
    }
    return Caller(person(user_name()), verified=False, via=via, agent=agent, evidence=evidence)


def project(folder: str) -> str:
    """Return the nearest folder from here upwards that is a project, or the folder itself."""
    here = folder
    while here:
        if any(os.path.exists(os.path.join(here, sign)) for sign in (".git", ".gate")):
            return here
        parent = os.path.dirname(here)
        here = "" if parent == here else parent
    return folder


def project_key(folder: str) -> str:
    """Return the key of a project: the same in each clone, on every host."""
    # Imported here: only asks, tasks and rules need it.
    from gatebell.adapters.git.project_keys import find_key

    return find_key(folder)


def find_set_up_project(folder: str) -> str:
    """Return the nearest folder from here upwards that is set up for questions, or "".

    A worktree has no question folders. Its `.helpers/project` file or git's own records may name
    the project that has them.
    """
    while not os.path.lexists(helpers := os.path.join(folder, HELPERS)):
        if main := find_main_project(folder):
            return main
        if (parent := os.path.dirname(folder)) == folder:
            return ""
        folder = parent
    if os.path.lexists(os.path.join(helpers, QUESTIONS)):
        return folder
    found = read_project_link(folder) or folder
    return found if os.path.lexists(os.path.join(found, HELPERS)) else ""


def read_project_link(folder: str) -> str:
    """Return the project that the folder's own `.helpers/project` names, or ""."""
    return _read_first_line(os.path.join(folder, HELPERS, WAY))


def find_main_project(folder: str) -> str:
    """Return the project that has this folder as a worktree and is set up for questions, or ""."""
    main = _find_main_worktree(folder)
    return main if main and os.path.lexists(os.path.join(main, HELPERS)) else ""


def _find_main_worktree(folder: str) -> str:
    leads, _, git_dir = _read_first_line(os.path.join(folder, ".git")).partition(": ")
    if leads != "gitdir":
        return ""
    git_dir = os.path.join(folder, git_dir)
    common = _read_first_line(os.path.join(git_dir, "commondir"))
    repository = os.path.realpath(os.path.join(git_dir, common)) if common else ""
    main, name = os.path.split(repository)
    return main if name == ".git" else ""


def _read_first_line(path: str) -> str:
    """Return the first line of a file, or "" if it cannot be read."""
    try:
        # Follow no link and do not block: an agent may have put anything here.
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        return os.fsdecode(os.read(file, _MAX_PATH_BYTES)).partition("\n")[0]
    except OSError:
        return ""
    finally:
        os.close(file)


def choose_asker_name(agent: Sighting | None) -> str:
    return agent.cli if agent else user_name()
