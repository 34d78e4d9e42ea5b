"""Write the user's own settings file: the address of the inbox and routes, and nothing else."""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING, Any

from gatebell.app import settings
from gatebell.errors import UsageError
from gatebell.install import settings_files

if TYPE_CHECKING:
    from collections.abc import Mapping

_TABLE = re.compile(r"(?m)^[ \t]*\[")
_URL = re.compile(r"(?m)^[ \t]*url[ \t]*=.*$")


def set_url(environ: Mapping[str, str], url: str) -> bool:
    """Set the address of the web inbox; return whether the file was changed."""
    path, text = _read(environ)
    before = _parse(text, path)
    if before.get("url") == url:
        return False
    line = f"url = {json.dumps(url)}"
    table = _TABLE.search(text)
    head = text[: table.start()] if table else text
    after = _URL.sub(lambda _: line, head, count=1) if _URL.search(head) else f"{line}\n{head}"
    _write(path, after + text[len(head) :], before | {"url": url}, line)
    return True


def add_route(environ: Mapping[str, str], to: str) -> None:
    """Add a route at the end of the file."""
    path, text = _read(environ)
    before = _parse(text, path)
    routes = before.get("notify", [])
    lines = f"[[notify]]\nto = {json.dumps(to)}\n"
    gap = "" if not text else "\n" if text.endswith("\n") else "\n\n"
    expected = before | {"notify": [*routes, {"to": to}] if isinstance(routes, list) else None}
    _write(path, f"{text}{gap}{lines}", expected, '[[notify]] with to = "…"')


def _read(environ: Mapping[str, str]) -> tuple[str, str]:
    # A link stays a link: its target is written.
    path = os.path.realpath(settings.settings_file(environ))
    return path, settings_files.text_of(settings_files.read(path), path)


def _parse(text: str, path: str) -> dict[str, Any]:
    # Imported here: it loads slowly.
    import tomllib

    try:
        return tomllib.loads(text)
    except ValueError as error:
        raise UsageError(f"the settings file {path} cannot be read: {error}") from None


def _write(path: str, text: str, expected: dict[str, Any], by_hand: str) -> None:
    """Write the text if it means exactly what is expected."""
    try:
        right = _parse(text, path) == expected
    except UsageError:
        right = False
    if not right:
        raise UsageError(f"{path} has an unusual form, so it stays: write {by_hand} there yourself")
    settings_files.write(path, text.encode(), private=True)
