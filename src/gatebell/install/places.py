"""Where an agent CLI keeps what we write: for a person, or for one project."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gatebell.install.json_entries import Entry
    from gatebell.install.text_blocks import Block


class Place(NamedTuple):
    """For whom something is installed."""

    project: str
    """The project's folder; empty when it is for everything this person does."""
    environ: Mapping[str, str]

    @property
    def home(self) -> str:
        return self.environ.get("HOME") or os.path.expanduser("~")

    def folder(self, variable: str, usual: str) -> str:
        """A CLI's own folder in the person's home, which a variable may have moved."""
        return os.path.abspath(self.environ.get(variable) or os.path.join(self.home, usual))


class Target(NamedTuple):
    """One file, and what of ours belongs into it."""

    path: str
    entries: tuple[Entry, ...] = ()
    block: Block | None = None


class Wanted(NamedTuple):
    """All that a CLI needs, and what the person should be told about it."""

    targets: tuple[Target, ...]
    notes: tuple[str, ...]
