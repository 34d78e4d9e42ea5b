"""Run git commands on one repository, each in a shadow of it, with clear errors."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import tempfile
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from gatebell.adapters.git import execution_ban, git_folders, shadow, special_files
from gatebell.adapters.git.git_folders import refuse_link
from gatebell.errors import GateError, NoWorktreeError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import IO

    from gatebell.adapters.git.git_folders import GitFolders

_PATIENCE_SECONDS = 600.0
_FIRST_LOOK_SECONDS = 2.0
# Settings may include a file that never ends.
_SETTINGS_SECONDS = 10.0
_NAMES = ("AUTHOR_NAME", "AUTHOR_EMAIL", "COMMITTER_NAME", "COMMITTER_EMAIL")
_COMMITTER = {f"GIT_{name}": "gatebell" for name in _NAMES}


class GitHangsError(GateError):
    """Git does not end, and would not end the next time."""


class UsersPrograms(NamedTuple):
    """The filters and merge drivers of the user's own git settings, see `users_programs`."""

    settings: Mapping[str, str] = {}
    """Those that may be run."""
    changed: frozenset[str] = frozenset()
    """Those that were added, removed or changed since agents began to work: `filter.NAME`."""
    path: str = ""
    """The file with the first ones."""


class Repository(NamedTuple):
    """A worktree and its git folders, also if its `.git` was changed."""

    folders: GitFolders
    settings: Mapping[str, str]
    """The settings that are plain data, see `shadow.DATA_KEYS`."""
    held: int | None = None
    """A lock that every command holds as long as it lives, even after this process has ended."""
    attributes: bytes | None = None
    """They replace the attributes in the repository's own git folder; None: keep those."""
    users: UsersPrograms = UsersPrograms()
    runs_programs: bool = False
    """Commands may start the user's programs."""
    helpers: tuple[str, ...] = ()
    """Programs that commands may start besides git itself, to reach a remote."""

    @property
    def git_dir(self) -> str:
        return self.folders.git_dir

    @property
    def root(self) -> str:
        return self.folders.root

    def keeping_bytes(self) -> Repository:
        """Return a copy for snapshots, which keep files byte for byte."""
        return self._replace(attributes=shadow.KEEP_BYTES, runs_programs=False)

    def with_programs(self) -> Repository:
        """Return a copy for commits, with the user's own filters (git-lfs)."""
        return self._replace(attributes=None, runs_programs=bool(self.users.settings))

    def merging(self) -> Repository:
        """Return a copy for merges: uncommitted attributes must not decide conflicts."""
        return self.with_programs()._replace(attributes=b"")

    def refuse_links(self, ref: str) -> None:
        """Raise an error if a symbolic link leads a ref to another repository."""
        for folder in ("", "logs"):
            top = os.path.join(self.folders.common, folder, "refs")
            refuse_link(os.path.join(os.path.dirname(top), ref), top)

    def run(
        self, *words: str, given: bytes = b"", variables: Mapping[str, str] | None = None
    ) -> bytes:
        """Return the output of a command; raise GateError if it fails."""
        code, output, errors = self._start(words, given, variables)
        if code:
            raise GateError(f"git {words[0]} failed in {self.root}: {errors}")
        return output

    def line(self, *words: str, variables: Mapping[str, str] | None = None) -> str:
        """Return the one line that a command prints."""
        return _decode_line(self.run(*words, variables=variables))

    def ask(self, *words: str) -> str:
        """Return the one line that a command prints, or "" if it fails."""
        code, output, _ = self._start(words, b"", None)
        return "" if code else _decode_line(output)

    def answer(self, *words: str, given: bytes = b"") -> tuple[int, bytes]:
        """Return the exit code and output of a command that may fail."""
        code, output, _ = self._start(words, given, None)
        return code, output

    def names(
        self, *words: str, given: bytes = b"", variables: Mapping[str, str] | None = None
    ) -> list[str]:
        """Return the entries that a command with -z prints."""
        output = self.run(*words, given=given, variables=variables)
        return [os.fsdecode(name) for name in output.split(b"\0")[:-1]]

    def beginning(self, most: int, *words: str, variables: Mapping[str, str]) -> bytes:
        """Return the first bytes that a command prints, and drop the rest.

        Raises GateError if the command fails: a part of a diff must not be taken for the whole.
        """
        with (
            shadow.open_shadow(self.folders, self.settings, attributes=self.attributes) as (
                _,
                environ,
            ),
            tempfile.TemporaryFile() as errors,
            _start_git(
                *(self.folders, {**environ, **variables}, words, subprocess.DEVNULL), errors=errors
            ) as process,
        ):
            output = _read_beginning(process, most, self.folders)
            if len(output) >= most:
                _kill(process)
            elif process.wait():
                errors.seek(0)
                said = errors.read(2000).decode("utf-8", "replace").strip()
                raise GateError(f"git {words[0]} failed in {self.root}: {said}")
        return output

    def _start(
        self, words: Iterable[str], given: bytes, variables: Mapping[str, str] | None
    ) -> tuple[int, bytes, str]:
        programs = self.users.settings if self.runs_programs else {}
        with shadow.open_shadow(
            self.folders, self.settings, attributes=self.attributes, programs=programs
        ) as (path, environ):
            code, output, errors = run_git(
                *(self.folders, {**environ, **_COMMITTER, **(variables or {})}, words, given),
                *(self.held, self.runs_programs),
                helpers=self.helpers,
            )
        return code, output, shadow.name_repository(errors, path, self.folders)


