"""What a project starts with: written where nothing stands, removed where nobody has changed it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from humangate.errors import NotFoundError
from humangate.integrations import files, records
from humangate.integrations.plans import Change, Plan
from humangate.integrations.records import Installed, Written

if TYPE_CHECKING:
    from collections.abc import Mapping

    from humangate.integrations.places import Place

_WHO = "init"


def put(place: Place, wanted: Mapping[str, str]) -> Plan:
    """What it takes to have every file there; what is there already stays as it is."""
    path, past = _record(place)
    written = {one.path: one for one in past.files} if past else {}
    changes, notes = [], []
    for named, text in wanted.items():
        # A link stays a link: what it points to is written.
        real, content = os.path.realpath(named), text.encode()
        found = files.read(real)
        if found is None:
            before = written.get(real)
            folders = before.folders if before else files.missing_folders(real)
            written[real] = Written(real, None, records.digest(content), folders)
        elif found != content:
            notes.append(f"{real} is there already: it stays as it is")
        changes.append(Change(real, found, content if found is None else found))
    record = Installed(_WHO, place.project, "", (), (), tuple(written.values()))
    return Plan(tuple(changes), tuple(notes), place.project, path, record)


def take_back(place: Place) -> Plan:
    """What it takes to remove the files that were written and that nobody has changed."""
    path, past = _record(place)
    if past is None:
        raise NotFoundError(f"gate init has written nothing in {place.project}")
    changes, notes = [], []
    for written in past.files:
        found = files.read(written.path)
        if found is not None and records.digest(found) != written.left:
            notes.append(f"{written.path} was changed since: it stays as it is")
            changes.append(Change(written.path, found, found))
        else:
            changes.append(Change(written.path, found, None, written.folders))
    return Plan(tuple(changes), tuple(notes), place.project, path, None)


def _record(place: Place) -> tuple[str, Installed | None]:
    path = records.path_of(place.environ, _WHO, place.project, "")
    return path, records.read(path)
