"""The port to the folders in which agents work."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class Place(NamedTuple):
    """The folder in which the agents of a run work."""

    folder: str
    """The working folder: a worktree of the run's own, or the project itself."""
    root: str
    """The worktree of the repository around it, or the same folder without a repository."""
    branch: str = ""
    """The branch of the worktree; empty without a worktree."""
    base: str = ""
    """The commit from which it started."""
    remarks: tuple[str, ...] = ()
    """Notes for a person: changes that were left out, files that are missing."""


class Workspace(Protocol):
    """Makes places, keeps snapshots of them, and finds changes."""

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
        """Make a worktree for a run; if it was made before, return the same one.

        A worktree of the same number with another token belongs to another run, and is moved aside.

        Args:
            project: the folder of the project
            run_id: the number of the run
            with_changes: take uncommitted changes of the project along
            snapshot: begin from this commit of a snapshot instead of HEAD
            token: tells this run from one with the same number in another store
            branch: the wanted name of its branch
            base: begin from this branch or commit instead of HEAD
            onto: branches or commits that are merged on top before work begins
            instead: for a branch of `onto` that is gone, the commit that it had
            markers: leave git's conflict markers in the files, and name them in a remark

        Returns:
            The place, with real paths.

        Raises:
            UsageError: The project has no repository.
            MergeConflictError: The branches of `onto` conflict; nothing was made.
        """
        ...

    def set_up(self, project: str, place: Place) -> str:
        """Copy the files of .worktreeinclude and run .gate/setup; return the error, or an empty text."""
        ...

    def snapshot(self, place: Place, run_id: int, path: str) -> str:
        """Keep the folder as it is now, untracked files included; return the commit, empty in place."""
        ...

    def diff(self, place: Place, since: str = "", until: str = "") -> str:
        """Return the changes, untracked files included; in place all of them since the run began.

        Args:
            place: the place
            since: a snapshot, or empty for the begin of the run
            until: a later snapshot, or empty for now
        """
        ...

    def commit(self, place: Place, words: str, key: str) -> str:
        """Commit everything that is not ignored to the branch of the place.

        Args:
            place: the place
            words: the message
            key: a call with the same key returns the same commit

        Returns:
            The commit; without changes, the tip of the branch.

        Raises:
            GateError: The folder is on another branch, or in the middle of a merge.
        """
        ...

    def merge(self, place: Place, base: str, words: str, key: str, *, squash: bool = False) -> str:
        """Merge the branch of a place into another branch.

        Args:
            place: the place
            base: the other branch
            words: the message
            key: a call with the same key returns the same commit
            squash: make one plain commit instead of a merge commit

        Raises:
            CheckedOutError: The other branch is checked out in a folder.
            MergeConflictError: A person must decide; nothing has changed.
        """
        ...

    def let_go(self, place: Place, commit: str) -> bool:
        """Remove the branch of a place, if a commit contains its work; the folder stays.

        Returns:
            False if the commit lacks a part of it, or the branch is checked out in another folder.
        """
        ...

    def check(self, place: Place, command: str, key: str, limit_seconds: float) -> str:
        """Run a test command in the folder.

        Processes of an earlier check with the same key are ended first.

        Returns:
            The error with the last lines of the output, or an empty text.
        """
        ...

    def find_project(self, place: Place) -> str:
        """Return this host's folder of the project that a place was made from, or an empty text."""
        ...

    def find_snapshot(self, place: Place, run_id: int, path: str) -> str:
        """Return the commit of the snapshot for a call, or an empty text."""
        ...

    def restore(self, place: Place, run_id: int, path: str) -> list[str]:
        """Compare the folder with the snapshot of a call.

        A missing folder is made again from it, in its place and on its branch, without ignored files
        (`set_up` copies those). A changed folder is left as it is.

        Returns:
            The differences; empty if there are none.
        """
        ...

    def remove(
        self, place: Place, run_id: int, *, dry_run: bool = False, force: bool = False
    ) -> str:
        """Remove the folder, its branch and its snapshots.

        Args:
            place: the place
            run_id: the number of the run
            dry_run: only say whether work would be lost
            force: remove it even if work is lost

        Returns:
            The reason why it stays, or an empty text.
        """
        ...
