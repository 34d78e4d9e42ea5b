"""Record what gate installed and the earlier content, to restore it later."""

from __future__ import annotations

import base64
import hashlib
import json
import os
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from gatebell.app import settings
from gatebell.errors import UsageError
from gatebell.install import settings_files
from gatebell.install.json_entries import Entry, EntryKind
from gatebell.install.text_blocks import Block

if TYPE_CHECKING:
    from collections.abc import Mapping


class Written(NamedTuple):
    """One file that we changed."""

    path: str
    before: bytes | None
    """Its content without us; None if it did not exist."""
    left: str
    """The digest of the file after our write."""
    folders: tuple[str, ...]
    """The folders that we created for it, the innermost first."""
    entries: tuple[Entry, ...] = ()
    block: Block | None = None

    @property
    def adds_nothing(self) -> bool:
        """Return whether we added nothing there; names of our tools may have been changed."""
        return not self.entries and not self.block and self.before is not None


class Installed(NamedTuple):
    """One installation for a CLI, for a person or for one project."""

    cli: str
    project: str
    gate: str
    gates: tuple[str, ...]
    """Gates that the installation added; the person's own gates stay after it."""
    held: tuple[str, ...]
    """Every pattern that the host must ask about or deny."""
    files: tuple[Written, ...]
    folders: tuple[str, ...] = ()
    """Folders that were created on their own, not for a file."""
    store: str = ""
    """The store whose people may change it; empty in the records of older versions."""
    unfinished: tuple[Written, ...] = ()
    """The files as an earlier installation left them, until all of this one is written."""

    def file(self, path: str) -> Written | None:
        return next((one for one in self.files if one.path == path), None)


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def folder(environ: Mapping[str, str]) -> str:
    return os.path.join(settings.data_folder(environ), "installed")


def path_of(environ: Mapping[str, str], cli: str, project: str, moved_to: str) -> str:
    """Return the path of the record; a CLI with a moved folder has one record per folder."""
    name = f"{cli}-{'project' if project else 'user'}"
    if place := project or moved_to:
        name += f"-{digest(os.fsencode(place))[:12]}"
    return os.path.join(folder(environ), f"{name}.json")


def projects_of(environ: Mapping[str, str], cli: str) -> list[str]:
    """Return every project with an installation; damaged records are skipped."""
    where, found = folder(environ), []
    with suppress(FileNotFoundError):
        for name in sorted(os.listdir(where)):
            if name.startswith(f"{cli}-project-") and name.endswith(".json"):
                with suppress(UsageError):
                    if record := read(os.path.join(where, name)):
                        found.append(record.project)
    return found


def read(path: str) -> Installed | None:
    content = settings_files.read(path)
    if content is None:
        return None
    try:
        return _read_installed(json.loads(content))
    except (ValueError, KeyError, TypeError) as error:
        raise UsageError(
            f"{path}, the record of gate's installation, is damaged: {error}"
        ) from None


def on_disk(installed: Installed) -> Installed:
    """Return the real state: after a crash, some files are as they were before."""
    files = {one.path: one for one in installed.files}
    for earlier in installed.unfinished:
        content = settings_files.read(earlier.path)
        if content is not None and digest(content) == earlier.left:
            files[earlier.path] = earlier
    return installed._replace(files=tuple(files.values()), unfinished=())


def write(path: str, installed: Installed) -> None:
    content = json.dumps(_document(installed), ensure_ascii=True).encode()
    settings_files.write(path, content, private=True)


def _document(installed: Installed) -> dict[str, Any]:
    files = {"files": installed.files, "unfinished": installed.unfinished}
    listed = {name: [_file_document(one) for one in found] for name, found in files.items()}
    return installed._asdict() | listed


def _file_document(written: Written) -> dict[str, Any]:
    before = written.before
    return written._asdict() | {
        "before": None if before is None else base64.b64encode(before).decode(),
        "entries": [entry._asdict() for entry in written.entries],
        "block": written.block._asdict() if written.block else None,
    }


def _read_installed(document: dict[str, Any]) -> Installed:
    files = {"files": document["files"], "unfinished": document.get("unfinished", ())}
    listed = {name: tuple(map(_written, found)) for name, found in files.items()}
    lists = {name: tuple(document.get(name, ())) for name in ("gates", "held", "folders")}
    return on_disk(Installed(**document | lists | listed))


def _written(document: dict[str, Any]) -> Written:
    before, block = document["before"], document["block"]
    return Written(
        **document
        | {
            "before": None if before is None else base64.b64decode(before),
            "folders": tuple(document["folders"]),
            "entries": tuple(
                Entry(tuple(one["path"]), one["value"], EntryKind(one["kind"]))
                for one in document["entries"]
            ),
            "block": block and Block(block["begin"], block["end"], tuple(block["lines"])),
        }
    )
