"""Describe the changes in a repository; "" without a repository or git, or if git is too slow."""

from __future__ import annotations

import os
import select
import signal
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from gatebell.adapters.git import execution_ban, git_folders, shadow
from gatebell.errors import GateError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_PATIENCE_SECONDS = 2.0
_MAX_BYTES = 200_000


def describe_changes(folder: str, since: str) -> str:
    """Return the commits since a time, the uncommitted files, and the diff."""
    try:
        folders = git_folders.find(folder)
        return (
            execution_ban.call(lambda: _describe_changes(folders, since), shadow.find_git())
            if folders
            else ""
        )
    except GateError as error:
        return str(error)
    except (OSError, ValueError):
        return ""


def _describe_changes(folders: git_folders.GitFolders, since: str) -> str:
    words, environ = shadow.build_settings_command(folders)
    code, output = _run(folders.root, environ, words)
    settings = shadow.require_settings(folders, code, output, "")
    commands = [
        ("log", f"--since={since}", "--format=commit %h %s") if since else (),
        ("status", "--short", "--untracked-files=normal", "--ignore-submodules=all"),
        (
            *("diff", "--no-ext-diff", "--no-textconv", "--no-color"),
            *("--ignore-submodules=all", "HEAD"),
        ),
    ]
    with shadow.open_shadow(folders, {**settings, **shadow.LIMIT_DIFFS}) as (_, variables):
        outputs = [_run(folders.root, variables, command)[1] for command in commands if command]
    parts = [output.decode("utf-8", "replace").rstrip() for output in outputs]
    return "\n".join(part for part in parts if part)


def _run(folder: str, environ: Mapping[str, str], words: Sequence[str]) -> tuple[int, bytes]:
    """Run a git command and return its exit code and output; the code is -1 if the output was cut.

    Without `subprocess`, which takes longer to load than git.
    """
    reading, writing = os.pipe()
    actions = [
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_DUP2, writing, 1),
        (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
    ]
    try:
        pid = os.posix_spawn(
            shadow.find_git(),
            ["git", "-C", folder, "--no-pager", *words],
            environ,
            file_actions=actions,
            setpgroup=0,
        )
    finally:
        os.close(writing)
    output, is_whole = _read(reading)
    if not is_whole:
        with suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    return code if is_whole else -1, output


def _read(descriptor: int) -> tuple[bytes, bool]:
    poll, output = select.poll(), b""
    poll.register(descriptor, select.POLLIN | select.POLLHUP)
    until = time.monotonic() + _PATIENCE_SECONDS
    is_whole = False
    while len(output) < _MAX_BYTES and poll.poll(max(0.0, until - time.monotonic()) * 1000):
        part = os.read(descriptor, 65536)
        if not part:
            is_whole = True
            break
        output += part
    os.close(descriptor)
    return output[:_MAX_BYTES], is_whole
