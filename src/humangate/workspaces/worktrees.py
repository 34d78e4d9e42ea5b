"""A git worktree for each run: made, kept in snapshots, compared, and removed when nothing is lost."""

from __future__ import annotations

import os
import shlex
import shutil
import tempfile
from contextlib import suppress
from itertools import count
from typing import TYPE_CHECKING

from humangate.errors import GateError, UsageError
from humangate.workspaces import provisions, records, snapshots
from humangate.workspaces.records import Record
from humangate.workspaces.repositories import Repository, find, is_plain, reopen
from humangate.workspaces.snapshots import Start

if TYPE_CHECKING:
    from humangate.doors.workspace import Place

_GITLINK = "160000"


class GitWorkspace:
    """The door Workspace by `git worktree`. A data folder belongs to one store."""

    def __init__(self, data_folder: str) -> None:
        self._folder = os.path.realpath(os.path.join(data_folder, "worktrees"))

    def _record(self, run_id: int) -> str:
        return os.path.join(self._folder, f"run-{run_id}.json")

    def make(
        self,
        project: str,
        run_id: int,
        *,
        with_changes: bool = False,
        snapshot: str = "",
        token: str = "",
    ) -> Place:
        project = os.path.realpath(project)
        path = self._record(run_id)
        os.makedirs(self._folder, mode=0o700, exist_ok=True)
        with records.alone(path) as lock:
            known = records.read(path)
            record = known if known and known.token == token else None
            if record and record.project != project:
                raise UsageError(
                    f"{path} is about run {run_id} of another project, {record.project}: "
                    "move it and its folder away."
                )
            if record and record.ready:
                record.repository()
                return record.place
            source = find(project)._replace(held=lock)
            if not record:
                record = self._plan(source, project, run_id, with_changes, snapshot)
                record = record._replace(token=token)
                if known or os.path.lexists(os.path.dirname(record.root)):
                    moved = records.set_aside(path, known)
                    record.remarks.append(
                        f"The folder of another run {run_id} was here before: it is {moved} now."
                    )
                records.write(path, record)
            record = _carry_out(source, record)
            records.write(path, record)
            return record.place

    def _plan(
        self, source: Repository, project: str, run_id: int, with_changes: bool, snapshot: str
    ) -> Record:
        top = os.path.realpath(source.root)
        inner = os.path.relpath(project, top)
        begin, remarks = self._begin(source, os.path.join(inner, ".agents"), with_changes, snapshot)
        branch = _free_branch(source, run_id)
        if branch != f"gate/run-{run_id}":
            remarks.append(f"The branch gate/run-{run_id} was there before: this is {branch}.")
        name = "".join(sign if sign.isprintable() else "-" for sign in os.path.basename(top))
        root = os.path.join(self._folder, f"run-{run_id}", name or "root")
        common = source.line("rev-parse", "--path-format=absolute", "--git-common-dir")
        folder = os.path.normpath(os.path.join(root, inner))
        return Record(project, common, root, folder, branch, *begin, remarks)

    def _begin(
        self, source: Repository, left_out: str, with_changes: bool, snapshot: str
    ) -> tuple[Start, list[str]]:
        if snapshot:
            return snapshots.start(source, snapshot), []
        head = source.ask("rev-parse", "--verify", "--quiet", "HEAD^{commit}")
        if not head:
            raise UsageError(
                f"{source.root} has no commit yet, which a worktree could start from: commit "
                "first, or let the run work in the project itself with --in-place."
            )
        begin = Start(head, head, head)
        left_out = os.path.normpath(left_out)
        changed = _uncommitted(source, left_out)
        if not changed:
            return begin, []
        if not with_changes:
            number = _files(len(changed))
            left = f"Changes to {number} are not committed and were left out"
            return begin, [f"{left}; --with-changes takes them."]
        with tempfile.TemporaryDirectory() as apart:
            tree = snapshots.tree(source, os.path.join(apart, "index"), left_out)
        return begin._replace(content=snapshots.keep(source, tree, "", head, "gate: changes")), []

    def set_up(self, project: str, place: Place) -> str:
        if not place.branch:
            return ""
        project = os.path.realpath(project)
        told = provisions.copy_included(find(project), place.root)
        return "\n".join(
            part for part in (told, provisions.run_setup(project, place.folder)) if part
        )

    def snapshot(self, place: Place, run_id: int, path: str) -> str:
        if not place.branch:
            return ""
        record = _known(place)
        repository = record.repository()
        tree = snapshots.tree(repository, record.kept, record.left_out)
        words = f"gate: run {run_id}, call {path}"
        return snapshots.keep(repository, tree, record.refs + path, record.base, words)

    def diff(self, place: Place) -> str:
        if not place.branch:
            return _diff_in_place(place)
        record = _known(place)
        repository = record.repository()
        tree = snapshots.tree(repository, record.kept, record.left_out)
        return snapshots.diff(repository, record.base, tree)

    def remove(
        self, place: Place, run_id: int, *, dry_run: bool = False, force: bool = False
    ) -> str:
        path = self._record(run_id)
        if not place.branch or not os.path.isdir(self._folder):
            return ""
        with records.alone(path) as lock:
            record = records.read(path)
            if not record or record.root != place.root:
                return ""
            if not os.path.isdir(record.common):
                return f"{record.common} is gone, the repository of {record.root}: put it back."
            # From the repository's side: the worktree may be gone already.
            repository = reopen(record.common, record.common)._replace(held=lock)
            if record.ready and not force and (reason := _would_be_lost(repository, record)):
                return reason
            return "" if dry_run else self._remove(repository, record, path)

    def _remove(self, repository: Repository, record: Record, path: str) -> str:
        _clear(repository, record)
        if repository.ask("rev-parse", "--verify", "--quiet", f"refs/heads/{record.branch}"):
            repository.run("branch", "-D", "--", record.branch)
        refs = repository.run("for-each-ref", "--format=delete %(refname)", record.refs)
        # A ref may have been made to stand for another, which is not ours.
        repository.run("update-ref", "--no-deref", "--stdin", given=refs)
        # Also what was left by snapshots that were killed. The record is the last to go.
        for name in os.listdir(self._folder):
            left = os.path.join(self._folder, name)
            if left.startswith(record.kept + "."):
                _remove_tree(left)
        with suppress(FileNotFoundError):
            os.unlink(record.kept)
        os.unlink(path)
        return ""


