"""Make a git worktree for each run, snapshot and compare it, and remove it without losing work."""

from __future__ import annotations

import glob
import os
import tempfile
from contextlib import suppress
from itertools import count
from typing import TYPE_CHECKING, NamedTuple

from gatebell.adapters.git import (
    commits,
    linked_worktrees,
    merges,
    provisions,
    removal,
    restoration,
    snapshots,
    users_programs,
    worktree_records,
)
from gatebell.adapters.git.merges import Stack
from gatebell.adapters.git.repositories import Repository, find, is_plain
from gatebell.adapters.git.shadow import make_private_folder
from gatebell.adapters.git.snapshots import Start
from gatebell.adapters.git.worktree_records import Record
from gatebell.errors import GateError, NoWorktreeError, UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gatebell.ports.workspaces import Place


class _Request(NamedTuple):
    """The arguments of `make`, see the port."""

    with_changes: bool
    snapshot: str
    branch: str
    base: str
    onto: Sequence[str]
    instead: Mapping[str, str]
    markers: bool


class GitWorkspace:
    """The port Workspace by `git worktree`. A data folder belongs to one store."""

    def __init__(self, data_folder: str) -> None:
        self._folder = os.path.realpath(os.path.join(data_folder, "worktrees"))

    def make_ready(self, repository: Repository, lock: int) -> Repository:
        """Return the repository for commits and merges: locked, with the user's own filters."""
        return repository._replace(
            held=lock, users=users_programs.read(os.path.dirname(self._folder))
        )

    def record_path(self, run_id: int) -> str:
        return os.path.join(self._folder, f"run-{run_id}.json")

    def make(
        self,
        project: str,
        run_id: int,
        *,
        with_changes: bool = False,
        snapshot: str = "",
        token: str = "",
        branch: str = "",
        base: str = "",
        onto: Sequence[str] = (),
        instead: Mapping[str, str] | None = None,
        markers: bool = False,
    ) -> Place:
        request = _Request(with_changes, snapshot, branch, base, onto, instead or {}, markers)
        project = os.path.realpath(project)
        path = self.record_path(run_id)
        os.makedirs(self._folder, mode=0o700, exist_ok=True)
        with worktree_records.lock_worktree(path) as lock:
            known = worktree_records.read(path)
            record = known if known and known.token == token else None
            if record and record.project != project:
                raise UsageError(
                    f"{path} belongs to run {run_id} of another project, {record.project}: "
                    "move it and its folder elsewhere."
                )
            if record and record.ready:
                record.repository()
                return record.place
            source = self.make_ready(find(project), lock)
            if not record:
                record = self._plan(source, project, run_id, request)
                record = record._replace(token=token)
                if known or os.path.lexists(os.path.dirname(record.root)):
                    moved = worktree_records.set_aside(path, known)
                    record.remarks.append(
                        f"The folder of another run {run_id} was here before: "
                        f"it was moved to {moved}."
                    )
                worktree_records.write(path, record)
            record = _carry_out(source, record)
            worktree_records.write(path, record)
            return record.place

    def _plan(self, source: Repository, project: str, run_id: int, request: _Request) -> Record:
        top = os.path.realpath(source.root)
        inner = os.path.relpath(project, top)
        left_out = os.path.normpath(os.path.join(inner, ".agents"))
        begin, merged = _plan_start(source, left_out, request)
        wanted = request.branch or f"gate/run-{run_id}"
        branch = find_free_branch(source, wanted)
        if branch != wanted:
            merged.remarks.append(f"The branch {wanted} exists already: this run uses {branch}.")
        name = "".join(sign if sign.isprintable() else "-" for sign in os.path.basename(top))
        root = os.path.join(self._folder, f"run-{run_id}", name or "root")
        return Record(
            *(
                project,
                source.folders.common,
                root,
                os.path.normpath(os.path.join(root, inner)),
                branch,
            ),
            *(*begin, merged.remarks),
            # The user's own commits were there before, and stay in any case.
            began=source.ask("merge-base", begin.base, "HEAD"),
            merges=merged.merges,
            settings=source.settings,
        )

    def set_up(self, project: str, place: Place) -> str:
        if not place.branch:
            return ""
        project = os.path.realpath(project)
        told = provisions.copy_included(find(project), place.root)
        return "\n".join(
            part for part in (told, provisions.run_setup(project, place.folder)) if part
        )

    def check(self, place: Place, command: str, key: str, limit_seconds: float) -> str:
        return provisions.check(command, place.folder, key, limit_seconds)

    def snapshot(self, place: Place, run_id: int, path: str) -> str:
        if not place.branch:
            return ""
        record = _require_record(place)
        repository = record.repository()
        tree = snapshots.write_tree(
            repository.keeping_bytes(), record.snapshot_index, record.left_out
        )
        words = f"gate: run {run_id}, call {path}"
        return snapshots.keep(repository, tree, record.refs + path, record.base, words)

    def diff(self, place: Place, since: str = "", until: str = "") -> str:
        if not place.branch:
            return _diff_in_place(place)
        record = _require_record(place)
        repository = record.repository()
        if since:
            if not f"{since}{until}".isalnum():
                raise GateError(f"the store names a snapshot that is none: {since!r} {until!r}")
            # A snapshot has the bytes of the files, so they are compared with bytes.
            until = until or snapshots.write_tree(
                repository.keeping_bytes(), record.snapshot_index, record.left_out
            )
            return snapshots.build_diff(repository, since, until)
        tree = snapshots.write_tree(repository, record.diff_index, record.left_out)
        return snapshots.build_diff(repository, record.base, tree)

    def commit(self, place: Place, words: str, key: str) -> str:
        with worktree_records.lock_worktree(worktree_records.build_path(place.root)) as lock:
            record = _require_record(place)
            worktree = self.make_ready(record.repository(), lock)
            return commits.commit(worktree, record, words, key)

    def merge(self, place: Place, base: str, words: str, key: str, *, squash: bool = False) -> str:
        with worktree_records.lock_worktree(worktree_records.build_path(place.root)) as lock:
            record = _require_record(place)
            source = self.make_ready(_open_source(record), lock)
            if record.landed and not removal.read_tip(source, record):
                return record.landed
            return merges.merge_branch(source, record, base, words, key, squash=squash)

    def let_go(self, place: Place, commit: str) -> bool:
        path = worktree_records.build_path(place.root)
        with worktree_records.lock_worktree(path) as lock:
            record = _require_record(place)
            source = self.make_ready(_open_source(record), lock)
            worktree, tip = record.repository(), removal.read_tip(source, record)
            if not tip:
                return bool(record.landed)
            held = linked_worktrees.find_holder(source, record.branch, record.root)
            if held or not merges.is_in(source, tip, commit):
                return False
            # A merge that is repeated after a crash must find it without its branch.
            worktree_records.write(path, record._replace(tip=tip, landed=commit))
            removal.drop_branch(worktree, record, tip)
            return True

    def find_project(self, place: Place) -> str:
        record = worktree_records.read(worktree_records.build_path(place.root))
        return record.project if record else ""

    def find_snapshot(self, place: Place, run_id: int, path: str) -> str:
        if not place.branch:
            return ""
        record = _require_record(place)
        return restoration.find_snapshot(open_whole(record), record, path)

    def restore(self, place: Place, run_id: int, path: str) -> list[str]:
        if not place.branch:
            return []
        with worktree_records.lock_worktree(worktree_records.build_path(place.root)) as lock:
            record = _require_record(place)
            repository = self.make_ready(open_whole(record), lock)
            return restoration.restore(repository, record, path)

    def remove(
        self, place: Place, run_id: int, *, dry_run: bool = False, force: bool = False
    ) -> str:
        path = self.record_path(run_id)
        if not place.branch or not os.path.isdir(self._folder):
            return ""
        with worktree_records.lock_worktree(path) as lock:
            record = worktree_records.read(path)
            if not record or record.root != place.root:
                return ""
            if not os.path.isdir(record.common):
                return f"{record.common}, the repository of {record.root}, is missing: restore it."
            # From the repository: the worktree may be gone already.
            repository = open_whole(record)._replace(held=lock)
            if record.ready and not force and (reason := removal.find_loss(repository, record)):
                return reason
            return "" if dry_run else self.drop_record(repository, record, path)

    def drop_record(self, repository: Repository, record: Record, path: str) -> str:
        """Remove the worktree of a record, with its branch and snapshots, and then the record."""
        removal.clear(record)
        restoration.clear(record)
        if where := linked_worktrees.find_holder(repository, record.branch):
            raise GateError(f"{record.branch} is checked out in {where}: switch branches there.")
        if tip := removal.read_tip(repository, record):
            repository.refuse_links(f"refs/heads/{record.branch}")
            repository.run("update-ref", "--no-deref", "-d", f"refs/heads/{record.branch}", tip)
        refs = repository.run("for-each-ref", "--format=delete %(refname)", record.refs)
        for line in refs.splitlines():
            repository.refuse_links(os.fsdecode(line).removeprefix("delete "))
        # A ref may have been turned into an alias of another ref, which is not ours.
        repository.run("update-ref", "--no-deref", "--stdin", given=refs)
        # Also the remains of snapshots that were killed. The record is removed last.
        for ending in worktree_records.INDEXES:
            index = os.path.dirname(record.root) + ending
            for left in glob.glob(glob.escape(index) + ".*"):
                removal.remove_tree(left)
            with suppress(FileNotFoundError):
                os.unlink(index)
        os.unlink(path)
        return ""


