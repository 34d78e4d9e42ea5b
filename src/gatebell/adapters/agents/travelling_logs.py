"""The session logs that travel with a run, so that another host continues the same session."""

from __future__ import annotations

import json
import os
import re
import stat
import tempfile
from typing import TYPE_CHECKING, Any

from gatebell.adapters.agents import session_logs
from gatebell.domain.enums import AgentCli
from gatebell.errors import GateError

if TYPE_CHECKING:
    from collections.abc import Mapping

_MAX_BYTES = 100_000_000
_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9]")
_CODEX_NAME = re.compile(r"rollout-(\d{4})-(\d\d)-(\d\d)T.*-([0-9a-f-]{36})\.jsonl")
_CLAUDE_NAME = re.compile(r"([0-9A-Za-z][0-9A-Za-z_-]*)\.jsonl")
# Codex keeps the folders in which its sandbox may write in these records [seen with 0.166.0]. The
# others are what was said.
_CODEX_SETTINGS = ("session_meta", "turn_context", "event_msg")


class TravellingLogs:
    """The port SessionLogs, for the logs of claude and codex."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ

    def read(self, cli: str, session: str) -> tuple[str, bytes] | None:
        path = session_logs.find(cli, session, self._environ)
        if not path:
            return None
        try:
            # No link: an agent could make one to a file that must not leave this host.
            file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as error:
            raise GateError(f"the session log {path} cannot be read: {error.strerror}.") from None
        with os.fdopen(file, "rb") as log:
            if not stat.S_ISREG(os.fstat(file).st_mode):
                raise GateError(f"the session log {path} is not a regular file.")
            content = log.read(_MAX_BYTES + 1)
        if len(content) > _MAX_BYTES:
            raise GateError(f"the session log {path} is larger than {_MAX_BYTES // 10**6} MB.")
        return os.path.basename(path), content

    def write(self, name: str, content: bytes, before: str, folder: str) -> None:
        if found := _CODEX_NAME.fullmatch(name):
            year, month, day, session = found.groups()
            path = session_logs.find(AgentCli.CODEX, session, self._environ)
            sessions = os.path.join(
                session_logs.find_base(AgentCli.CODEX, self._environ), "sessions"
            )
            path = path or os.path.join(sessions, year, month, day, name)
            content = _move_settings(content, before, folder)
        elif found := _CLAUDE_NAME.fullmatch(name):
            path = session_logs.find(AgentCli.CLAUDE, found[1], self._environ)
            projects = os.path.join(
                session_logs.find_base(AgentCli.CLAUDE, self._environ), "projects"
            )
            path = path or os.path.join(projects, _NOT_IN_A_NAME.sub("-", folder), name)
        else:
            raise GateError(f"{name!r} is not the name of a session log.")
        _write(path, content)


def _move_settings(log: bytes, before: str, folder: str) -> bytes:
    """Return a log of codex that names another folder as the one in which it may write."""
    lines = log.split(b"\n")
    for number, line in enumerate(lines):
        try:
            record = json.loads(line)
            if record["type"] in _CODEX_SETTINGS:
                lines[number] = json.dumps(_replace_folder(record, before, folder)).encode()
        except (ValueError, TypeError, KeyError, RecursionError):
            # The last line may be incomplete; codex leaves it out.
            continue
    return b"\n".join(lines)


def _replace_folder(value: Any, before: str, folder: str) -> Any:
    if isinstance(value, str):
        is_inside = value == before or value.startswith(before + os.sep)
        return folder + value[len(before) :] if is_inside else value
    if isinstance(value, list):
        return [_replace_folder(one, before, folder) for one in value]
    if isinstance(value, dict):
        return {name: _replace_folder(one, before, folder) for name, one in value.items()}
    return value


def _write(path: str, content: bytes) -> None:
    """Write a log completely, or not at all."""
    folder = os.path.dirname(path)
    os.makedirs(folder, mode=0o700, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=folder, prefix=".gate-", delete=False) as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    os.replace(file.name, path)
