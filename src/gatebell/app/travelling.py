"""Build the ports of runs that travel, with an address that no agent can change."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

from gatebell.adapters.system.folders import runs_folder
from gatebell.adapters.system.hosts import this_host
from gatebell.app import engines, settings
from gatebell.errors import UsageError

if TYPE_CHECKING:
    from gatebell.adapters.git.remotes import Remote
    from gatebell.app.engines import Part
    from gatebell.ports.store import Store
    from gatebell.services.runs.dependencies import Travel

_ORIGIN = "origin"
_FILE = "travel-remotes.json"


def build_travel(store: Store, part: Part | None) -> Travel | None:
    """Return how the runs of a worker's projects travel; None if they stay.

    Raises:
        UsageError: A project has no usable address, or its address has changed.
    """
    wanted = settings.travel(os.environ)
    if not wanted.text or not part or not part.projects:
        return None
    if engines.find_engine(store) == engines.LOCAL:
        # Its workers take no runs of a pool, so a run that left would never go on.
        raise UsageError(
            f"travel ({wanted.source}) needs a store on PostgreSQL, with the engine "
            f"{engines.PROCRASTINATE} or {engines.TEMPORAL}: see gate engine check"
        )
    # Imported here: most workers let no run travel.
    from gatebell.adapters.agents.travelling_logs import TravellingLogs
    from gatebell.adapters.git.carrier import GitCarrier
    from gatebell.adapters.git.project_keys import find_key
    from gatebell.adapters.git.worktrees import GitWorkspace
    from gatebell.services.runs.dependencies import Travel

    folder = runs_folder(store.local_path)
    keys = {find_key(project): project for project in part.projects}
    for key, project in keys.items():
        if key == f"{this_host()}:{project}":
            raise UsageError(
                f"travel ({wanted.source}): no other host knows {project} by the same key. Give it an "
                "origin, or a name in .gate/project"
            )
    pool = part.pool or settings.pool(os.environ)
    remotes = {project: _find_remote(folder, project, wanted) for project in keys.values()}
    carrier = GitCarrier(GitWorkspace(folder), pool, keys, remotes)
    return Travel(carrier, TravellingLogs(os.environ))


def _find_remote(folder: str, project: str, wanted: settings.Value) -> Remote:
    from gatebell.adapters.git.remotes import parse_remote

    if wanted.text != _ORIGIN:
        return parse_remote(wanted.text, f"travel ({wanted.source})")
    return parse_remote(_read_origin(folder, project), f"origin of {project}")


def _read_origin(folder: str, project: str) -> str:
    """Return the address of origin as it was when a worker first used it here.

    An agent can write git's file. So an address that differs is not used.
    """
    from gatebell.adapters.git.project_keys import find_origin
    from gatebell.adapters.git.worktree_records import write_bytes

    path, now = os.path.join(folder, _FILE), find_origin(project)
    os.makedirs(folder, mode=0o700, exist_ok=True)
    try:
        with open(path, encoding="utf-8") as file:
            known: dict[str, str] = json.load(file)
    except FileNotFoundError:
        known = {}
    if known.get(project, now) != now:
        raise UsageError(
            f"the address of origin in {project} is another one than when a worker first used it, "
            f"and agents can write it. If you changed it, delete {path} and try again"
        )
    if now and project not in known:
        write_bytes(path, json.dumps(known | {project: now}, indent=1).encode())
    return now