def _open_source(record: Record) -> Repository:
    """Open the repository from the project, with the attributes of the user's own files."""
    found = find(record.project)
    return found._replace(settings=record.settings) if record.settings else found


def open_whole(record: Record) -> Repository:
    """Open the repository without the worktree, which may be gone."""
    return record.open(record.common, record.common)


def _require_record(place: Place) -> Record:
    path = worktree_records.build_path(place.root)
    if record := worktree_records.read(path):
        return record
    raise GateError(f"{place.root} is not a worktree of a run: {path} is missing.")


def _plan_start(source: Repository, left_out: str, request: _Request) -> tuple[Start, Stack]:
    if request.snapshot:
        begin = snapshots.read_start(source, request.snapshot)
        return begin, Stack(begin.base, [], [])
    if request.with_changes and (request.base or request.onto):
        raise UsageError(
            "Uncommitted changes can only be used with the checked-out commit: leave out the base."
        )
    head = source.ask("rev-parse", "--verify", "--quiet", "HEAD^{commit}")
    if not head:
        raise NoWorktreeError(
            f"{source.root} has no commit to start a worktree from: commit first."
        )
    base = (
        (request.base, merges.resolve(source, request.base))
        if request.base
        else (_read_branch_name(source), head)
    )
    merged = merges.stack(source, base, request.onto, request.instead, markers=request.markers)
    begin = Start(merged.commit, merged.commit, merged.commit)
    changed = removal.list_uncommitted(source, left_out)
    if not changed:
        return begin, merged
    if not request.with_changes:
        left = (
            f"Changes to {removal.format_files(len(changed))} are not committed and were left out"
        )
        # Only `gate run` has an option to include them.
        merged.remarks.append(
            f"{left}." if request.branch else f"{left}; include them with --with-changes."
        )
        return begin, merged
    with tempfile.TemporaryDirectory(dir=make_private_folder()) as apart:
        tree = snapshots.write_tree(source.keeping_bytes(), os.path.join(apart, "index"), left_out)
    content = snapshots.keep(source, tree, "", head, "gate: changes")
    return begin._replace(content=content), merged


