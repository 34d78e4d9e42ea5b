"""Servers that a person has signed in to: their addresses, and a token for each."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from gatebell.adapters.system.folders import settings_file
from gatebell.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

_CURRENT = "current"
_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
_PORTS = {"http": 80, "https": 443}
_MAX_BYTES = 4096


def check_address(given: str) -> str:
    """Return the address without a slash at the end; refuse one that would show the token."""
    if not given:
        return ""
    scheme, _, rest = given.rstrip("/").partition("://")
    if scheme not in _PORTS or not rest or set(rest) & set("@?#/ \t\r\n\\"):
        raise UsageError(f"expected a server such as https://gate.example.org, got {given!r}")
    host, port = split_address(f"{scheme}://{rest}")
    if not host or not 0 < port < 65536:
        raise UsageError(f"expected a server such as https://gate.example.org, got {given!r}")
    if scheme == "http" and host not in _LOOPBACK:
        raise UsageError(
            f"{given} would send your token without encryption: use https://, or http:// only for "
            "this machine"
        )
    return f"{scheme}://{rest.lower()}"


def split_address(address: str) -> tuple[str, int]:
    """Return the host and the port; the port is 0 if it is not a number."""
    scheme, _, rest = address.partition("://")
    head, colon, port = rest.rpartition(":")
    if colon and not rest.endswith("]"):
        return head, int(port) if port.isascii() and port.isdecimal() and len(port) < 6 else 0
    return rest, _PORTS[scheme]


def is_on_this_machine(address: str) -> bool:
    """Return whether an address reaches only this machine."""
    return split_address(address)[0] in _LOOPBACK


def read_login(environ: Mapping[str, str]) -> str:
    """Return the address that `gate login` has kept, or ""."""
    return _read(os.path.join(_folder(environ), _CURRENT))


def find_token(environ: Mapping[str, str], server: str) -> str:
    """Return the token of the environment, else the one that `gate login` has kept, or ""."""
    return environ.get("GATE_TOKEN", "").strip() or _read(_token_file(environ, server))


def keep_login(environ: Mapping[str, str], server: str, token: str) -> str:
    """Keep a token for a server, readable by this user only; return its file."""
    folder = _folder(environ)
    os.makedirs(folder, mode=0o700, exist_ok=True)
    os.chmod(folder, 0o700)
    path = _token_file(environ, server)
    _write(path, token)
    _write(os.path.join(folder, _CURRENT), server)
    return path


def forget_login(environ: Mapping[str, str], server: str) -> bool:
    """Remove the token of a server; return whether there was one."""
    if read_login(environ) == server:
        with suppress(FileNotFoundError):
            os.unlink(os.path.join(_folder(environ), _CURRENT))
    try:
        os.unlink(_token_file(environ, server))
    except FileNotFoundError:
        return False
    return True


def _folder(environ: Mapping[str, str]) -> str:
    return os.path.join(os.path.dirname(settings_file(environ)), "servers")


def _token_file(environ: Mapping[str, str], server: str) -> str:
    host, port = split_address(server)
    return os.path.join(_folder(environ), f"{host.strip('[]').replace(':', '.')}_{port}.token")


def _read(path: str) -> str:
    try:
        with open(path, "rb") as file:
            return file.read(_MAX_BYTES).decode("utf-8", "replace").strip()
    except OSError:
        return ""


def _write(path: str, text: str) -> None:
    """Replace the file at once, so that no other process reads a part."""
    new = f"{path}.{os.getpid()}"
    with suppress(FileNotFoundError):
        os.unlink(new)
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(f"{text}\n")
    os.replace(new, path)
