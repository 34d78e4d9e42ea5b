"""Start `gate up` with the person's login: a user unit of systemd, or an agent of launchd."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from gatebell.errors import GateError, UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

UNIT = "gatebell.service"
LABEL = "gatebell.up"
_SECONDS = 30.0
# PATH: `gate up` starts agents' programs, and a login service has a shorter one.
_KEPT_VARIABLES = (
    "PATH",
    "GATE_STORE",
    "GATE_STORE_FILE",
    "GATE_KEY_FILE",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
)


class Service(NamedTuple):
    """The file of a service, its text, and the commands that start and end it."""

    path: str
    text: str
    begin: tuple[tuple[str, ...], ...]
    end: tuple[tuple[str, ...], ...]


def plan_service(
    command: Sequence[str], log: str, environ: Mapping[str, str], platform: str = sys.platform
) -> Service:
    """Return the service of this system.

    Raises:
        UsageError: This system has neither systemd nor launchd.
    """
    kept = {name: environ[name] for name in _KEPT_VARIABLES if environ.get(name)}
    home = environ.get("HOME") or os.path.expanduser("~")
    if platform == "darwin":
        return _plan_launchd(command, log, kept, home)
    if shutil.which("systemctl", path=environ.get("PATH")) is None:
        raise UsageError("this system has no systemctl; start gate up --detach at your login")
    settings = environ.get("XDG_CONFIG_HOME") or os.path.join(home, ".config")
    manage = ("systemctl", "--user")
    return Service(
        os.path.join(settings, "systemd", "user", UNIT),
        _build_unit(command, kept),
        ((*manage, "daemon-reload"), (*manage, "enable", "--now", UNIT)),
        ((*manage, "disable", "--now", UNIT),),
    )


def _plan_launchd(command: Sequence[str], log: str, kept: dict[str, str], home: str) -> Service:
    # Imported here: only macOS needs it.
    import plistlib

    path = os.path.join(home, "Library", "LaunchAgents", f"{LABEL}.plist")
    wanted = {
        "Label": LABEL,
        "ProgramArguments": list(command),
        "EnvironmentVariables": kept,
        "RunAtLoad": True,
        # `gate down` ends it for good; a crash does not.
        "KeepAlive": {"SuccessfulExit": False},
        # Its output has a link that signs in, and must not be written to a file.
        "StandardOutPath": os.devnull,
        "StandardErrorPath": log,
    }
    domain = f"gui/{os.getuid()}"
    return Service(
        path,
        plistlib.dumps(wanted).decode(),
        (("launchctl", "bootstrap", domain, path),),
        (("launchctl", "bootout", f"{domain}/{LABEL}"),),
    )


def _build_unit(command: Sequence[str], kept: dict[str, str]) -> str:
    lines = [
        "[Unit]",
        "Description=gatebell: the inbox of this person",
        "",
        "[Service]",
        *(f"Environment={_quote(f'{name}={value}')}" for name, value in kept.items()),
        f"ExecStart={' '.join(_quote(word).replace('$', '$$') for word in command)}",
        "# Its output has a link that signs in, and must not be written to the journal.",
        "StandardOutput=null",
        "# `gate down` ends it for good; a crash does not.",
        "Restart=on-failure",
        "RestartSec=2",
        "",
        "[Install]",
        "WantedBy=default.target",
        "",
    ]
    return "\n".join(lines)


def _quote(word: str) -> str:
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    escaped = escaped.replace("\n", "\\n")
    return f'"{escaped}"'


def start_service(service: Service) -> None:
    """Write the file and start the service, now and at each login."""
    os.makedirs(os.path.dirname(service.path), exist_ok=True)
    # The address of a store can have a password.
    private = os.open(service.path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with open(private, "w", encoding="utf-8") as file:
        file.write(service.text)
    for command in service.begin:
        _run(command, f"The file is {service.path}; gate down --uninstall removes it")


def remove_service(service: Service) -> bool:
    """End the service and remove its file; return whether there was one."""
    if not os.path.exists(service.path):
        return False
    for command in service.end:
        # It may have ended already. The file decides what starts at the next login.
        with suppress(GateError):
            _run(command, "")
    os.remove(service.path)
    return True


def _run(command: Sequence[str], remedy: str) -> None:
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            check=False,
            timeout=_SECONDS,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise GateError(f"{' '.join(command)} did not work: {error}. {remedy}") from None
    if done.returncode:
        said = (done.stderr or done.stdout).strip()[:500]
        raise GateError(f"{' '.join(command)} did not work: {said}. {remedy}")
