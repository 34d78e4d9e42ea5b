"""Git commands on one repository: its folders are named, not looked for, and errors are told."""

from __future__ import annotations

import os
import select
import signal
import subprocess
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from humangate.errors import GateError, UsageError
from humangate.workspaces import pipes
from humangate.workspaces.git import (
    ENVIRONMENT,
    FILTERS,
    OVERRULED,
    as_variables,
    without_filters,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

_PATIENCE_SECONDS = 600.0
_FIRST_LOOK_SECONDS = 2.0
_OVERRULED = OVERRULED | {
    # A submodule may name filters of its own, which are not among ours.
    "submodule.recurse": "false",
    "core.safecrlf": "false",
    # It would leave parts of our indexes in the user's repository.
    "core.splitIndex": "false",
    "i18n.commitEncoding": "UTF-8",
}
# Of the user's own variables for git only what says where git and its settings are.
_KEPT = (
    *("GIT_EXEC_PATH", "GIT_CEILING_DIRECTORIES", "GIT_DISCOVERY_ACROSS_FILESYSTEM"),
    *("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM"),
)
_PROGRAMS = (
    *("config", "-z", "--show-scope", "--get-regexp"),
    r"^(filter\..*|merge\..*\.driver)$",
)
_NAMES = ("AUTHOR_NAME", "AUTHOR_EMAIL", "COMMITTER_NAME", "COMMITTER_EMAIL")


class GitHangsError(GateError):
    """Git does not come to an end, and would not the next time."""


class Repository(NamedTuple):
    """A worktree and the git folder that belongs to it, whatever its `.git` says by now."""

    git_dir: str
    root: str
    overruled: Mapping[str, str]
    held: int | None = None
    """A lock that every command keeps as long as it lives, even when we do not."""

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
        """The first bytes that the command prints, however much more there is."""
        output = b""
        with subprocess.Popen(
            _command(self.root, words),
            env={**self._environ(), **variables},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        ) as process:
            assert process.stdout
            ready, waits = select.poll(), _waits(process, self.root, self.git_dir)
            ready.register(process.stdout, select.POLLIN | select.POLLHUP)
            seconds = next(waits)
            while len(output) < most:
                if not ready.poll(seconds * 1000):
                    seconds = next(waits)
                elif part := os.read(process.stdout.fileno(), most - len(output)):
                    output += part
                else:
                    break
            _kill(process)
        return output

    @property
    def filters(self) -> set[str]:
        """The names of the filters that are switched off here."""
        names = [name for name in self.overruled if name.startswith("filter.")]
        return {name.removeprefix("filter.").rpartition(".")[0] for name in names}

    def _environ(self) -> dict[str, str]:
        where = {"GIT_DIR": self.git_dir, "GIT_WORK_TREE": self.root}
        return environment(self.overruled) | where

    def _start(
        self, words: Iterable[str], given: bytes, variables: Mapping[str, str] | None
    ) -> tuple[int, bytes, str]:
        return _git(self.root, {**self._environ(), **(variables or {})}, words, given, self.held)


def find(project: str) -> Repository:
    """The repository around a folder; UsageError where a worktree cannot be made from it."""
    if not os.path.isdir(project):
        raise UsageError(f"There is no folder {project}.")
    environ = environment(_OVERRULED)
    code, output, errors = _git(project, environ, ["rev-parse", "--is-inside-work-tree"])
    if code and "not a git repository" in errors:
        raise UsageError(
            f"{project} is in no git repository, so a run cannot have a folder of its own: "
            "`git init` and commit; `gate run --in-place` works in the project itself."
        )
    if code:
        raise UsageError(f"git does not use the repository of {project}: {errors}")
    if output.strip() != b"true":
        raise UsageError(
            f"{project} is a repository without files, or with its files elsewhere: "
            "start from a clone or a worktree of it."
        )

    def told(*words: str) -> str:
        return _text(_git(project, environ, ["rev-parse", *words])[1])

    return reopen(told("--absolute-git-dir"), told("--show-toplevel"))


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


def reopen(git_dir: str, root: str) -> Repository:
    """A repository by its folders; its filters are looked up and switched off."""
    bare = Repository(git_dir, root, _OVERRULED)
    listed = bare.ask(*FILTERS)
    return bare._replace(overruled=_OVERRULED | without_filters(listed.splitlines()))


def with_users_programs(repository: Repository) -> Repository:
    """The same, with the filters and merge drivers of the user's own settings and no others.

    What is committed must be stored as the user stores it (git-lfs); what a repository's
    settings name may be an agent's.
    """
    _, output = repository.answer(*_PROGRAMS)
    fields = [os.fsdecode(field) for field in output.split(b"\0")[:-1]]
    pairs = [
        (scope, *entry.partition("\n")[::2])
        for scope, entry in zip(*[iter(fields)] * 2, strict=True)
    ]
    users = {name: value for scope, name, value in pairs if scope in {"system", "global"}}
    drivers = {name: "false" for _, name, _ in pairs if name.startswith("merge.")}
    return repository._replace(overruled={**repository.overruled, **drivers, **users})


def is_plain(root: str, folder: str) -> bool:
    """Whether a folder inside of another is reached without any symbolic link."""
    real = os.path.join(os.path.realpath(root), folder)
    return os.path.realpath(os.path.join(root, folder)) == os.path.normpath(real)


def environment(overruled: Mapping[str, str] | None = None) -> dict[str, str]:
    """This process's variables without those that would lead git elsewhere."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("GIT_") or name in _KEPT
    }
    if overruled is None:
        return kept
    names = {f"GIT_{name}": "humangate" for name in _NAMES}
    return {**kept, **ENVIRONMENT, **names, "LC_ALL": "C", **as_variables(overruled)}


def _command(folder: str, words: Iterable[str]) -> list[str]:
    return ["git", "-C", folder, "--no-pager", *words]


def _text(output: bytes) -> str:
    return os.fsdecode(output.removesuffix(b"\n"))


def _git(
    folder: str,
    environ: Mapping[str, str],
    words: Iterable[str],
    given: bytes = b"",
    held: int | None = None,
) -> tuple[int, bytes, str]:
    try:
        process = subprocess.Popen(
            _command(folder, words),
            env=environ,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            pass_fds=() if held is None else (held,),
        )
    except FileNotFoundError:
        raise UsageError(
            "git is not installed: install it; `gate run --in-place` does without."
        ) from None
    waits = _waits(process, folder, environ.get("GIT_DIR") or os.path.join(folder, ".git"))
    while True:
        try:
            output, errors = process.communicate(given, timeout=next(waits))
        except subprocess.TimeoutExpired:
            # What was given is on its way, and must not be given again.
            given = b""
        else:
            return process.returncode, output, errors.decode("utf-8", "replace").strip()


def _waits(process: subprocess.Popen[bytes], folder: str, git_dir: str) -> Iterator[float]:
    """How long to wait each time; in between it is looked whether git can go on at all.

    Only in between: a look takes longer than most commands. GitHangsError where it cannot.
    """
    seconds, left = _FIRST_LOOK_SECONDS, _PATIENCE_SECONDS
    while left > 0:
        yield min(seconds, left)
        if found := pipes.find(folder, git_dir):
            _kill(process)
            raise GitHangsError(
                f"git waits without end for {found}, a pipe or device where it reads a file: "
                "remove that."
            )
        left -= seconds
        seconds *= 2
    _kill(process)
    raise GitHangsError(f"git in {folder} was ended after {_PATIENCE_SECONDS:g} seconds.")


def _kill(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
