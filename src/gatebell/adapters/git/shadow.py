"""Give git our own git folder instead of the repository's, so that it reads no program's name.

Git runs programs that its configuration names: filters, hooks, monitors, merge drivers and more. An
agent can write the configuration of a repository. So git never reads it. Each command gets a
private folder with our own configuration, which links to the objects and refs of the repository.
Only settings that are plain data are copied, each by its name.
"""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from gatebell.adapters.git.git_folders import read_file, read_head, refuse_link
from gatebell.adapters.system.folders import data_folder
from gatebell.errors import NoWorktreeError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from gatebell.adapters.git.git_folders import GitFolders

DATA_KEYS = (
    r"^(core\.(autocrlf|bare|eol|filemode|ignorecase|logallrefupdates|precomposeunicode|protecthfs"
    r"|protectntfs|repositoryformatversion|sharedrepository|sparsecheckout|sparsecheckoutcone"
    r"|symlinks|worktree|excludesfile|attributesfile)"
    r"|index\.sparse|extensions\..*|user\.(name|email))$"
)
"""The settings that are read from a repository: none of them can name a program."""
_NOT_PASSED_ON = ("core.bare", "core.worktree", "core.repositoryformatversion", "extensions.")
# In a repository's settings, these could name a pipe, a device, or rules that hide an agent's work.
_ONLY_OF_THE_USER = ("core.excludesfile", "core.attributesfile")
_FIXED = {
    # Otherwise, an edit that keeps size and time would not be seen.
    "core.checkStat": "default",
    "core.trustctime": "true",
    "core.commitGraph": "false",
    "core.fsmonitor": "false",
    "core.hooksPath": os.devnull,
    "core.safecrlf": "false",
    # It would leave parts of our indexes in the user's repository.
    "core.splitIndex": "false",
    "i18n.commitEncoding": "UTF-8",
    "log.showSignature": "false",
    "submodule.recurse": "false",
}
_VARIABLES = {
    # A program that is started in spite of this does not count as a person.
    "GATE_CHECK": "git",
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_TRACE2": "0",
    "GIT_TRACE2_EVENT": "0",
    "GIT_TRACE2_PERF": "0",
    "LC_ALL": "C",
    "PATH": os.defpath,
}
_PASSED_ON = ("HOME", "XDG_CONFIG_HOME", "TMPDIR", "DEVELOPER_DIR")
_USERS_SETTINGS = ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM")
_EMPTY = "empty"
_KNOWN_EXTENSIONS = {
    *("noop", "noop-v1", "objectformat", "partialclone", "preciousobjects", "refstorage"),
    *("relativeworktrees", "worktreeconfig"),
}
KEEP_BYTES = b"* -text !eol !crlf -ident -filter -working-tree-encoding !merge !diff\n"
"""Attributes that keep files unchanged, byte for byte."""
LIMIT_DIFFS = {"core.bigFileThreshold": "20m"}
"""Settings that make a diff only name larger files. Measured: 100 MB of short lines took 4.2 GB."""
SHOW_ALL = b"\n* !diff\n"
"""Attributes that leave no file out of a diff."""


def build_settings_command(folders: GitFolders) -> tuple[list[str], dict[str, str]]:
    """Return arguments and variables of the one git command that reads the real configuration.

    `git config` starts no program, and prints only the requested keys.
    """
    where = {"GIT_DIR": folders.git_dir, "GIT_COMMON_DIR": folders.common}
    users = _copy_variables(_USERS_SETTINGS)
    return ["config", "-z", "--show-scope", "--includes", "--get-regexp", DATA_KEYS], {
        **_copy_variables(_PASSED_ON), **_VARIABLES, **users, **where,
    }  # fmt: skip


def parse_settings(output: bytes) -> dict[str, str]:
    """Parse the output of `git config -z --show-scope`; a key without a value is true."""
    fields = [os.fsdecode(field) for field in output.split(b"\0")[:-1]]
    found = {}
    for scope, entry in zip(fields[::2], fields[1::2], strict=True):
        key, separator, value = entry.partition("\n")
        if key not in _ONLY_OF_THE_USER or scope in ("system", "global"):
            found[key] = value if separator else "true"
    return found


def check_settings(folders: GitFolders, settings: Mapping[str, str]) -> None:
    """Raise an error for a repository of an unknown format."""
    names = {key.partition(".")[2].lower() for key in settings if key.startswith("extensions.")}
    if settings.get("extensions.refstorage", "files") != "files" or os.path.isdir(
        os.path.join(folders.common, "reftable")
    ):
        raise UsageError(
            f"{folders.root} keeps its branches in the reftable format, which gate cannot read: "
            "convert it with `git refs migrate --ref-format=files`."
        )
    if unknown := sorted(names - _KNOWN_EXTENSIONS):
        raise UsageError(
            f"{folders.root} uses the git extension {unknown[0]}, which gate does not know, so "
            "git was not run."
        )


