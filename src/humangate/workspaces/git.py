"""What has changed in a repository. No repository, no git, or too slow: nothing to tell."""

from __future__ import annotations

import os
import select
import signal
import time
from contextlib import suppress

_PATIENCE_SECONDS = 2.0
_MOST_BYTES = 200_000
# The repository is the agent's to change; the programs its configuration names are not run.
_PLAIN = (
    *("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "--no-optional-locks"),
    "--no-pager",
)


def branch(folder: str) -> str:
    """The branch checked out in this folder, read without starting git."""
    while folder:
        dot_git = os.path.join(folder, ".git")
        try:
            if os.path.isfile(dot_git):
                with open(dot_git, encoding="utf-8") as file:
                    dot_git = os.path.join(folder, file.read(4096).removeprefix("gitdir: ").strip())
            with open(os.path.join(dot_git, "HEAD"), encoding="utf-8") as file:
                return file.read(4096).strip().removeprefix("ref: refs/heads/")
        except (OSError, ValueError):
            parent = os.path.dirname(folder)
            folder = "" if parent == folder else parent
    return ""


def changes(folder: str, since: str) -> str:
    """Commits since a time, what is new or changed and not committed, and the diff."""
    if not branch(folder):
        return ""
    parts = []
    if since:
        parts.append(_run(folder, "log", f"--since={since}", "--format=commit %h %s"))
    parts.append(_run(folder, "status", "--short", "--untracked-files=normal"))
    parts.append(_run(folder, "diff", "--no-ext-diff", "--no-textconv", "--no-color", "HEAD"))
    return "\n".join(part for part in parts if part)


def _run(folder: str, *words: str) -> str:
    """The output of a git command. Without `subprocess`, which takes longer to load than git."""
    reading, writing = os.pipe()
    actions = [
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_DUP2, writing, 1),
        (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
    ]
    try:
        pid = os.posix_spawnp(
            "git",
            ["git", "-C", folder, *_PLAIN, *words],
            os.environ,
            file_actions=actions,
            setpgroup=0,
        )
    except OSError:
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
