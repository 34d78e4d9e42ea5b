"""Plan all changes of an installation or removal before anything is written."""

from __future__ import annotations

import os
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from gatebell.app import settings
from gatebell.domain.enums import AgentCli
from gatebell.errors import NotFoundError, UsageError
from gatebell.install import json_entries, old_name, records, settings_files, text_blocks
from gatebell.install.records import Installed, Written

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gatebell.install.default_gates import Rules
    from gatebell.install.places import Place, Target

HOSTS = (
    AgentCli.CLAUDE,
    AgentCli.CODEX,
    AgentCli.GEMINI,
    AgentCli.OPENCODE,
    AgentCli.COPILOT,
    AgentCli.CURSOR,
)


class Change(NamedTuple):
    """One file before and after; None means no file."""

    path: str
    found: bytes | None
    after: bytes | None
    folders: tuple[str, ...] = ()
    """Folders to remove if they are empty after the file is removed."""
    mode: int | None = None
    """The new mode of the file; None keeps it, or uses the default."""

    @property
    def word(self) -> str:
        if self.found == self.after and self.mode is None:
            return "same"
        if self.after is None:
            return "removed"
        return "made" if self.found is None else "changed"


class Plan(NamedTuple):
    """All changes, and the record after them."""

    changes: tuple[Change, ...]
    notes: tuple[str, ...]
    project: str
    record_path: str
    record: Installed | None

    @property
    def changes_nothing(self) -> bool:
        return all(change.word == "same" for change in self.changes)


def host(cli: str) -> Any:
    # Only the module that is used is loaded.
    return import_module(f"gatebell.install.hosts.{cli}")


def record_path(cli: str, place: Place) -> str:
    usual = place._replace(environ={"HOME": place.home})
    root = host(cli).root(place)
    moved_to = "" if root == host(cli).root(usual) else root
    return records.path_of(place.environ, cli, place.project, moved_to)


def read_installed(cli: str, place: Place) -> Installed | None:
    return records.read(record_path(cli, place))


def store_of(place: Place) -> str:
    """Return the server of the person who installs, or the real path of their store."""
    server = settings.server_alone(place.environ)
    return server or os.path.realpath(settings.store_path(place.environ))


def install(cli: str, place: Place, gate: str, rules: Rules) -> Plan:
    """Plan the changes that install everything of ours."""
    path, past = record_path(cli, place), read_installed(cli, place)
    wanted = host(cli).plan_targets(place, gate, rules)
    changes, written, notes = [], [], list(wanted.notes)
    for target in wanted.targets:
        # A link stays a link: its target is written.
        real = target._replace(path=os.path.realpath(target.path))
        change, left, kept = put(cli, real, _past_file(past, real.path))
        changes.append(change)
        written.append(left)
        notes += kept
    for change, left in _rename_mentions(cli, wanted.targets[0].path, past):
        changes.append(change)
        written.append(left)
    for old in past.files if past else ():
        if old.path in [change.path for change in changes]:
            continue
        if old.adds_nothing:
            written.append(old)
            continue
        change, said = take_back(old)
        changes.append(change)
        notes += said
    if place.project:
        notes.append(f"These files name {gate}: other people who use them need it there too.")
    brought = set(past.gates if past else ()) | set(rules.brought)
    gates = tuple(pattern for pattern in rules.gates if pattern in brought)
    held = (*rules.gates, *rules.denials)
    files, earlier = tuple(written), tuple(as_found(past))
    record = Installed(
        cli, place.project, gate, gates, held, files, store=store_of(place), unfinished=earlier
    )
    return Plan(tuple(changes), tuple(notes), place.project, path, record)


def _past_file(past: Installed | None, path: str) -> Written | None:
    """Return the record of a file, or of the one with its old name."""
    return past and (past.file(path) or past.file(old_name.old_path(path)))


def _rename_mentions(
    cli: str, settings_path: str, past: Installed | None
) -> Iterator[tuple[Change, Written]]:
    """Plan the new names in files that we do not write otherwise."""
    if past is None:
        return
    is_old = old_name.is_old(past)
    for path, found in old_name.find_mentions(cli, os.path.dirname(settings_path)):
        # A recorded file was being renamed by an installation that was killed.
        if not is_old and not past.file(path):
            continue
        after = old_name.rename_bytes(found)
        yield Change(path, found, after), Written(path, found, records.digest(after), ())


def uninstall(cli: str, place: Place) -> Plan:
    """Plan the changes that restore the earlier state, also if files changed since then."""
    path, past = record_path(cli, place), read_installed(cli, place)
    if past is None:
        where = f"in {place.project}" if place.project else "for this user"
        other = "--user" if place.project else "--project"
        raise NotFoundError(f"gate is not installed for {cli} {where}; did you mean {other}?")
    changes, notes = [], []
    for written in past.files:
        change, said = take_back(written)
        changes.append(change)
        notes += said
    return Plan(tuple(changes), tuple(notes), place.project, path, None)


