"""Carry the folders of runs between hosts, by a remote of git."""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING

from gatebell.adapters.git import indexes, remotes, travelling_folders, worktree_records
from gatebell.adapters.git.repositories import find
from gatebell.adapters.git.worktree_records import Record
from gatebell.adapters.git.worktrees import find_free_branch, open_whole
from gatebell.errors import GateError
from gatebell.ports.carriers import Received, Sent

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gatebell.adapters.git.remotes import Remote
    from gatebell.adapters.git.repositories import Repository
    from gatebell.adapters.git.worktrees import GitWorkspace
    from gatebell.domain.runs.runs import Run


class GitCarrier:
    """The port Carrier by commits in refs of a remote."""

    def __init__(
        self,
        workspace: GitWorkspace,
        pool: str,
        projects: Mapping[str, str],
        remotes_of: Mapping[str, Remote],
    ) -> None:
        """Take the folder of each project by its key, and the remote of each folder."""
        self._workspace, self.pool = workspace, pool
        self._projects, self._remotes = projects, remotes_of

    def find_project(self, key: str) -> str:
        return self._projects.get(key, "")

    def send(self, run: Run, files: Mapping[str, bytes]) -> Sent:
        path = self._workspace.record_path(run.id)
        with worktree_records.lock_worktree(path) as lock:
            record = worktree_records.read(path)
            if not record or record.root != run.root:
                raise GateError(f"{run.root} is not a worktree of a run: {path} is missing.")
            try:
                commit = travelling_folders.pack(record, files)
            except OSError as error:
                raise GateError(f"{run.root} cannot be read: {error}.") from error
            sent = Sent(commit, _name_ref(run))
            source = record.repository()._replace(held=lock)
            remotes.push(source, self._find_remote(run), *sent)
            worktree_records.write(path, record._replace(left=commit))
            return sent

    def receive(self, run: Run, sent: Sent) -> Received:
        project = os.path.realpath(self._projects[run.project_key])
        path = self._workspace.record_path(run.id)
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        with worktree_records.lock_worktree(path) as lock:
            source = self._workspace.make_ready(find(project), lock)
            if indexes.is_sparse(source):
                raise GateError(f"{project} is a sparse checkout, where no run can arrive.")
            known = worktree_records.read(path)
            mine = known if known and known.token == build_token(run) else None
            if mine and _is_there(mine) and travelling_folders.is_same(mine, sent.commit):
                return Received(mine.place, {}, is_new=False)
            remotes.fetch(source, self._find_remote(run), *sent)
            remarks = self._make_room(known, mine, path)
            record = self._make(source, project, run, sent.commit, remarks)
            files = travelling_folders.read_files(source, sent.commit)
            # Its parts are held by the branch and the snapshots now.
            source.run("update-ref", "--no-deref", "-d", sent.ref)
            return Received(record.place, files, is_new=True)

    def _make_room(self, known: Record | None, mine: Record | None, path: str) -> list[str]:
        """Remove or move aside what is at the place of the new folder; return remarks."""
        if not known:
            return []
        if mine and not _has_other_work(mine):
            self._workspace.drop_record(open_whole(mine), mine, path)
            return []
        moved = worktree_records.set_aside(path, known)
        what = "This run's own folder from before" if mine else "The folder of another run"
        return [f"{what} was here: it was moved to {moved}."]

    def _make(
        self, source: Repository, project: str, run: Run, commit: str, remarks: list[str]
    ) -> Record:
        packed = travelling_folders.read(source, commit)
        path, top = self._workspace.record_path(run.id), os.path.realpath(source.root)
        name = "".join(sign if sign.isprintable() else "-" for sign in os.path.basename(top))
        root = os.path.join(path.removesuffix(".json"), name or "root")
        record = Record(
            project=project,
            common=source.folders.common,
            root=root,
            folder=os.path.normpath(os.path.join(root, packed.inner)),
            branch=find_free_branch(source, packed.branch),
            head=packed.head,
            base=packed.base,
            content=packed.head,
            remarks=[*packed.remarks, *remarks],
            token=build_token(run),
            began=packed.began,
            merges=packed.merges,
            settings=source.settings,
        )
        worktree_records.write(path, record)
        try:
            travelling_folders.lay_out(source, record, commit)
        except OSError as error:
            raise GateError(f"{root} cannot be made: {error}.") from error
        ready = record._replace(ready=True)
        worktree_records.write(path, ready)
        return ready

    def drop(self, run: Run, sent: Sent) -> None:
        project = self._projects.get(run.project_key) or run.project
        remotes.remove(find(project), self._find_remote(run), sent.ref)

    def _find_remote(self, run: Run) -> Remote:
        return self._remotes[self._projects[run.project_key]]


def drop_copy(workspace: GitWorkspace, run: Run, *, dry_run: bool) -> str:
    """Remove the folder that a run has left on this host; return it, or "" if there is none.

    A folder with work that was not sent stays.
    """
    path = workspace.record_path(run.id)
    if not os.path.exists(path):
        return ""
    with worktree_records.lock_worktree(path):
        record = worktree_records.read(path)
        if not record or record.token != build_token(run) or not record.left:
            return ""
        if _has_other_work(record):
            return ""
        if not dry_run:
            workspace.drop_record(open_whole(record), record, path)
        return record.root


def build_token(run: Run) -> str:
    """Return a text that tells this run from one with its number in another store."""
    return run.created_at.isoformat()


def _name_ref(run: Run) -> str:
    """Return a ref for this claim alone: an older driver can never replace what a newer one sent."""
    told_apart = hashlib.sha256(build_token(run).encode()).hexdigest()[:12]
    return f"refs/gatebell/run-{run.id}/{told_apart}-{run.claim}"


def _is_there(record: Record) -> bool:
    return record.ready and os.path.isdir(record.root)


def _has_other_work(record: Record) -> bool:
    """Return whether a folder of this host has work that it has not sent."""
    if not _is_there(record):
        return False
    return not record.left or not travelling_folders.is_same(record, record.left)
