"""Find the old name of this product in the files of agent CLIs, and write the new one."""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING

from gatebell.app.settings import NAME, OLD_NAME
from gatebell.domain.enums import AgentCli
from gatebell.install import settings_files

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gatebell.install.json_entries import Entry
    from gatebell.install.records import Installed, Written

_OLD_TOOLS, _TOOLS = f"mcp__{OLD_NAME}__", f"mcp__{NAME}__"
# Codex keeps permissions for a server's tools in tables below that of the server.
_TABLES = re.compile(rf"(\bmcp_servers\.)([\"']?){OLD_NAME}\2(?=[.\]])")
# Files that we do not write, where a person or the CLI may have named our tools.
_PLACES: dict[str, tuple[str, ...]] = {
    AgentCli.CLAUDE: ("settings.local.json", "agents", "commands", "skills")
}


def is_old(installed: Installed) -> bool:
    return any(is_old_file(written) for written in installed.files)


def is_old_file(written: Written) -> bool:
    """Return whether the old name is in our part of a file; paths belong to the person."""
    if written.block and OLD_NAME in written.block.begin:
        return True
    return any(
        OLD_NAME in entry.path or _OLD_TOOLS in json.dumps(entry.value) for entry in written.entries
    )


def old_path(path: str) -> str:
    """Return the path that a file of ours had under the old name."""
    folder, name = os.path.split(path)
    return os.path.join(folder, name.replace(NAME, OLD_NAME))


def rename(text: str) -> str:
    """Return the text with the new names of our tools."""
    return _TABLES.sub(rf"\g<1>{NAME}", text.replace(_OLD_TOOLS, _TOOLS))


def rename_entry(entry: Entry) -> Entry:
    return entry._replace(value=json.loads(rename(json.dumps(entry.value))))


def find_mentions(cli: str, folder: str) -> Iterator[tuple[str, bytes]]:
    """Yield path and content of the files in a CLI's folder that name our old tools."""
    for place in _PLACES.get(cli, ()):
        for path in _files(os.path.join(folder, place)):
            content = settings_files.read(path)
            if content and _OLD_TOOLS.encode() in content:
                yield path, content


def rename_bytes(content: bytes) -> bytes:
    """Return a file with the new names; any encoding that extends ASCII works."""
    return content.replace(_OLD_TOOLS.encode(), _TOOLS.encode())


def _files(place: str) -> Iterator[str]:
    """Yield the file, or the files in the folder. Links are skipped: they may lead anywhere."""
    if os.path.isfile(place) and not os.path.islink(place):
        yield place
    for folder, _, names in os.walk(place):
        for path in (os.path.join(folder, name) for name in sorted(names)):
            if os.path.isfile(path) and not os.path.islink(path):
                yield path
