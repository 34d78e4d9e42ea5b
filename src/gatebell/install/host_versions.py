"""Remember with which version of each host its gates were tried, and try them again after a change."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

from gatebell.app import settings
from gatebell.install import settings_files
from gatebell.install.hold_test.hosts import find_version

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from gatebell.install.records import Installed


def try_changed(
    found: Iterable[Installed],
    environ: Mapping[str, str],
    try_gate: Callable[[Installed], Iterable[tuple[bool | None, str]]],
) -> Iterator[str]:
    """Try the gates of each host whose version has changed; yield what no longer holds.

    A host that was not seen before is only remembered: `gate install` has just been run.
    """
    path = os.path.join(settings.data_folder(environ), "host-versions.json")
    known = _read(path)
    seen: dict[str, str] = {}
    for installed in found:
        cli = installed.cli
        if cli not in seen:
            seen[cli] = find_version((cli, "--version"), environ)
        version, before = seen[cli], known.get(cli, "")
        if version and before and version != before:
            for ok, what in try_gate(installed):
                if ok is False:
                    yield f"{cli} changed from version {before} to {version}. {what}"
    settled = known | {cli: version for cli, version in seen.items() if version}
    if settled != known:
        settings_files.write(path, json.dumps(settled).encode(), private=True)


def _read(path: str) -> dict[str, str]:
    try:
        document = json.loads(settings_files.read(path) or b"{}")
    except ValueError:
        # It is written again after this try.
        return {}
    return document if isinstance(document, dict) else {}