def find(project: str) -> Repository:
    """Return the repository around a folder; UsageError if no worktree can be made from it."""
    if not os.path.isdir(project):
        raise UsageError(f"There is no folder {project}.")
    folders = git_folders.find(project)
    if not folders:
        raise NoWorktreeError(
            f"{project} is not in a git repository, so a run cannot have its own folder: "
            "run `git init` and commit."
        )
    found = open_repository(folders)
    elsewhere = found.settings.get("core.worktree", "")
    root = os.path.realpath(os.path.join(folders.git_dir, os.path.expanduser(elsewhere)))
    is_bare = found.settings.get("core.bare", "").lower() in ("true", "yes", "on", "1")
    if not folders.is_linked and (is_bare or (elsewhere and root != folders.root)):
        raise UsageError(
            f"{project} is a repository without files, or with its files elsewhere: "
            "start from a clone or a worktree of it."
        )
    return found


def is_ignored(path: str) -> bool:
    """Return whether git ignores a path; False without a repository."""
    folder = os.path.dirname(path)
    while not os.path.isdir(folder):
        folder = os.path.dirname(folder)
    try:
        repository = find(folder)
        real = os.path.join(os.path.realpath(folder), os.path.relpath(path, folder))
        return repository.answer("check-ignore", "-q", "--no-index", real)[0] == 0
    except GateError:
        return False


def open_repository(folders: GitFolders) -> Repository:
    """Open a repository with its settings; GateError if they cannot be read completely."""
    # Git ignores the settings of a repository whose HEAD is damaged.
    git_folders.read_head(folders.git_dir)
    words, environ = shadow.build_settings_command(folders)
    found = run_git(folders, environ, words, patience=_SETTINGS_SECONDS)
    settings = shadow.require_settings(folders, *found)
    return Repository(folders, settings)


def is_plain(root: str, folder: str) -> bool:
    """Return whether no symbolic link is on the way from a folder to one inside of it."""
    real = os.path.join(os.path.realpath(root), folder)
    return os.path.realpath(os.path.join(root, folder)) == os.path.normpath(real)


def _decode_line(output: bytes) -> str:
    return os.fsdecode(output.removesuffix(b"\n"))


def _read_beginning(process: subprocess.Popen[bytes], most: int, folders: GitFolders) -> bytes:
    assert process.stdout
    output, ready, waits = b"", select.poll(), _plan_waits(process, folders)
    ready.register(process.stdout, select.POLLIN | select.POLLHUP)
    seconds = next(waits)
    while len(output) < most:
        if not ready.poll(seconds * 1000):
            seconds = next(waits)
        elif part := os.read(process.stdout.fileno(), most - len(output)):
            output += part
        else:
            break
    return output


def _start_git(
    folders: GitFolders,
    environ: Mapping[str, str],
    words: Iterable[str],
    given: IO[bytes] | int,
    held: int | None = None,
    is_free: bool = False,
    errors: IO[bytes] | int = subprocess.PIPE,
    helpers: tuple[str, ...] = (),
) -> subprocess.Popen[bytes]:
    """Start a git command; `is_free`: it may start the programs that its settings name."""
    git = shadow.find_git()

    def start() -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [git, "-C", environ.get("GIT_WORK_TREE", folders.root), "--no-pager", *words],
            env=environ,
            stdin=given,
            stdout=subprocess.PIPE,
            stderr=errors,
            start_new_session=True,
            pass_fds=() if held is None else (held,),
        )

    return start() if is_free else execution_ban.call(start, git, *helpers)


def run_git(
    folders: GitFolders,
    environ: Mapping[str, str],
    words: Iterable[str],
    given: bytes = b"",
    held: int | None = None,
    is_free: bool = False,
    patience: float | None = None,
    helpers: tuple[str, ...] = (),
) -> tuple[int, bytes, str]:
    """Run a git command; return exit code, output and errors. For `is_free` see `_start_git`."""
    # From a file: input that does not fit into a pipe would have to be sent during the wait.
    with tempfile.TemporaryFile() as file:
        file.write(given)
        file.seek(0)
        process = _start_git(folders, environ, words, file, held, is_free, helpers=helpers)
        for seconds in _plan_waits(process, folders, patience):
            with suppress(subprocess.TimeoutExpired):
                output, errors = process.communicate(timeout=seconds)
                return process.returncode, output, errors.decode("utf-8", "replace").strip()
    raise AssertionError("waiting for git ends by its end or by an error")


def _plan_waits(
    process: subprocess.Popen[bytes], folders: GitFolders, patience: float | None = None
) -> Iterator[float]:
    """Yield how long to wait each time; between the waits, check whether git can go on.

    Only between them: a check takes longer than most commands. Raises GitHangsError if it cannot.
    """
    limit = _PATIENCE_SECONDS if patience is None else min(patience, _PATIENCE_SECONDS)
    seconds, left = _FIRST_LOOK_SECONDS, limit
    while left > 0:
        yield min(seconds, left)
        if found := special_files.find(folders.root, folders.git_dir):
            _kill(process)
            raise GitHangsError(
                f"git waits for ever for {found}, a pipe or device in place of a file: remove it."
            )
        left -= seconds
        seconds *= 2
    _kill(process)
    raise GitHangsError(f"git in {folders.root} was ended after {limit:g} seconds.")


def _kill(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
