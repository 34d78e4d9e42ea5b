"""Folders of runs that travel: the same to the byte, and nothing of the way is the agent's choice."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from tests.support.git_project import ODD, git, odd_file, trap, write
from tests.support.two_hosts import HostFolders, list_all, make_remote

from gatebell.adapters.git import remotes, repositories, travelling_folders, worktree_records
from gatebell.adapters.git.remotes import parse_remote
from gatebell.errors import ChangedRemoteError, GateError, UsageError

__all__ = ["trap"]

ADDRESSES = {
    "https://gate.example.org/shop.git": "https",
    "https://ada:secret@gate.example.org:8443/shop.git": "https",
    "ssh://git@gate.example.org:2222/shop.git": "ssh",
    "git@gate.example.org:acme/shop.git": "ssh",
    "gate.example.org:/srv/shop.git": "ssh",
    "/srv/shop.git": "file",
    "file:///srv/shop.git": "file",
}
REFUSED = (
    "ext::sh -c 'gate answer 1 yes'",
    "fd::3",
    "foo::bar",
    "http://gate.example.org/shop.git",
    "git://gate.example.org/shop.git",
    "-oProxyCommand=x:y",
    "host:-oProxyCommand=x",
    "ssh://-oProxyCommand=x/y",
    "../shop.git",
    "origin",
    "https://gate.example.org/a b",
    "git@gate.example.org:a\nb",
    "",
)


@pytest.fixture
def hosts(tmp_path):
    """Two hosts and their remote."""
    remote = make_remote(tmp_path)
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    return HostFolders(tmp_path / "a", remote), HostFolders(tmp_path / "b", remote), remote


def fill(folder):
    """Work as agents do: everything that a folder can contain."""
    folder = Path(folder)
    write(
        folder, _gitattributes="*.crlf text eol=crlf\n*.big filter=lfs diff=lfs merge=lfs -text\n"
    )
    (folder / "dos.crlf").write_bytes(b"one\r\ntwo\r\n")
    (folder / "mixed.txt").write_bytes(b"one\r\ntwo\nthree")
    (folder / "x.big").write_bytes(b"version https://git-lfs.github.com/spec/v1\nsize 3\n")
    (folder / "binary").write_bytes(bytes(range(256)) * 40)
    odd_file(folder)
    (folder / "run.sh").write_text("#!/bin/sh\n")
    for name, mode in (("run.sh", 0o755), ("binary", 0o600), ("mixed.txt", 0o664)):
        (folder / name).chmod(mode)
    (folder / "link").symlink_to("a.txt")
    (folder / "broken").symlink_to("/nowhere/at/all")
    (folder / "empty/inside").mkdir(parents=True)
    (folder / "closed").mkdir(mode=0o700)
    write(folder / "closed", x_txt="x\n")
    (folder / "ignored").mkdir()
    write(folder / "ignored", built="only here\n")
    write(folder, left_tmp="only here\n", forced_tmp="kept\n", staged_txt="first\n")
    git(folder, "add", "-f", "forced.tmp", "staged.txt")
    write(folder, staged_txt="second\n")


@pytest.mark.proves("HOST-30")
def test_folder_is_the_same_on_another_host(hosts):
    here, there, _ = hosts
    run = here.make()
    fill(run.folder)
    write(run.folder, a_txt="committed\n")
    git(run.folder, "commit", "-qm", "work", "a.txt")
    here.workspace.snapshot(
        here.workspace.make(run.project, 1, token=run.created_at.isoformat()), 1, "3"
    )
    before, status = list_all(run.folder), git(run.folder, "status", "--porcelain")
    assert ODD.encode(errors="surrogateescape") in before and b"empty/inside" in before
    moved = there.take(run, here.carrier.send(run, {}))
    assert moved.folder != run.folder and list_all(moved.folder) == before
    assert git(moved.folder, "status", "--porcelain") == status
    assert git(moved.folder, "show", ":staged.txt") == "first"
    assert git(moved.folder, "log", "-1", "--format=%s") == "work"
    assert (moved.branch, moved.base) == (run.branch, run.base)
    assert (
        there.workspace.restore(
            there.workspace.make(str(there.clone), 1, token=run.created_at.isoformat()), 1, "3"
        )
        == []
    )
    assert (
        not (Path(moved.folder) / "ignored").exists()
        and not (Path(moved.folder) / "left.tmp").exists()
    )
    assert (Path(moved.folder) / "forced.tmp").exists()
    assert list_all(run.folder) == before, "the folder of the first host stays"


@pytest.mark.proves("HOST-30")
def test_folder_goes_back_and_forth(hosts):
    here, there, remote = hosts
    run = here.make()
    write(run.folder, x_txt="1\n")
    (Path(run.folder) / "ignored").mkdir()
    same = here.carrier.receive(run, here.carrier.send(run, {}))
    assert not same.is_new and (Path(run.folder) / "ignored").is_dir(), "nothing was made again"
    moved = there.take(run, here.carrier.send(run._replace(claim=2), {}))
    write(moved.folder, x_txt="2\n")
    sent = there.carrier.send(moved._replace(claim=3), {"s.jsonl": b"said\n"})
    back = here.carrier.receive(moved, sent)
    assert back.is_new and back.files == {"s.jsonl": b"said\n"} and back.place.folder == run.folder
    assert (Path(run.folder) / "x.txt").read_text() == "2\n" and back.place.branch == run.branch
    assert not list(Path(run.folder).parent.parent.glob("*.old-*")), (
        "the older copy was sent before"
    )
    refs = git(remote, "for-each-ref", "--format=%(refname)", "refs/gatebell").split()
    assert len(refs) == 3
    here.carrier.drop(run, sent)
    assert sent.ref not in git(remote, "for-each-ref", "--format=%(refname)")
    assert git(here.clone, "for-each-ref", "refs/gatebell") == ""


@pytest.mark.proves("HOST-31")
def test_unsent_work_of_an_older_copy_is_moved_aside(hosts):
    here, there, _ = hosts
    run = here.make()
    moved = there.take(run, here.carrier.send(run, {}))
    write(run.folder, only_txt="never sent\n")
    back = here.take(moved, there.carrier.send(moved._replace(claim=2), {}))
    (aside,) = Path(here.workspace.record_path(1)).parent.glob("run-1.old-1/shop/only.txt")
    assert aside.read_text() == "never sent\n" and not (Path(back.folder) / "only.txt").exists()
    assert back.branch != run.branch, "the older folder keeps its branch"


@pytest.mark.proves("HOST-32")
@pytest.mark.parametrize("what", ["branch", "merge", "submodule", "inner", "sparse"])
def test_folder_that_would_lose_something_stays(hosts, tmp_path, what):
    here, _, remote = hosts
    run = here.make()
    if what == "branch":
        git(run.folder, "switch", "-qc", "elsewhere")
    elif what == "merge":
        git(run.folder, "switch", "-qc", "other")
        for text, branch in (("one\n", run.branch), ("two\n", "other")):
            git(run.folder, "switch", "-q", branch)
            write(run.folder, a_txt=text)
            git(run.folder, "commit", "-qam", branch)
        git(run.folder, "switch", "-q", run.branch)
        with pytest.raises(Exception, match="merge"):
            git(run.folder, "merge", "other")
    elif what == "submodule":
        git(run.folder, "submodule", "add", "-q", str(remote), "inner")
    elif what == "inner":
        git(run.folder, "init", "-q", "inner")
        write(Path(run.folder) / "inner", x_txt="x")
    else:
        path = here.workspace.record_path(1)
        record = worktree_records.read(path)
        settings = {**record.settings, "core.sparsecheckout": "true"}
        worktree_records.write(path, record._replace(settings=settings))
    words = {"branch": "not on its branch", "merge": "middle of a merge", "submodule": "a submodule with",
             "inner": "another repository", "sparse": "a sparse checkout"}  # fmt: skip
    with pytest.raises(GateError, match=words[what]):
        here.carrier.send(run, {})
    assert git(remote, "for-each-ref", "refs/gatebell") == ""


@pytest.mark.proves("HOST-33")
def test_arrival_is_repeated_after_a_crash_at_any_write(hosts, monkeypatch):
    here, there, _ = hosts
    run = here.make()
    fill(run.folder)
    sent, wanted = here.carrier.send(run, {}), list_all(run.folder)
    real, calls = repositories.run_git, []

    class Killed(BaseException):
        """The process was killed."""

    def strike(*given, **more):
        done = real(*given, **more)
        if given[2][0] in ("update-ref", "read-tree", "index-pack"):
            calls.append(given[2][0])
            if len(calls) == limit:
                raise Killed
        return done

    limit = 0
    while limit < 20:
        limit += 1
        calls.clear()
        with monkeypatch.context() as patch:
            patch.setattr(repositories, "run_git", strike)
            try:
                there.carrier.receive(run, sent)
                break
            except Killed:
                pass
    assert limit > 4
    moved = there.take(run, sent)
    assert list_all(moved.folder) == wanted and moved.branch == run.branch


@pytest.mark.proves("HOST-34")
def test_changed_remote_is_not_used(hosts):
    here, there, remote = hosts
    run = here.make()
    sent = here.carrier.send(run, {})
    git(remote, "update-ref", sent.ref, "main")
    with pytest.raises(ChangedRemoteError, match="another program has changed it"):
        there.carrier.receive(run, sent)
    with pytest.raises(GateError):
        here.carrier.send(run, {}), "a ref of this claim is never replaced"
    git(remote, "update-ref", "-d", sent.ref)
    with pytest.raises(GateError, match="has no refs/gatebell/run-1/"):
        there.carrier.receive(run, sent)


@pytest.mark.proves("HOST-35")
def test_no_program_of_the_repository_or_the_remote_runs(hosts, trap, tmp_path):
    """An agent edits .git/config so that a push would run a program or go elsewhere."""
    here, there, remote = hosts
    program, trace = trap
    run = here.make()
    write(run.folder, x_txt="1\n")
    elsewhere = tmp_path / "elsewhere.git"
    git(tmp_path, "init", "-q", "--bare", elsewhere)
    for name, value in {
        "remote.origin.url": f"ext::{program}",
        "remote.origin.pushurl": str(elsewhere),
        "remote.origin.receivepack": str(program),
        "remote.origin.uploadpack": str(program),
        f"url.{elsewhere}.insteadOf": str(remote),
        f"url.{elsewhere}.pushInsteadOf": str(remote),
        "core.sshCommand": str(program),
        "core.gitProxy": str(program),
        "core.askPass": str(program),
        "credential.helper": f"!{program}",
        "core.alternateRefsCommand": str(program),
        "protocol.ext.allow": "always",
        "push.gpgSign": "true",
        "gpg.program": str(program),
    }.items():
        git(here.clone, "config", name, value)
    for folder in (here.clone / ".git", there.clone / ".git", remote):
        (folder / "hooks").mkdir(exist_ok=True)
        for hook in ("pre-push", "pre-receive", "update", "post-receive", "post-update",
                     "reference-transaction", "proc-receive", "post-checkout"):  # fmt: skip
            shutil.copy(program, folder / "hooks" / hook)
    for name in ("core.alternateRefsCommand", "uploadpack.packObjectsHook", "core.fsmonitor"):
        git(remote, "config", name, str(program))
    (remote / "objects/info/alternates").write_text(f"{elsewhere}/objects\n")
    trace.unlink(missing_ok=True)
    sent = here.carrier.send(run, {})
    moved = there.take(run, sent)
    there.carrier.drop(run, sent)
    assert not trace.exists() and git(elsewhere, "for-each-ref") == ""
    assert (Path(moved.folder) / "x.txt").read_text() == "1\n"


@pytest.mark.proves("HOST-35")
@pytest.mark.parametrize("way", ["https", "ssh"])
def test_no_program_runs_on_the_way_to_a_server(hosts, trap, way):
    here, _, _ = hosts
    program, trace = trap
    run = here.make()
    for name, value in {
        "core.sshCommand": str(program),
        "credential.helper": f"!{program}",
        "http.proxy": "ext::x",
        "url.ext::x.insteadOf": f"{way}://",
    }.items():
        git(here.clone, "config", name, value)
    trace.unlink(missing_ok=True)
    address = f"{way}://ada:secret@127.0.0.1:1/shop.git"
    carrier = here.carrier.__class__(
        here.workspace, "ci", {"name:shop": run.project}, {run.project: parse_remote(address, "x")}
    )
    with pytest.raises(GateError, match=r"127\.0\.0\.1") as error:
        carrier.send(run, {})
    assert "secret" not in str(error.value) and not trace.exists()


@pytest.mark.proves("HOST-36")
def test_folder_travels_by_gits_own_transport(hosts, tmp_path, monkeypatch):
    """A program in the place of ssh; everything else is as with a server."""
    here, there, remote = hosts
    (tmp_path / "bin").mkdir()
    ssh = tmp_path / "bin/ssh"
    ssh.write_text('#!/bin/sh\necho "$@" >>"$0.log"\neval "last=\\${$#}"\nexec sh -c "$last"\n')
    ssh.chmod(0o755)
    monkeypatch.setenv("PATH", f"{ssh.parent}:{os.environ['PATH']}")
    by_ssh = parse_remote(f"git@gate.example.org:{remote}", "x")
    for host in (here, there):
        host.carrier._remotes[str(host.clone)] = by_ssh
    run = here.make()
    fill(run.folder)
    sent = here.carrier.send(run, {"s.jsonl": b"said\n"})
    with pytest.raises(GateError):
        here.carrier.send(run, {}), "a ref of this claim is never replaced"
    received = there.carrier.receive(run, sent)
    assert list_all(received.place.folder) == list_all(run.folder)
    assert received.files == {"s.jsonl": b"said\n"}
    there.carrier.drop(run, sent)
    there.carrier.drop(run, sent)
    assert git(remote, "for-each-ref", "refs/gatebell") == ""
    assert "git@gate.example.org git-receive-pack" in (tmp_path / "bin/ssh.log").read_text()


@pytest.mark.proves("HOST-37")
def test_only_known_ways_lead_to_a_remote():
    for address, protocol in ADDRESSES.items():
        assert parse_remote(address, "travel").protocol == protocol, address
    for address in REFUSED:
        with pytest.raises(UsageError, match="travel: expected https://HOST/PATH"):
            parse_remote(address, "travel")
    assert parse_remote("https://ada:secret@h.org/x", "").shown == "https://h.org/x"


def test_ssh_must_be_installed(hosts, monkeypatch):
    here, _, _ = hosts
    run = here.make()
    here.carrier._remotes[run.project] = parse_remote("git@gate.example.org:x", "x")
    monkeypatch.setattr(remotes.shutil, "which", lambda _: None)
    with pytest.raises(UsageError, match="ssh is not installed"):
        here.carrier.send(run, {})


@pytest.mark.proves("HOST-35")
def test_link_in_place_of_the_folder_never_leads_out(tmp_path, monkeypatch):
    remote, outside = make_remote(tmp_path), tmp_path / "outside"
    outside.mkdir()
    first = tmp_path / "first"
    (first / "app").mkdir()
    write(first / "app", x_txt="x\n")
    git(first, "add", ".")
    git(first, "commit", "-qm", "app")
    git(first, "push", "-q", "origin", "HEAD:main")
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    here, there = (HostFolders(tmp_path / name, remote, inner="app") for name in ("a", "b"))
    run = here.make()
    shutil.rmtree(run.folder)
    Path(run.folder).symlink_to(outside)
    with pytest.raises(GateError, match="app is a symbolic link, which cannot travel"):
        here.carrier.send(run, {})
    monkeypatch.setattr(travelling_folders, "_find_problem", lambda *_: "")
    sent = here.carrier.send(run, {})
    with pytest.raises(GateError, match="app is a symbolic link in what was sent"):
        there.carrier.receive(run, sent)
    assert list(outside.iterdir()) == []