def _known(place: Place) -> Record:
    path = records.path_of(place.root)
    if record := records.read(path):
        return record
    raise GateError(f"{place.root} is no worktree of a run: {path} is missing.")


def _free_branch(source: Repository, run_id: int) -> str:
    if source.ask("rev-parse", "--verify", "--quiet", "refs/heads/gate"):
        raise UsageError(
            "The branch `gate` is in the way of branches like gate/run-1: rename it with "
            "`git branch -m gate NAME`."
        )
    # Another store may count its runs in the same repository.
    names = (f"gate/run-{run_id}" + (f"-{number}" if number > 1 else "") for number in count(1))
    return next(
        name
        for name in names
        if not source.line("for-each-ref", "--count=1", f"refs/heads/{name}", f"refs/{name}/")
    )


def _carry_out(source: Repository, record: Record) -> Record:
    """Make what was planned, from the beginning: nobody has worked in it yet."""
    _clear(source, record)
    os.makedirs(os.path.dirname(record.root), mode=0o700, exist_ok=True)
    add = ("worktree", "add", "--no-checkout", "--quiet")
    tip = source.ask("rev-parse", "--verify", "--quiet", f"refs/heads/{record.branch}")
    if not tip:
        source.run(*add, "-b", record.branch, "--", record.root, record.head)
    elif tip == record.head:
        source.run(*add, "--", record.root, record.branch)
    else:
        raise GateError(f"Somebody else has made the branch {record.branch}: remove or rename it.")
    if record.content != record.head:
        source.run("update-ref", "--no-deref", record.refs + "start", record.content)
    repository = record.repository()._replace(held=source.held)
    snapshots.lay_out(repository, Start(record.head, record.base, record.content))
    remarks = [*record.remarks, *_not_there(repository)]
    inner = os.path.relpath(record.folder, record.root)
    if not is_plain(record.root, inner):
        raise UsageError(f"{inner} is a symbolic link in the last commit: commit what it is now.")
    if not os.path.isdir(record.folder):
        os.makedirs(record.folder)
        remarks.append(f"{inner} is not in the last commit: it begins as an empty folder.")
    _keep_out(record.folder)
    return record._replace(remarks=remarks, ready=True)


def _not_there(repository: Repository) -> list[str]:
    """What the project has and a worktree of it has not."""
    remarks = []
    if modules := _submodules(repository):
        remarks.append(
            f"Submodules are empty folders ({', '.join(modules)}): "
            "`git submodule update --init` in .gate/setup fills them."
        )
    if repository.filters:
        names = repository.run("ls-files", "-z")
        told = repository.names("check-attr", "-z", "--stdin", "filter", given=names)
        filtered = [name for name in told[2::3] if name in repository.filters]
        if filtered:
            remarks.append(
                f"{_files(len(filtered))} stored by a filter ({', '.join(sorted(set(filtered)))}) "
                "are there as the repository keeps them: .gate/setup may fetch them."
            )
    return remarks


