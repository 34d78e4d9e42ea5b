"""Write the first files of a project if they are missing; remove the unchanged ones."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from gatebell.app import project_files
from gatebell.errors import NotFoundError, UsageError
from gatebell.install import instructions, plans, records, settings_files, text_blocks
from gatebell.install.places import Target
from gatebell.install.plans import Change, Plan
from gatebell.install.records import Installed, Written

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gatebell.install.places import Place
    from gatebell.install.text_blocks import Block

_WHO = "init"
_EXECUTABLE = 0o755
_T = TypeVar("_T")


class First(NamedTuple):
    """The first files of a project, by path."""

    texts: Mapping[str, str]
    """For the people of the project to change: written once."""
    programs: Mapping[str, str]
    """Updated if they are unchanged."""
    blocks: Mapping[str, Block]
    """Our lines in files of the project."""
    notes: tuple[str, ...] = ()


class Parts(NamedTuple):
    """The parts of the first files that a person chose."""

    backlog: bool = True
    files: bool = True
    roles: bool = True


ALL_PARTS = Parts()


def first_files(project: str, parts: Parts = ALL_PARTS) -> First:
    """Return the first files of a project: its texts, and the setup for questions by files."""
    texts = project_files.first_roles(project) if parts.roles else {}
    if parts.backlog:
        texts |= project_files.first_backlog(project)
    for path in texts:
        project_files.refuse_outside(path, project)
    return _add_asking(project, texts) if parts.files else First(texts, {}, {})


def _add_asking(project: str, texts: Mapping[str, str]) -> First:
    """Add the script that asks by files, and our lines in files of the project."""
    programs = project_files.first_programs(project)
    lines = dict.fromkeys(instructions.files_of(project), instructions.FROM_A_SHELL)
    if not project_files.is_ignored(os.path.join(project, ".helpers", "questions")):
        lines[os.path.join(project, ".gitignore")] = text_blocks.line(".helpers/")
    lines[os.path.join(project, ".worktreeinclude")] = text_blocks.patterns(
        ".helpers/project", ".helpers/.gitignore"
    )
    for path in programs:
        project_files.refuse_outside(path, project)
    outside = [path for path in lines if not project_files.is_inside(path, project)]
    notes = tuple(f"{path} leads out of {project}: it stays as it is" for path in outside)
    return First(
        texts, programs, {path: lines[path] for path in lines if path not in outside}, notes
    )


class _Step(NamedTuple):
    change: Change
    written: Written | None
    """The part to record; None: nothing of it is ours."""
    note: str = ""


def put(place: Place, wanted: First, folders: Sequence[str] = ()) -> Plan:
    """Plan all first files; existing files stay as they are.

    `folders` are other new folders to record.
    """
    path, past = _record(place)
    known = {one.path: one for one in past.files} if past else {}
    steps = [
        *(_text(real, text, known) for real, text in _real(wanted.texts)),
        *(_program(real, text, known) for real, text in _real(wanted.programs)),
        *(_lines(real, block, known) for real, block in _real(wanted.blocks)),
    ]
    known |= {step.written.path: step.written for step in steps if step.written}
    made = tuple(dict.fromkeys([*(past.folders if past else ()), *folders]))
    files, earlier = tuple(known.values()), tuple(plans.as_found(past))
    record = Installed(_WHO, place.project, "", (), (), files, made, unfinished=earlier)
    notes = (*wanted.notes, *(step.note for step in steps if step.note))
    return Plan(tuple(step.change for step in steps), notes, place.project, path, record)


def _real(named: Mapping[str, _T]) -> list[tuple[str, _T]]:
    """Resolve links: a link stays a link, and its target is written."""
    return [(os.path.realpath(path), given) for path, given in named.items()]


def _text(path: str, text: str, known: Mapping[str, Written]) -> _Step:
    found, content = settings_files.read(path), text.encode()
    if found is None:
        return _Step(Change(path, None, content), _whole(path, content, known))
    note = "" if found == content else f"{path} exists already: it stays as it is"
    return _Step(Change(path, found, found), None, note)


def _program(path: str, text: str, known: Mapping[str, Written]) -> _Step:
    found, content, past = settings_files.read(path), text.encode(), known.get(path)
    if found is None:
        return _Step(Change(path, None, content, mode=_EXECUTABLE), _whole(path, content, known))
    if found != content and (past is None or records.digest(found) != past.left):
        note = f"{path} is not gate's own: it stays. To get gate's, move it away and run: gate init"
        return _Step(Change(path, found, found), None, note)
    mode = None if os.access(path, os.X_OK) else _EXECUTABLE
    return _Step(Change(path, found, content, mode=mode), past and _whole(path, content, known))


def _whole(path: str, content: bytes, known: Mapping[str, Written]) -> Written:
    past = known.get(path)
    folders = past.folders if past else settings_files.missing_folders(path)
    return Written(path, None, records.digest(content), folders)


def _lines(path: str, block: Block, known: Mapping[str, Written]) -> _Step:
    past = known.get(path)
    try:
        found = settings_files.read(path)
        text = settings_files.text_of(found, path)
        is_there = text_blocks.is_there(text, path, block)
        if past is None and is_there and not text_blocks.is_whole(text, path, block):
            note = f"{path} has other lines after {block.begin}: remove them and run: gate init"
            return _Step(Change(path, found, found), None, note)
        change, written, _ = plans.put(_WHO, Target(path, block=block), past)
    except UsageError as error:
        # The rest of the project is set up anyway.
        return _Step(Change(path, None, None), None, str(error))
    return _Step(change, written if past or change.word != "same" else None)


def take_back(place: Place) -> Plan:
    """Plan the removal of the unchanged files that we wrote."""
    path, past = _record(place)
    if past is None:
        raise NotFoundError(f"gate init wrote nothing in {place.project}")
    changes, notes = [], []
    for written in past.files:
        change, said = plans.take_back(written) if written.block else _take_back_whole(written)
        changes.append(change)
        notes += said
    return Plan(tuple(changes), tuple(notes), place.project, path, None)


def _take_back_whole(written: Written) -> tuple[Change, list[str]]:
    found = settings_files.read(written.path)
    if found is not None and records.digest(found) != written.left:
        said = f"{written.path} was changed since then: it stays as it is"
        return Change(written.path, found, found), [said]
    return Change(written.path, found, None, written.folders), []


def folders(place: Place) -> tuple[str, ...]:
    """Return the folders that were created on their own, not for a file."""
    past = _record(place)[1]
    return past.folders if past else ()


def _record(place: Place) -> tuple[str, Installed | None]:
    path = records.path_of(place.environ, _WHO, place.project, "")
    return path, records.read(path)
