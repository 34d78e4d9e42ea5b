"""Git commands on one repository: each in a shadow of it, with errors that say what happened."""

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
    """Git does not come to an end, and would not the next time."""


class UsersPrograms(NamedTuple):
    """The filters and merge drivers of the user's own git settings, see `users_programs`."""

    settings: Mapping[str, str] = {}
    """Those that may be run."""
    changed: frozenset[str] = frozenset()
    """Those that came, went or were changed since agents began to work: `filter.NAME`."""
    path: str = ""
    """Where the first ones are written down."""


class Repository(NamedTuple):
    """A worktree and the git folders that belong to it, whatever its `.git` says by now."""

    folders: GitFolders
    settings: Mapping[str, str]
    """Those that are plain data, see `shadow.DATA_KEYS`."""
    held: int | None = None
    """A lock that every command keeps as long as it lives, even when we do not."""
    attributes: bytes | None = None
    """In place of those in the repository's own git folder; None: those."""
    users: UsersPrograms = UsersPrograms()
    runs_programs: bool = False
    """Commands may start the user's programs."""

    @property
    def git_dir(self) -> str:
        return self.folders.git_dir

    @property
    def root(self) -> str:
        return self.folders.root

    def keeping_bytes(self) -> Repository:
        """The same, for snapshots: what goes in comes out, byte for byte."""
        return self._replace(attributes=shadow.KEEP_BYTES, runs_programs=False)

    def with_programs(self) -> Repository:
        """The same, for commits, which are stored as the user stores them (git-lfs)."""
        return self._replace(attributes=None, runs_programs=bool(self.users.settings))

    def merging(self) -> Repository:
        """The same, for merges: attributes that no commit holds must not settle conflicts."""
        return self.with_programs()._replace(attributes=b"")

    def refuse_links(self, ref: str) -> None:
        """Refuse to write a ref that a symbolic link leads to another repository."""
        for folder in ("", "logs"):
            top = os.path.join(self.folders.common, folder, "refs")
            refuse_link(os.path.join(os.path.dirname(top), ref), top)

    def run(
        self, *words: str, given: bytes = b"", variables: Mapping[str, str] | None = None
    ) -> bytes:
        """What the command prints; GateError where it fails."""
        code, output, errors = self._start(words, given, variables)
        if code:
            raise GateError(f"git {words[0]} failed in {self.root}: {errors}")
        return output

    def line(self, *words: str, variables: Mapping[str, str] | None = None) -> str:
        """The one line that the command prints."""
        return _text(self.run(*words, variables=variables))

    def ask(self, *words: str) -> str:
        """The one line that the command prints, or nothing where it fails."""
        code, output, _ = self._start(words, b"", None)
        return "" if code else _text(output)

    def answer(self, *words: str, given: bytes = b"") -> tuple[int, bytes]:
        """The exit code of a command that tells something by it, and what it prints."""
        code, output, _ = self._start(words, given, None)
        return code, output

    def names(
        self, *words: str, given: bytes = b"", variables: Mapping[str, str] | None = None
    ) -> list[str]:
        """What a command with -z prints, one by one."""
        output = self.run(*words, given=given, variables=variables)
        return [os.fsdecode(name) for name in output.split(b"\0")[:-1]]

    def beginning(self, most: int, *words: str, variables: Mapping[str, str]) -> bytes:
        """The first bytes that the command prints, however much more there is.

        GateError where it fails: half of a diff must not pass for the whole.
        """
        with (
            shadow.open_shadow(self.folders, self.settings, attributes=self.attributes) as (
                _,
                environ,
            ),
            tempfile.TemporaryFile() as errors,
            _popen(
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
            )
        return code, output, shadow.name_repository(errors, path, self.folders)


def find(project: str) -> Repository:
    """The repository around a folder; UsageError where a worktree cannot be made from it."""
    if not os.path.isdir(project):
        raise UsageError(f"There is no folder {project}.")
    folders = git_folders.find(project)
    if not folders:
        raise NoWorktreeError(
            f"{project} is in no git repository, so a run cannot have a folder of its own: "
            "`git init` and commit."
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


def ignores(path: str) -> bool:
    """Whether git leaves a path out, by whatever rule; not where there is no repository."""
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
    """A repository with its settings; GateError where they cannot be read whole."""
    # Git passes over the settings of a repository whose HEAD is damaged.
    git_folders.read_head(folders.git_dir)
    words, environ = shadow.settings_command(folders)
    found = run_git(folders, environ, words, patience=_SETTINGS_SECONDS)
    settings = shadow.require_settings(folders, *found)
    return Repository(folders, settings)


def is_plain(root: str, folder: str) -> bool:
    """Whether a folder inside of another is reached without any symbolic link."""
    real = os.path.join(os.path.realpath(root), folder)
    return os.path.realpath(os.path.join(root, folder)) == os.path.normpath(real)


def _text(output: bytes) -> str:
    return os.fsdecode(output.removesuffix(b"\n"))


def _read_beginning(process: subprocess.Popen[bytes], most: int, folders: GitFolders) -> bytes:
    assert process.stdout
    output, ready, waits = b"", select.poll(), _waits(process, folders)
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


def _popen(
    folders: GitFolders,
    environ: Mapping[str, str],
    words: Iterable[str],
    given: IO[bytes] | int,
    held: int | None = None,
    is_free: bool = False,
    errors: IO[bytes] | int = subprocess.PIPE,
) -> subprocess.Popen[bytes]:
    """A git command that has begun; `is_free`: it may start the programs that its settings name."""
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

    return start() if is_free else execution_ban.call(start, git)


def run_git(
    folders: GitFolders,
    environ: Mapping[str, str],
    words: Iterable[str],
    given: bytes = b"",
    held: int | None = None,
    is_free: bool = False,
    patience: float | None = None,
) -> tuple[int, bytes, str]:
    """The exit code, output and errors of a git command; see `_popen` for `is_free`."""
    # From a file: what does not fit into a pipe would have to be sent while we wait.
    with tempfile.TemporaryFile() as file:
        file.write(given)
        file.seek(0)
        process = _popen(folders, environ, words, file, held, is_free)
        for seconds in _waits(process, folders, patience):
            with suppress(subprocess.TimeoutExpired):
                output, errors = process.communicate(timeout=seconds)
                return process.returncode, output, errors.decode("utf-8", "replace").strip()
    raise AssertionError("waiting for git ends by its end or by an error")


def _waits(
    process: subprocess.Popen[bytes], folders: GitFolders, patience: float | None = None
) -> Iterator[float]:
    """How long to wait each time; in between it is looked whether git can go on at all.

    Only in between: a look takes longer than most commands. GitHangsError where it cannot.
    """
    limit = _PATIENCE_SECONDS if patience is None else min(patience, _PATIENCE_SECONDS)
    seconds, left = _FIRST_LOOK_SECONDS, limit
    while left > 0:
        yield min(seconds, left)
        if found := special_files.find(folders.root, folders.git_dir):
            _kill(process)
            raise GitHangsError(
                f"git waits without end for {found}, a pipe or device where it reads a file: "
                "remove that."
            )
        left -= seconds
        seconds *= 2
    _kill(process)
    raise GitHangsError(f"git in {folders.root} was ended after {limit:g} seconds.")


def _kill(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
