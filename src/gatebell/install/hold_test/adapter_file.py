"""Read an adapter file: the gate of another project, and hosts that gate does not know.

docs/hold-test-adapters.md describes it.
"""

from __future__ import annotations

import os
import shlex
import shutil
from typing import TYPE_CHECKING, Any, NamedTuple

from gatebell.errors import UsageError
from gatebell.install.hold_test.gates import OtherGate, fill
from gatebell.install.hold_test.hosts import Host, find_version, run_until_end
from gatebell.install.hold_test.rows import Row

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gatebell.install.rehearsal import Stage

_KEYS: dict[str, type | tuple[type, ...]] = {
    **dict.fromkeys(("name", "program", "version", "install", "hook_word", "command"), str),
    "wait_seconds": (int, float),
    "hosts": list,
    "not_enforced": list,
    "prepare": dict,
    "host": dict,
}
_HOST_KEYS: dict[str, type | tuple[type, ...]] = {
    **dict.fromkeys(("start", "version", "tool", "argument"), str),
    "modes": dict,
}


class Adapter(NamedTuple):
    """The content of an adapter file."""

    gate: OtherGate
    hosts: tuple[str, ...]
    """The known hosts for which the gate can be installed; empty: all."""
    own_hosts: Mapping[str, Host]


def read(path: str, environ: Mapping[str, str]) -> Adapter:
    """Read an adapter file.

    Raises:
        UsageError: if it cannot be read, or has a wrong key or value.
    """
    # Imported here: only this needs it.
    import tomllib

    try:
        with open(path, "rb") as file:
            document = tomllib.load(file)
    except (OSError, ValueError) as error:
        raise UsageError(f"{path} cannot be read as TOML: {error}") from None
    _check(document, _KEYS, path)
    for name in ("name", "program", "install"):
        if name not in document:
            raise UsageError(f"{path} has no {name}: docs/hold-test-adapters.md shows an example")
    rows = {row.value for row in Row}
    for row in (*document.get("not_enforced", ()), *document.get("prepare", {})):
        if row not in rows:
            raise UsageError(f"{path}: expected one of {', '.join(sorted(rows))}, got {row!r}")
    own = {name: _build_host(name, found, path) for name, found in document.get("host", {}).items()}
    return Adapter(_build_gate(document, environ), tuple(document.get("hosts", ())), own)


def _check(document: Mapping[str, Any], keys: Mapping[str, Any], path: str) -> None:
    for key, value in document.items():
        if key not in keys:
            raise UsageError(f"{path}: unknown key {key!r}; known are {', '.join(keys)}")
        if not isinstance(value, keys[key]):
            raise UsageError(f"{path}: {key} has a value of the wrong type: {value!r}")


def _build_gate(document: Mapping[str, Any], environ: Mapping[str, str]) -> OtherGate:
    program = shutil.which(document["program"], path=environ.get("PATH"))
    if program is None:
        raise UsageError(f"the program {document['program']} is not on the PATH: install it first")
    asked = shlex.split(document.get("version", ""))
    name = f"{document['name']} {find_version(asked, environ) if asked else ''}".strip()
    kept = ("hook_word", "command", "wait_seconds", "prepare", "not_enforced")
    more = {key: document[key] for key in kept if key in document}
    return OtherGate(name, os.path.abspath(program), document["install"], **more)


def _build_host(name: str, found: Any, path: str) -> Host:
    if not isinstance(found, dict) or "start" not in found:
        raise UsageError(f"{path}: [host.{name}] needs a line `start`")
    _check(found, _HOST_KEYS, path)
    modes = {key: str(words) for key, words in found.get("modes", {}).items()}

    def start(stage: Stage, prompt: str, mode: str, _: Row, seconds: float) -> None:
        line = found["start"].replace("{mode}", modes.get(mode, ""))
        words = fill(line, stage, prompt=prompt)
        run_until_end(["/bin/sh", "-c", words], stage.environ, stage.path("work"), seconds)

    return Host(
        name, lambda _: None, start, lambda _: {}, found.get("tool", "bash"),
        found.get("argument", "command"), modes=tuple(modes), version=tuple(shlex.split(found.get("version", ""))),
    )  # fmt: skip
