"""The door to the folders that agents work in."""

from __future__ import annotations

from typing import NamedTuple, Protocol


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
    ) -> Place:
        """A worktree of its own for a run: from HEAD, or from a snapshot; made before: the same.

        Made before with another token: that one is another run's, and is moved aside. The paths
        are real ones. UsageError where there is no repository.
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

    def remove(
        self, place: Place, run_id: int, *, dry_run: bool = False, force: bool = False
    ) -> str:
        """Remove the folder, its branch and snapshots; a reason instead when work would be lost.

        A dry run only says whether there is such a reason. By force, work is lost.
        """
        ...
