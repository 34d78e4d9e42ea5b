"""Add our entries to a user's JSON file and remove them; keep everything else unchanged."""

from __future__ import annotations

import json
import re
from copy import deepcopy
from typing import TYPE_CHECKING, Any, NamedTuple

from gatebell.domain.enums import StrEnum
from gatebell.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable


class EntryKind(StrEnum):
    """How an entry belongs to its place."""

    ITEM = "item"
    """An item of a list."""
    OWN = "own"
    """A key that only gate sets."""
    DEFAULT = "default"
    """A key that the person may have set; then their value stays."""


class _State(StrEnum):
    """The state of the place of an entry."""

    THERE = "there"
    OTHER = "other"
    ABSENT = "absent"


class Entry(NamedTuple):
    """One entry of ours in a JSON document."""

    path: tuple[str, ...]
    value: Any
    kind: EntryKind = EntryKind.ITEM


class Edited(NamedTuple):
    """A document with our entries in it."""

    text: str
    ours: tuple[Entry, ...]
    """The entries to remove on uninstall; entries that other programs added are not ours."""
    kept: tuple[Entry, ...]
    """Entries that the person had set to other values, which stay."""


def put(text: str, file: str, wanted: tuple[Entry, ...], old: tuple[Entry, ...]) -> Edited:
    """Return the text with the wanted entries, and without old entries that are not wanted now."""
    document = parse(text, file)
    found = deepcopy(document)
    _remove(document, [entry for entry in old if entry not in wanted])
    ours, kept = [], []
    for entry in wanted:
        state = _state(document, entry, file)
        if state == _State.OTHER and entry.kind == EntryKind.DEFAULT:
            kept.append(entry)
            continue
        if state == _State.OTHER and entry.path not in [one.path for one in old]:
            raise UsageError(
                f"{file} has {'.'.join(entry.path)} already, and gate did not write it: "
                "remove it, then install again"
            )
        if state != _State.THERE:
            _set(document, entry)
        if state != _State.THERE or entry in old:
            ours.append(entry)
    same = document == found and text.strip()
    return Edited(text if same else render(document, text), tuple(ours), tuple(kept))


def cut(text: str, file: str, ours: tuple[Entry, ...], before: str) -> str:
    """Return the text without our entries, and without the empty places we made for them."""
    document = parse(text, file)
    found = deepcopy(document)
    _remove(document, ours, parse(before, file))
    return text if document == found else render(document, text)


def missing(text: str, file: str, ours: tuple[Entry, ...]) -> list[Entry]:
    """Return our entries that are missing or changed."""
    document = parse(text, file)
    return [entry for entry in ours if _state(document, entry, file) != _State.THERE]


def parse(text: str, file: str) -> dict[str, Any]:
    """Read a JSON object strictly: text that cannot be written back must not be touched."""
    if not text.strip():
        return {}
    try:
        document = json.loads(text, object_pairs_hook=_unique, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise UsageError(
            f"{file} is not plain JSON, so it is left alone: {error}. Repair it, then try again"
        ) from None
    if not isinstance(document, dict):
        raise UsageError(f"{file} does not contain a JSON object, so it is left alone")
    return document


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    document = dict(pairs)
    if len(document) < len(pairs):
        twice = next(key for key, _ in pairs if [k for k, _ in pairs].count(key) > 1)
        raise ValueError(f"the key {twice!r} is twice in one object")
    return document


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def render(document: dict[str, Any], like: str) -> str:
    """Return the document as text, in the style of the text it comes from."""
    indent = re.search(r'\n([ \t]+)"', like)
    step = indent[1] if indent else "  "
    end = "\n" if like.endswith("\n") or not like.strip() else ""
    text = json.dumps(document, indent=step, ensure_ascii=False) + end
    # Half a surrogate pair, from a cut-off emoji, can only be written as an escape.
    whole = text.encode("utf-8", "replace").decode() == text
    return text if whole else json.dumps(document, indent=step) + end


def _state(document: dict[str, Any], entry: Entry, file: str) -> _State:
    place: Any = document
    for depth, key in enumerate(entry.path[:-1]):
        place = place.get(key, {})
        if not isinstance(place, dict):
            here = ".".join(entry.path[: depth + 1])
            raise UsageError(f"{file} must have an object as {here}: repair that first")
    found = place.get(entry.path[-1])
    if entry.kind == EntryKind.ITEM:
        if not isinstance(found, list | None):
            here = ".".join(entry.path)
            raise UsageError(f"{file} must have a list as {here}: repair that first")
        return _State.THERE if entry.value in (found or []) else _State.ABSENT
    if entry.path[-1] not in place:
        return _State.ABSENT
    return _State.THERE if found == entry.value else _State.OTHER


def _set(document: dict[str, Any], entry: Entry) -> None:
    place = document
    for key in entry.path[:-1]:
        place = place.setdefault(key, {})
    if entry.kind == EntryKind.ITEM:
        place.setdefault(entry.path[-1], []).append(deepcopy(entry.value))
    else:
        place[entry.path[-1]] = deepcopy(entry.value)


def _remove(
    document: dict[str, Any], entries: Iterable[Entry], before: dict[str, Any] | None = None
) -> None:
    for entry in entries:
        places: list[Any] = [document]
        for key in entry.path[:-1]:
            places.append(places[-1].get(key) if isinstance(places[-1], dict) else None)
        if not isinstance(places[-1], dict) or entry.path[-1] not in places[-1]:
            continue
        found = places[-1][entry.path[-1]]
        if entry.kind == EntryKind.ITEM:
            if isinstance(found, list) and entry.value in found:
                found.remove(entry.value)
        elif entry.kind == EntryKind.OWN or found == entry.value:
            del places[-1][entry.path[-1]]
        _prune(places, entry.path, before)


def _prune(places: list[Any], path: tuple[str, ...], before: dict[str, Any] | None) -> None:
    """Remove places that became empty, from the inside out, unless the person had them empty."""
    for depth in range(len(path) - 1, -1, -1):
        key = path[depth]
        if key not in places[depth]:
            continue
        if places[depth][key] not in ([], {}) or _has(before, path[: depth + 1]):
            return
        del places[depth][key]


def _has(document: Any, path: tuple[str, ...]) -> bool:
    for key in path:
        if not isinstance(document, dict) or key not in document:
            return False
        document = document[key]
    return True
