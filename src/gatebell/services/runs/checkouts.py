"""The folders in which a worker has projects, by the key of each project."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gatebell.ports.flows import Backlogs


class Checkouts:
    """Finds the folder of a project on this host."""

    def __init__(self, backlogs: Backlogs, folders: Sequence[str]) -> None:
        self._backlogs = backlogs
        self.folders = folders
        """Another thread may replace this list."""
        self._keys: dict[str, str] = {}

    @property
    def keys(self) -> list[str]:
        """The keys of the projects, each once."""
        return list(dict.fromkeys(map(self._find_key, self.folders)))

    def find(self, key: str) -> str:
        """Return the folder of the project with this key; empty if there is none."""
        return next((one for one in self.folders if self._find_key(one) == key), "")

    def _find_key(self, folder: str) -> str:
        """Return the key as it was at first: an agent can write the files that give it."""
        if folder not in self._keys:
            self._keys[folder] = self._backlogs.key(folder)
        return self._keys[folder]