@contextmanager
def open_shadow(
    folders: GitFolders,
    settings: Mapping[str, str],
    *,
    attributes: bytes | None = None,
    programs: Mapping[str, str] | None = None,
) -> Iterator[tuple[str, dict[str, str]]]:
    """Create a shadow of a repository for one git command; yield it with git's variables.

    `attributes` replace those in the repository's own git folder. `programs` are settings that name
    programs: the user's own filters and merge drivers.
    """
    path = os.path.join(make_private_folder(), f"gate-git-{os.urandom(12).hex()}")
    os.mkdir(path, 0o700)
    try:
        _fill(path, folders, settings, attributes)
        passed = {
            key: value for key, value in settings.items() if not key.startswith(_NOT_PASSED_ON)
        }
        # Without a worktree, git would read attributes in the git folder.
        is_whole = folders.root == folders.common
        variables = {
            **_copy_variables(_PASSED_ON),
            **_VARIABLES,
            **_build_variables({**passed, **(programs or {}), **_FIXED}),
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_DIR": path,
            "GIT_WORK_TREE": os.path.join(path, _EMPTY) if is_whole else folders.root,
            "GIT_INDEX_FILE": folders.index_path,
        }
        if programs:
            variables["PATH"] = os.environ.get("PATH", os.defpath)
            # A filter in Python must not load modules from the current folder.
            variables["PYTHONSAFEPATH"] = "1"
            _link_large_files(path, folders.common)
        yield path, variables
    finally:
        _remove(path)


def make_private_folder() -> str:
    """Return a folder for git's temporary files, where agents in sandboxes cannot write."""
    path = os.path.join(data_folder(os.environ), "git")
    try:
        os.makedirs(path, mode=0o700, exist_ok=True)
    except OSError:
        # The home folder is missing or not writable.
        return os.environ.get("TMPDIR") or "/tmp"  # noqa: S108 - names in it are random and private
    return path


def _fill(
    path: str, folders: GitFolders, settings: Mapping[str, str], attributes: bytes | None
) -> None:
    for name in ("refs", "objects", "packed-refs", "shallow"):
        os.symlink(os.path.join(folders.common, name), os.path.join(path, name))
    for name in ("info", "logs", _EMPTY):
        os.mkdir(os.path.join(path, name))
    for name, owner in (("refs", folders.common), ("HEAD", folders.git_dir)):
        log = os.path.join(owner, "logs", name)
        # Bare repositories keep no logs; logs that git writes here are removed with the shadow.
        if os.path.exists(log) and not os.path.islink(log):
            os.symlink(log, os.path.join(path, "logs", name))
    refuse_link(folders.index_path)
    for name, content in {
        "HEAD": _build_head(folders.git_dir),
        "config": _build_config(settings),
        "info/attributes": read_own_attributes(folders) if attributes is None else attributes,
        "info/exclude": read_file(os.path.join(folders.common, "info", "exclude")),
        "info/sparse-checkout": read_file(os.path.join(folders.git_dir, "info", "sparse-checkout")),
    }.items():
        if content:
            with open(os.path.join(path, name), "xb") as file:
                file.write(content)


def read_own_attributes(folders: GitFolders) -> bytes:
    """Return the attributes in the repository's git folder, which are not committed."""
    return read_file(os.path.join(folders.common, "info", "attributes"))


def _build_head(git_dir: str) -> bytes:
    head = read_head(git_dir)
    return os.fsencode(f"ref: {head}" if head.startswith("refs/") else head) + b"\n"


def _build_config(settings: Mapping[str, str]) -> bytes:
    """Return the settings that git accepts only from a file; the others are variables."""
    if settings.get("extensions.objectformat") == "sha256":
        return b"[core]\nrepositoryformatversion = 1\nbare = false\n[extensions]\nobjectformat = sha256\n"
    return b"[core]\nrepositoryformatversion = 0\nbare = false\n"


def _link_large_files(path: str, common: str) -> None:
    """Link the folder of git-lfs, whose files must outlive the shadow."""
    kept = os.path.join(common, "lfs")
    refuse_link(kept)
    with suppress(FileExistsError):
        os.mkdir(kept)
    os.symlink(kept, os.path.join(path, "lfs"))


def _remove(path: str) -> None:
    """Remove a shadow, but not the targets of its links."""
    with os.scandir(path) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                _remove(entry.path)
            else:
                os.unlink(entry.path)
    os.rmdir(path)


def _build_variables(settings: Mapping[str, str]) -> dict[str, str]:
    """Return settings as variables, which win over every settings file of git."""
    variables = {"GIT_CONFIG_COUNT": str(len(settings))}
    for number, (name, value) in enumerate(settings.items()):
        variables[f"GIT_CONFIG_KEY_{number}"] = name
        variables[f"GIT_CONFIG_VALUE_{number}"] = value
    return variables


def _copy_variables(names: tuple[str, ...]) -> dict[str, str]:
    return {name: os.environ[name] for name in names if name in os.environ}


def find_git() -> str:
    """Return the git of this process's PATH; UsageError if there is none."""
    for folder in os.get_exec_path():
        path = os.path.join(folder, "git")
        if os.access(path, os.X_OK) and os.path.isfile(path):
            return os.path.realpath(path)
    raise NoWorktreeError("git is not installed: install it.")


def name_repository(words: str, path: str, folders: GitFolders) -> str:
    """Replace the path of the shadow by the repository's in an error of git."""
    return words.replace(path, folders.common)


def require_settings(folders: GitFolders, code: int, output: bytes, errors: str) -> dict[str, str]:
    """Return the settings of a repository; UsageError if they were not read completely."""
    # 1 means that none of these keys is set.
    if code not in (0, 1) or (output and not output.endswith(b"\0")):
        raise UsageError(
            f"The git configuration of {folders.root} cannot be read, so git was not run: "
            f"{errors or 'the output is incomplete'}"
        )
    settings = parse_settings(output)
    # Git ignores the settings of a repository whose format it does not know.
    if "core.repositoryformatversion" not in settings:
        raise UsageError(
            f"git does not read the settings of {folders.root}, so it was not run: "
            f"{errors or 'their format is unknown'}"
        )
    check_settings(folders, settings)
    return settings