def _keep_out(folder: str) -> None:
    """Agents' papers stay out of whatever is committed."""
    papers = os.path.join(folder, ".agents")
    with suppress(FileExistsError):
        os.mkdir(papers)
    if os.path.islink(papers) or not os.path.isdir(papers):
        raise UsageError(f"{papers} must be a folder: the project has something else there.")
    # One that the project has of its own stays.
    with suppress(FileExistsError), open(os.path.join(papers, ".gitignore"), "x") as file:
        file.write("*\n")


def _submodules(repository: Repository) -> list[str]:
    entries = repository.names("ls-files", "-z", "--stage")
    return [entry.partition("\t")[2] for entry in entries if entry.startswith(_GITLINK)]


def _uncommitted(repository: Repository, left_out: str) -> list[str]:
    # Without looking into submodules: that would run the filters that they name.
    return repository.names(
        *("status", "--porcelain", "-z", "--no-renames", "--untracked-files=all"),
        *("--ignore-submodules=dirty", "--", f":(top,exclude,literal){left_out}"),
    )


def _would_be_lost(repository: Repository, record: Record) -> str:
    """Why a worktree must stay, or nothing."""
    heads = [f"refs/heads/{record.branch}"]
    if os.path.isdir(record.root):
        worktree = record.repository()
        if changed := _uncommitted(worktree, record.left_out):
            root = shlex.quote(record.root)
            return (
                f"{record.root} holds changes to {_files(len(changed))} that are not committed. To "
                f"keep them: git -C {root} add -A && git -C {root} commit, then {_merge(record)}."
            )
        for module in _submodules(worktree):
            path = os.path.join(record.root, module)
            if os.path.isdir(path) and os.listdir(path):
                return f"{path} is a submodule that may hold work: look, then empty its folder."
        if os.path.exists(os.path.join(worktree.git_dir, "locked")):
            return f"{record.root} is locked: `git worktree unlock {record.root}`."
        heads.append(worktree.ask("rev-parse", "--verify", "--quiet", "HEAD^{commit}"))
    tips = [
        tip for head in heads if (tip := repository.ask("rev-parse", "--verify", "--quiet", head))
    ]
    only_here = tips and repository.line(
        *("rev-list", "--count", *tips, "--not", record.base),
        *(f"--exclude={record.branch}", "--branches", "--remotes"),
    )
    if only_here and only_here != "0":
        return (
            f"{record.branch} has commits that are on no other branch ({only_here}). To keep them: "
            f"{_merge(record)}, or push it."
        )
    where = repository.line(
        "for-each-ref", "--format=%(worktreepath)", f"refs/heads/{record.branch}"
    )
    if where and os.path.realpath(where) != os.path.realpath(record.root):
        return f"{record.branch} is checked out in {where}."
    return ""


def _merge(record: Record) -> str:
    return f"git -C {shlex.quote(record.project)} merge {shlex.quote(record.branch)}"


def _clear(repository: Repository, record: Record) -> None:
    _remove_tree(os.path.dirname(record.root))
    for _ in record.git_dirs():
        # Twice: what was interrupted while it was made is locked.
        repository.run("worktree", "remove", "--force", "--force", "--", record.root)


def _remove_tree(folder: str) -> None:
    if not os.path.lexists(folder):
        return
    try:
        shutil.rmtree(folder)
    except PermissionError:
        # Some tools write folders that nobody may write (Go's module cache).
        for inner, _, _ in os.walk(folder):
            os.chmod(inner, 0o700)
        shutil.rmtree(folder)


def _files(number: int) -> str:
    return "1 file" if number == 1 else f"{number} files"


def _diff_in_place(place: Place) -> str:
    try:
        repository = find(place.folder)
    except UsageError:
        return ""
    head = repository.ask("rev-parse", "--verify", "--quiet", "HEAD^{commit}")
    base = place.base or head or repository.line("hash-object", "-t", "tree", os.devnull)
    inner = os.path.relpath(os.path.realpath(place.folder), os.path.realpath(repository.root))
    left_out = os.path.normpath(os.path.join(inner, ".agents"))
    with tempfile.TemporaryDirectory() as apart:
        objects = os.path.join(apart, "objects")
        os.mkdir(objects)
        tree = snapshots.tree(repository, os.path.join(apart, "index"), left_out, objects)
        return snapshots.diff(repository, base, tree, objects)
