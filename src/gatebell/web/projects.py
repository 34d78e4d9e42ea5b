"""The projects that this server has, in which people may start runs and create tasks."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from gatebell.app import environment
from gatebell.web.problems import Problem

if TYPE_CHECKING:
    from gatebell.ports.store import Store

_RUNS_LOOKED_AT = 200


def list_projects(store: Store) -> list[str]:
    """Return the folders of this machine that have tasks or runs, and the server's own project."""
    here = environment.project(os.getcwd())
    found = [here] if os.path.isdir(os.path.join(here, ".gate")) else []
    found += store.tasks.projects()
    homes = ("", store.machine.host)
    found += [run.project for run in store.runs.newest(_RUNS_LOOKED_AT) if run.host in homes]
    return sorted({one for one in found if one and os.path.isdir(one)})


def must_have(store: Store, project: str) -> None:
    """Refuse any other folder: its flows are code that runs here."""
    if project not in list_projects(store):
        raise Problem(404, "this server does not have that project: choose one that is listed")
