"""What has changed in a repository. No repository, no git, or too slow: nothing to tell."""

from __future__ import annotations

import os
import select
import signal
import stat
import time
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_PATIENCE_SECONDS = 2.0
_MOST_BYTES = 200_000
# The repository is the agent's to change; the programs that its configuration names are not
# run: neither monitors, hooks, signature checkers and filters, nor whatever fetches missing parts.
OVERRULED = {
    "core.fsmonitor": "false",
    "core.hooksPath": "/dev/null",
    "log.showSignature": "false",
}
ENVIRONMENT = {
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
}
FILTERS = ("config", "--name-only", "--get-regexp", r"^filter\.")


def branch(folder: str) -> str:
    """The branch checked out in this folder, read without starting git."""
    while folder:
        dot_git = os.path.join(folder, ".git")
        if os.path.isfile(dot_git):
            pointer = _first_line(dot_git).removeprefix("gitdir: ")
            dot_git = os.path.join(folder, pointer)
        if head := _first_line(os.path.join(dot_git, "HEAD")):
            return head.removeprefix("ref: refs/heads/")
        parent = os.path.dirname(folder)
        folder = "" if parent == folder else parent
    return ""


def _first_line(path: str) -> str:
    try:
        # Without blocking: a pipe in the file's place must not hold the asker up.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError):
        return ""
    with os.fdopen(descriptor, "rb") as file:
        regular = stat.S_ISREG(os.fstat(descriptor).st_mode)
        return file.read(4096).decode("utf-8", "replace").strip() if regular else ""


def changes(folder: str, since: str) -> str:
    """Commits since a time, what is new or changed and not committed, and the diff."""
    if not branch(folder):
        return ""
    listed = _run(folder, OVERRULED, *FILTERS)
    overruled = OVERRULED | without_filters(listed.splitlines())
    commands = [
        ("log", f"--since={since}", "--format=commit %h %s") if since else (),
        ("status", "--short", "--untracked-files=normal", "--ignore-submodules=all"),
        (
            *("diff", "--no-ext-diff", "--no-textconv", "--no-color"),
            *("--ignore-submodules=all", "HEAD"),
        ),
    ]
    parts = [_run(folder, overruled, *command) for command in commands if command]
    return "\n".join(part for part in parts if part)


def without_filters(names: Iterable[str]) -> dict[str, str]:
    """What switches off the filters of these settings."""
    return {name: "false" if name.endswith(".required") else "" for name in names}


def as_variables(overruled: Mapping[str, str]) -> dict[str, str]:
    """Settings as git takes them from its environment, above those of every file."""
    variables = {"GIT_CONFIG_COUNT": str(len(overruled))}
    for number, (name, value) in enumerate(overruled.items()):
        variables[f"GIT_CONFIG_KEY_{number}"] = name
        variables[f"GIT_CONFIG_VALUE_{number}"] = value
    return variables


def _run(folder: str, overruled: Mapping[str, str], *words: str) -> str:
    """The output of a git command. Without `subprocess`, which takes longer to load than git."""
    reading, writing = os.pipe()
    actions = [
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_DUP2, writing, 1),
        (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
    ]
    environ = {**os.environ, **ENVIRONMENT, **as_variables(overruled)}
    try:
        pid = os.posix_spawnp(
            "git",
            ["git", "-C", folder, "--no-pager", *words],
            environ,
            file_actions=actions,
            setpgroup=0,
        )
    except (OSError, ValueError):
        os.close(reading)
        return ""
    finally:
        os.close(writing)
    output = _read(reading)
    with suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return output.decode("utf-8", "replace").rstrip()


def _read(descriptor: int) -> bytes:
    poll, output = select.poll(), b""
    poll.register(descriptor, select.POLLIN | select.POLLHUP)
    until = time.monotonic() + _PATIENCE_SECONDS
    while len(output) < _MOST_BYTES and poll.poll(max(0.0, until - time.monotonic()) * 1000):
        part = os.read(descriptor, 65536)
        if not part:
            break
        output += part
    os.close(descriptor)
    return output[:_MOST_BYTES]
