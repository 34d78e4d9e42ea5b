"""Send commits to a remote and fetch them, at an address that a person chose.

An agent can write the settings of a repository, so no address and no program is read from them. The
remote may be a folder that an agent can write, too: then no program that its settings name is run,
because git's own transport is not used at all.
"""

from __future__ import annotations

import os
import re
import shutil
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from gatebell.adapters.git import git_folders, shadow
from gatebell.adapters.git.git_folders import GitFolders
from gatebell.adapters.git.repositories import open_repository, run_git
from gatebell.errors import ChangedRemoteError, GateError, UsageError

if TYPE_CHECKING:
    from gatebell.adapters.git.repositories import Repository

_FILE, _HTTPS, _SSH = "file", "https", "ssh"
_URL = re.compile(r"(https|ssh)://(?:[^/@\s]*@)?[A-Za-z0-9\[][^/\s]*/[^\s]+")
# As git reads it: a host, a colon and a path. Two colons would name a program.
_SHORT_SSH = re.compile(
    r"(?:[A-Za-z0-9._][A-Za-z0-9._-]*@)?[A-Za-z0-9][A-Za-z0-9.-]*:(?!//|[:-])[^\s]+"
)
_PASSWORD = re.compile(r"(://)[^/@]*@")
# What a person's own shell gives programs that reach the network.
_PASSED_ON = ("SSH_AUTH_SOCK", "https_proxy", "HTTPS_PROXY", "no_proxy", "NO_PROXY")
_CERTIFICATES = ("GIT_SSL_CAINFO", "SSL_CERT_FILE", "SSL_CERT_DIR")
_SETTINGS = {
    "credential.helper": "",
    "fetch.recurseSubmodules": "false",
    "gc.auto": "0",
    # A redirection could send the work to another host.
    "http.followRedirects": "false",
    "maintenance.auto": "false",
    "push.followTags": "false",
    "push.gpgSign": "false",
    "push.recurseSubmodules": "no",
}


class Remote(NamedTuple):
    """The address of a repository that hosts share."""

    address: str
    protocol: str

    @property
    def shown(self) -> str:
        """The address without user and password."""
        return _PASSWORD.sub(r"\1", self.address)


def parse_remote(address: str, source: str) -> Remote:
    """Return the remote of an address; UsageError names its source if gate may not use it."""
    if os.path.isabs(path := address.removeprefix("file://")) and address.isprintable():
        return Remote(path, _FILE)
    if address.isprintable():
        if found := _URL.fullmatch(address):
            return Remote(address, found[1])
        if _SHORT_SSH.fullmatch(address):
            return Remote(address, _SSH)
    shown = _PASSWORD.sub(r"\1", address)[:200]
    raise UsageError(
        f"{source}: expected https://HOST/PATH, ssh://HOST/PATH, USER@HOST:PATH or an absolute path, "
        f"got {shown!r}"
    )


def push(repository: Repository, remote: Remote, commit: str, ref: str) -> None:
    """Create a ref of the remote; GateError if that fails, or if the ref has another commit."""
    if remote.protocol == _FILE:
        target = _open_folder(remote)
        _copy_objects(repository, target, commit)
        if target.ask("rev-parse", "--verify", "--quiet", ref) != commit:
            target.refuse_links(ref)
            target.run("update-ref", "--no-deref", ref, commit, "0" * len(commit))
        return
    # The empty value after the ref: it must not exist yet.
    words = ("push", "--porcelain", "--no-verify", f"--force-with-lease={ref}:", remote.address)
    _reach(repository, remote, *words, f"{commit}:{ref}")