def carry_out(plan: Plan) -> None:
    """Write the plan. The record is written first, so that a crash loses nothing."""
    if plan.record:
        records.write(plan.record_path, plan.record)
    for change in plan.changes:
        if change.word == "same":
            continue
        if change.after is None:
            settings_files.remove(change.path, change.folders)
        else:
            # A CLI may keep its keys in a file that we created.
            settings_files.write(
                change.path, change.after, private=not plan.project, mode=change.mode
            )
    # A folder that was made for one file may have another one by now, which is removed after it.
    removed = (change for change in plan.changes if change.after is None)
    settings_files.remove_folders({folder for change in removed for folder in change.folders})
    if plan.record and plan.record.unfinished:
        records.write(plan.record_path, plan.record._replace(unfinished=()))
    if plan.record is None:
        settings_files.remove(plan.record_path, (os.path.dirname(plan.record_path),))


def put(cli: str, target: Target, past: Written | None) -> tuple[Change, Written, list[str]]:
    """Plan our part of one file; return the change, its record, and notes."""
    found = settings_files.read(target.path)
    text = settings_files.text_of(found, target.path)
    kept: list[str] = []
    ours: tuple[json_entries.Entry, ...] = ()
    is_old = past is not None and old_name.is_old_file(past)
    if target.block:
        before = past.block if past else None
        if is_old and before:
            text, before = old_name.rename(text_blocks.cut(text, target.path, before)), None
        _check(cli, text_blocks.cut(text, target.path, before or target.block), target.path)
        after = text_blocks.put(text, target.path, target.block, before)
        _check_result(after, target.path)
    else:
        old = past.entries if past else ()
        if is_old:
            text, old = old_name.rename(text), tuple(map(old_name.rename_entry, old))
        edited = json_entries.put(text, target.path, target.entries, old)
        after, ours = edited.text, edited.ours
        kept = [f"{target.path} already sets {'.'.join(e.path)}: it stays" for e in edited.kept]
    content = after.encode()
    written = Written(
        target.path,
        _before(found, past),
        records.digest(content),
        past.folders if past else settings_files.missing_folders(target.path),
        ours,
        target.block,
    )
    return Change(target.path, found, content), written, kept


def as_found(past: Installed | None) -> Iterator[Written]:
    """Return the record of our parts as they are now, in case the installation does not finish."""
    for written in past.files if past else ():
        # An unreadable file is left alone, and the plan says so.
        with suppress(UsageError):
            found = settings_files.read(written.path)
            if found is not None and (written.block or written.entries):
                yield written._replace(before=_before(found, written), left=records.digest(found))


def _before(found: bytes | None, past: Written | None) -> bytes | None:
    """Return the file without our part: as it was first, with later changes of others."""
    if past is None or found is None:
        return found
    return past.before if records.digest(found) == past.left else _strip(found, past)


def take_back(written: Written) -> tuple[Change, list[str]]:
    """Plan the removal of our part from one file; return the change and notes."""
    path, found = written.path, settings_files.read(written.path)
    if found is None:
        return Change(path, None, None), [f"{path} is gone already"]
    if records.digest(found) == written.left:
        return Change(path, found, written.before, written.folders), []
    if found == written.before:
        return Change(path, found, found), []
    if written.adds_nothing:
        return Change(path, found, found), [f"{path} was changed since then: it stays as it is"]
    after = _strip(found, written)
    _check_result(settings_files.text_of(after, path), path)
    said = [f"{path} was changed since then, so only gate's part is removed"]
    return Change(path, found, after, written.folders), said


def _strip(found: bytes, written: Written) -> bytes | None:
    text = settings_files.text_of(found, written.path)
    if written.block:
        after = text_blocks.cut(text, written.path, written.block)
        if written.path.endswith(".toml"):
            after = host(AgentCli.CODEX).drop_tables(after, written.block)
        if text.startswith(after) and written.before and not written.before.endswith(b"\n"):
            # The last line of the person had no line end until we added one.
            after = after.removesuffix("\n").removesuffix("\r")
    else:
        before = settings_files.text_of(written.before, written.path)
        after = json_entries.cut(text, written.path, written.entries, before)
    nothing = written.before is None and after.strip() in ("", "{}")
    return None if nothing else after.encode()


def _check(cli: str, text: str, path: str) -> None:
    if path.endswith(".toml"):
        host(cli).check(text, path)


def _check_result(text: str, path: str) -> None:
    if not path.endswith(".toml"):
        return
    # Imported here: only codex's settings are TOML.
    import tomllib

    try:
        tomllib.loads(text)
    except ValueError as error:
        raise UsageError(
            f"{path} would no longer be TOML ({error}), so it is left alone: repair it by hand"
        ) from None
