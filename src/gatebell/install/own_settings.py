"""Write the user's own settings file: the address of the inbox, routes and chats, nothing else."""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING, Any

from gatebell.app import settings
from gatebell.errors import UsageError
from gatebell.install import settings_files

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gatebell.domain.enums import ChannelKind

_TABLE = re.compile(r"(?m)^[ \t]*\[")


def set_url(environ: Mapping[str, str], url: str) -> bool:
    """Set the address of the web inbox; return whether the file was changed."""
    return set_text(environ, "url", url)


def set_text(environ: Mapping[str, str], name: str, value: str) -> bool:
    """Set a setting that is not in a table; return whether the file was changed."""
    path, text = _read(environ)
    before = _parse(text, path)
    if before.get(name) == value:
        return False
    line = f"{name} = {json.dumps(value)}"
    table = _TABLE.search(text)
    head = text[: table.start()] if table else text
    there = re.compile(rf"(?m)^[ \t]*{name}[ \t]*=.*$")
    after = there.sub(lambda _: line, head, count=1) if there.search(head) else f"{line}\n{head}"
    _write(path, after + text[len(head) :], before | {name: value}, line)
    return True


def set_tokens(environ: Mapping[str, str], chat: ChannelKind, tokens: Sequence[str]) -> str:
    """Keep the tokens of a chat in a private file that the settings name; return its path."""
    path = os.path.join(os.path.dirname(settings.settings_file(environ)), f"{chat}-token")
    lines = "".join(f"{token}\n" for token in tokens)
    settings_files.write(path, lines.encode(), private=True, mode=0o600)
    set_text(environ, f"{chat}_token_file", path)
    return path


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