def fetch(repository: Repository, remote: Remote, commit: str, ref: str) -> None:
    """Get a commit with all that belongs to it, and hold it by the same ref here.

    Raises GateError if the remote has another commit there: another program has changed it.
    """
    repository.refuse_links(ref)
    if remote.protocol == _FILE:
        source = _open_folder(remote)
        found = source.ask("rev-parse", "--verify", "--quiet", ref)
        _must_be(found, commit, ref, remote)
        _copy_objects(source, repository, commit)
    else:
        listed = _reach(repository, remote, "ls-remote", remote.address, ref).decode()
        _must_be(listed.partition("\t")[0], commit, ref, remote)
        words = ("fetch", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules")
        _reach(repository, remote, *words, remote.address, f"+{ref}:{ref}")
    repository.run("update-ref", "--no-deref", ref, commit)


def remove(repository: Repository, remote: Remote, ref: str) -> None:
    """Remove a ref of the remote, if it is there."""
    if remote.protocol == _FILE:
        target = _open_folder(remote)
        target.refuse_links(ref)
        target.run("update-ref", "--no-deref", "-d", ref)
    elif _reach(repository, remote, "ls-remote", remote.address, ref):
        _reach(repository, remote, "push", "--porcelain", "--no-verify", remote.address, f":{ref}")


def _must_be(found: str, commit: str, ref: str, remote: Remote) -> None:
    if not found:
        raise GateError(f"{remote.shown} has no {ref}.")
    if found != commit:
        raise ChangedRemoteError(
            f"{ref} at {remote.shown} is {found[:12]}, and {commit[:12]} was sent there: another "
            "program has changed it, so nothing was taken from it."
        )


def _reach(repository: Repository, remote: Remote, *words: str) -> bytes:
    """Run a git command that talks to the remote."""
    variables = {
        **{name: os.environ[name] for name in _PASSED_ON + _CERTIFICATES if name in os.environ},
        "GIT_ALLOW_PROTOCOL": remote.protocol,
        "GIT_ASKPASS": "",
        "SSH_ASKPASS_REQUIRE": "never",
    }
    folder = _find_exec_path()
    helpers = [os.path.join(folder, "git")]
    if remote.protocol == _HTTPS:
        helpers.append(os.path.join(folder, "git-remote-https"))
    else:
        ssh = shutil.which("ssh")
        if not ssh:
            raise UsageError(f"ssh is not installed, and {remote.shown} needs it.")
        # Not GIT_SSH_COMMAND, which a shell would read.
        variables |= {"GIT_SSH": ssh, "GIT_SSH_VARIANT": "ssh"}
        helpers.append(os.path.realpath(ssh))
    where = repository._replace(
        settings={**repository.settings, **_SETTINGS}, helpers=tuple(helpers), runs_programs=False
    )
    try:
        return where.run(*words, variables=variables)
    except GateError as error:
        raise GateError(_PASSWORD.sub(r"\1", str(error))) from None


@cache
def _find_exec_path() -> str:
    nowhere = GitFolders(os.devnull, os.devnull, "/")
    _, environ = shadow.build_settings_command(nowhere)
    _, output, _ = run_git(nowhere, environ, ["--exec-path"])
    return os.fsdecode(output.rstrip(b"\n"))


def _open_folder(remote: Remote) -> Repository:
    """Open a repository of this machine in a shadow, so that its hooks and programs never run."""
    path = os.path.realpath(remote.address)
    inner = os.path.join(path, ".git")
    git_dir = inner if os.path.isdir(inner) else path
    folders = git_folders.open_folders(git_dir, git_dir)
    return open_repository(GitFolders(folders.common, folders.common, folders.common))


def _copy_objects(source: Repository, target: Repository, commit: str) -> None:
    if target.answer("cat-file", "-e", f"{commit}^{{commit}}")[0] == 0 and _is_held(target, commit):
        return
    theirs = target.run("for-each-ref", "--format=%(objectname)")
    checked = source.run("cat-file", "--batch-check=%(objectname)", given=theirs).splitlines()
    known = [b"^" + line for line in checked if b" " not in line]
    wanted = b"\n".join([commit.encode(), *dict.fromkeys(known), b""])
    pack = source.run("pack-objects", "--revs", "--stdout", "-q", given=wanted)
    target.run("index-pack", "--stdin", given=pack)


def _is_held(target: Repository, commit: str) -> bool:
    """Return whether a ref has this commit; one without a ref may lack a part of its objects."""
    return bool(target.ask("for-each-ref", "--count=1", f"--contains={commit}"))
