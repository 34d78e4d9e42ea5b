"""The name of this host: a process number means something only on its own host."""

from __future__ import annotations

import os
from contextlib import suppress
from functools import cache

from gatebell.errors import UsageError

_MACHINE_ID = ("/etc/machine-id", "/var/lib/dbus/machine-id")
_MAX_CHARACTERS = 64


def this_host() -> str:
    """Return GATE_HOST, or else the id of this machine, or else its network name.

    Raises:
        UsageError: GATE_HOST is not a name.
    """
    name = os.environ.get("GATE_HOST", "")
    if not name:
        return _read_machine_id()
    if not is_name(name):
        raise UsageError(
            f"GATE_HOST: expected at most 64 letters, digits, dots, '-' and '_', got {name[:80]!r}"
        )
    return name


@cache
def _read_machine_id() -> str:
    for path in _MACHINE_ID:
        with suppress(OSError, ValueError), open(path, encoding="ascii") as file:
            if is_name(found := file.read(100).strip()):
                return found
    return _read_platform_id() or _make_name(os.uname().nodename)


def _read_platform_id() -> str:
    """Return the id that macOS gives its hardware; it stays when the network name changes."""
    if os.uname().sysname != "Darwin":
        return ""
    # Imported here: they are only needed on macOS.
    import re
    import subprocess

    words = ["/usr/sbin/ioreg", "-rd1", "-c", "IOPlatformExpertDevice"]
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=False)
    except OSError:
        return ""
    found = re.search(r'"IOPlatformUUID" = "([0-9A-Fa-f-]{36})"', done.stdout)
    return found[1] if found else ""


def is_name(text: str) -> bool:
    """Return whether a text can name a host or a pool."""
    # The identity of a process has its host before a slash.
    return len(text) <= _MAX_CHARACTERS and bool(text) and all(map(_is_allowed, text))


def _is_allowed(character: str) -> bool:
    return character in "._-" or (character.isascii() and character.isalnum())


def _make_name(text: str) -> str:
    kept = "".join(one if _is_allowed(one) else "-" for one in text)
    return kept[:_MAX_CHARACTERS] or "unnamed"
