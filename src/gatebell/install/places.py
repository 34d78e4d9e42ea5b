"""The files of an agent CLI that we write to, for a person or for one project."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gatebell.install.json_entries import Entry
    from gatebell.install.text_blocks import Block


class Place(NamedTuple):
    """The scope of an installation: a person, or one project."""

    project: str
    """The project's folder; empty if it is for all projects of this person."""
    environ: Mapping[str, str]

    @property
    def home(self) -> str:
        return self.environ.get("HOME") or os.path.expanduser("~")

    def folder(self, variable: str, usual: str) -> str:
        """Return a CLI's own folder in the person's home, which a variable may have moved."""
        return os.path.abspath(self.environ.get(variable) or os.path.join(self.home, usual))


class Target(NamedTuple):
    """One file, and our part of it."""

    path: str
    entries: tuple[Entry, ...] = ()
    block: Block | None = None


class Wanted(NamedTuple):
    """The files of a CLI, and notes for the person."""

    targets: tuple[Target, ...]
    notes: tuple[str, ...]
