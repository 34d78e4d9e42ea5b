"""Prepare a new worktree: copy ignored files, and run the project's own setup."""

from __future__ import annotations

import os
import shutil
import signal
import stat
import subprocess
import tempfile
from contextlib import suppress
from typing import TYPE_CHECKING

from gatebell.adapters.git.repositories import is_plain
from gatebell.adapters.system import processes
from gatebell.adapters.system.secret_variables import remove_secrets

if TYPE_CHECKING:
    from gatebell.adapters.git.repositories import Repository

_INCLUDE = ".worktreeinclude"
_SETUP = os.path.join(".gate", "setup")
_LIMIT_SECONDS = 600.0
_TAIL_BYTES = 2000
# With this mark, gate knows that no person works there.
_CHECK = "GATE_CHECK"
# Of the user's git variables, keep only those that locate git and its settings.
_OF_GIT = (
    *("GIT_EXEC_PATH", "GIT_CEILING_DIRECTORIES", "GIT_DISCOVERY_ACROSS_FILESYSTEM"),
    *("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM"),
)


def copy_included(source: Repository, root: str) -> str:
    """Copy the ignored files that .worktreeinclude names; return the errors as text."""
    told = [
        f"{name} of {_INCLUDE} was not copied: {problem}."
        for name in _list_included(source)
        if (problem := _copy(source.root, root, name))
    ]
    return "\n".join(told)


def _list_included(source: Repository) -> list[str]:
    named = source.names(
        "ls-files", "-z", "--others", "--ignored", f"--exclude-per-directory={_INCLUDE}"
    )
    if not named:
        return []
    given = b"".join(os.fsencode(name) + b"\0" for name in named if not name.endswith("/"))
    # A failure means that no file matches.
    code, output = source.answer("check-ignore", "-z", "--stdin", given=given)
    return [] if code else [os.fsdecode(name) for name in output.split(b"\0")[:-1]]


def _copy(source: str, root: str, name: str) -> str:
    here, there = os.path.join(source, name), os.path.join(root, name)
    real, top = os.path.realpath(here), os.path.realpath(source)
    if os.path.commonpath([real, top]) != top:
        return "it leads out of the project"
    if not is_plain(root, os.path.dirname(name)):
        return "its folder leads out of the worktree"
    if os.path.lexists(there):
        return ""
    try:
        if not stat.S_ISREG(os.stat(real).st_mode):
            return "it is not a regular file"
        os.makedirs(os.path.dirname(there), exist_ok=True)
        # First under another name, so that a partial file is never used.
        with tempfile.TemporaryDirectory(dir=os.path.dirname(root)) as apart:
            copied = shutil.copy2(real, os.path.join(apart, "copied"))
            os.replace(copied, there)
    except OSError as error:
        return error.strerror or str(error)
    return ""


def run_setup(project: str, folder: str, limit_seconds: float = _LIMIT_SECONDS) -> str:
    """Run the project's .gate/setup in a folder; return the error with its last output, or ""."""
    program = os.path.join(project, _SETUP)
    if not os.path.isfile(program):
        return ""
    command = [program] if os.access(program, os.X_OK) else ["/bin/sh", program]
    return _run(program, command, folder, limit_seconds, {_CHECK: "setup"})


def check(command: str, folder: str, key: str, limit_seconds: float) -> str:
    """Run a test command in a folder; return the error with its last output, or "".

    `key` marks its processes, so that those of an interrupted check are ended first.
    """
    processes.end_marked((_CHECK, key))
    return _run(command, ["/bin/sh", "-c", command], folder, limit_seconds, {_CHECK: key})


def _run(
    name: str, command: list[str], folder: str, limit_seconds: float, told: dict[str, str]
) -> str:
    environ = {
        name: text
        for name, text in remove_secrets(os.environ).items()
        if (not name.startswith("GIT_") or name in _OF_GIT)
    }
    # Into a file: a process that it leaves running may keep a pipe open for ever.
    with tempfile.TemporaryFile() as output:
        try:
            process = subprocess.Popen(
                command,
                cwd=folder,
                env=environ | told,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        except OSError as error:
            return f"{name} could not be started: {error.strerror}."
        try:
            code = process.wait(timeout=limit_seconds)
        except subprocess.TimeoutExpired:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            said = f"was ended after {limit_seconds:g} seconds"
        else:
            said = f"ended with exit code {code}" if code else ""
        if not said:
            return ""
        output.seek(max(0, output.seek(0, os.SEEK_END) - _TAIL_BYTES))
        tail = output.read().decode("utf-8", "replace").strip()
    return f"{name} {said}" + (f"; its last output:\n{tail}" if tail else ".")