def _read_branch_name(source: Repository) -> str:
    return source.line("rev-parse", "--abbrev-ref", "HEAD")


def find_free_branch(source: Repository, wanted: str) -> str:
    """Return the name of a branch that does not exist yet, this one or with a number."""
    above = os.path.dirname(wanted)
    if source.ask("rev-parse", "--verify", "--quiet", f"refs/heads/{above}"):
        raise UsageError(
            f"The branch `{above}` is in the way of branches like {wanted}: rename it with "
            f"`git branch -m {above} NAME`."
        )
    # Another store may count its runs in the same repository.
    names = (wanted + (f"-{number}" if number > 1 else "") for number in count(1))
    return next(
        name
        for name in names
        if not source.line("for-each-ref", "--count=1", f"refs/heads/{name}", f"refs/{name}/")
    )


def _carry_out(source: Repository, record: Record) -> Record:
    """Make the planned worktree from the beginning; no agent has worked in it yet."""
    removal.clear(record)
    os.makedirs(os.path.dirname(record.root), mode=0o700, exist_ok=True)
    tip = removal.read_tip(source, record)
    if tip and tip != record.head:
        raise GateError(f"The branch {record.branch} exists already: remove or rename it.")
    linked_worktrees.add(source, record.root, record.branch, record.head)
    if record.content != record.head:
        source.refuse_links(record.refs + "start")
        source.run("update-ref", "--no-deref", record.refs + "start", record.content)
    repository = record.repository()._replace(held=source.held)
    snapshots.lay_out(repository, Start(record.head, record.base, record.content))
    remarks = [*record.remarks, *_list_missing(repository)]
    inner = os.path.relpath(record.folder, record.root)
    if not is_plain(record.root, inner):
        raise UsageError(
            f"{inner} is a symbolic link in the last commit: commit its present state."
        )
    if not os.path.isdir(record.folder):
        os.makedirs(record.folder)
        remarks.append(f"{inner} is not in the last commit: it starts as an empty folder.")
    snapshots.keep_out(record.folder)
    return record._replace(remarks=remarks, ready=True)


def _list_missing(repository: Repository) -> list[str]:
    """Return remarks about files that the project has and its worktree has not."""
    remarks = []
    if modules := removal.list_submodules(repository):
        remarks.append(
            f"Submodules are empty folders ({', '.join(modules)}): "
            "fill them with `git submodule update --init` in .gate/setup."
        )
    names = repository.run("ls-files", "-z")
    values = repository.names("check-attr", "-z", "--stdin", "filter", given=names)[2::3]
    if filtered := [value for value in values if value not in ("unspecified", "unset", "set")]:
        remarks.append(
            f"{removal.format_files(len(filtered))} stored by a filter "
            f"({', '.join(sorted(set(filtered)))}) "
            "are in their stored form: fetch them in .gate/setup."
        )
    return remarks


def _diff_in_place(place: Place) -> str:
    try:
        repository = find(place.folder)
    except UsageError:
        return ""
    head = repository.ask("rev-parse", "--verify", "--quiet", "HEAD^{commit}")
    base = place.base or head or repository.line("hash-object", "-t", "tree", os.devnull)
    inner = os.path.relpath(os.path.realpath(place.folder), os.path.realpath(repository.root))
    left_out = os.path.normpath(os.path.join(inner, ".agents"))
    with tempfile.TemporaryDirectory(dir=make_private_folder()) as apart:
        objects = os.path.join(apart, "objects")
        os.mkdir(objects)
        tree = snapshots.write_tree(repository, os.path.join(apart, "index"), left_out, objects)
        return snapshots.build_diff(repository, base, tree, objects)
