"""The file by which an agent signals: each turn has one of its own, and it is read without trust."""

from __future__ import annotations

import os

_FOLDER = os.path.join(".agents", "signals")
_MOST_BYTES = 1_000_000


def file_of(role: str, turn_id: str) -> str:
    """Within the run's folder."""
    return os.path.join(_FOLDER, f"{role}-{turn_id}.json")


def environ(run_id: int, turn_id: str, folder: str, role: str) -> dict[str, str]:
    """What an agent needs around it to signal; the folder of its file is made."""
    path = os.path.join(folder, file_of(role, turn_id))
    os.makedirs(os.path.dirname(path), exist_ok=True)
    return {"GATE_TURN": turn_id, "GATE_RUN": str(run_id), "GATE_SIGNAL_FILE": path}


def text(folder: str, role: str, turn_id: str) -> str | None:
    """What stands in the file of this turn alone; no link, no device, nothing huge."""
    path = os.path.join(folder, file_of(role, turn_id))
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        with os.fdopen(descriptor, "rb") as file:
            # Of a pipe that somebody holds open there is nothing to read yet.
            data = file.read(_MOST_BYTES + 1) or b""
    except OSError:
        return None
    return data.decode("utf-8", "replace") if len(data) <= _MOST_BYTES else None
