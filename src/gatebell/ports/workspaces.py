"""The door to the folders that agents work in."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class Place(NamedTuple):
    """Where the agents of a run work."""

    folder: str
    """Their working folder: a worktree of the run's own, or the project itself."""
    root: str
    """The repository's worktree around it, or the same folder where there is none."""
    branch: str = ""
    """Empty where there is no worktree of its own."""
    base: str = ""
    """The commit it started from."""
    remarks: tuple[str, ...] = ()
    """What a person should know: changes left out, files not there."""


class Workspace(Protocol):
    """Makes places, keeps what is in them, and tells what has changed."""

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
        """A worktree of its own for a run: from HEAD, or from a snapshot; made before: the same.

        Made before with another token: that one is another run's, and is moved aside. The paths
        are real ones. UsageError where there is no repository.

        `branch` is the name that is wanted for its branch, `base` what it begins from instead of
        HEAD, `onto` branches or commits that are merged on top of that before work begins; for
        one that is gone, `instead` may name the commit that it had. Where
        those do not go together: MergeConflictError, and nothing is made; with `markers` git's
        conflict markers are left in the files, and a remark names them.
        """
        ...

    def set_up(self, project: str, place: Place) -> str:
        """Copy what .worktreeinclude names and run .gate/setup; the trouble, or nothing."""
        ...

    def snapshot(self, place: Place, run_id: int, path: str) -> str:
        """Keep the folder as it is now, untracked files too; the commit, or nothing in place."""
        ...

    def diff(self, place: Place) -> str:
        """What has changed since the run began, untracked files too."""
        ...

    def commit(self, place: Place, words: str, key: str) -> str:
        """Everything that is not ignored as one commit on the place's branch; the tip if it is all
        there. Asked again with the same key: the same commit.

        GateError where the folder is on another branch, or in the middle of a merge.
        """
        ...

    def merge(self, place: Place, base: str, words: str, key: str, *, squash: bool = False) -> str:
        """Bring the place's branch into another, by a merge commit or as one plain commit.

        Done before: the same commit. CheckedOutError where somebody has that branch checked out,
        MergeConflictError where a person must decide; then nothing has changed.
        """
        ...

    def let_go(self, place: Place, commit: str) -> bool:
        """Remove the place's branch, of which nothing is missing in a commit; the folder stays.

        False where something is missing there, or somebody else has the branch checked out.
        """
        ...

    def check(self, place: Place, command: str, key: str, limit_seconds: float) -> str:
        """Run a test command in the folder; what went wrong, with its last words, or nothing.

        What an earlier check with the same key left running is ended first.
        """
        ...

    def find_snapshot(self, place: Place, run_id: int, path: str) -> str:
        """The commit of the snapshot that was taken for a call, or nothing."""
        ...

    def restore(self, place: Place, run_id: int, path: str) -> list[str]:
        """Compare the folder with the snapshot of a call; nothing to say: they are the same.

        A folder that is gone is made again from it, in its place and on its branch, without
        ignored files (`set_up` brings those); one that differs is left as it is, and is told.
        """
        ...

    def remove(
        self, place: Place, run_id: int, *, dry_run: bool = False, force: bool = False
    ) -> str:
        """Remove the folder, its branch and snapshots; a reason instead when work would be lost.

        A dry run only says whether there is such a reason. By force, work is lost.
        """
        ...
