"""Identities of processes that stay unique after the process ends."""

from __future__ import annotations

from gatebell.domain.records import NamedTuple


class Identity(NamedTuple):
    """One process of one boot of a host, because the number of an ended process is used again."""

    boot: str
    """The boot; then, if there is one, a colon and the namespace of the number."""
    pid: int
    start: str
    host: str = ""
    """Empty if an older version wrote it: then it is a process of the host that reads it."""

    def __str__(self) -> str:
        process = f"{self.boot}/{self.pid}/{self.start}"
        return f"{self.host}/{process}" if self.host else process


def parse_identity(text: str) -> Identity:
    """Read an identity that `str` wrote."""
    *host, boot, pid, start = text.split("/")
    return Identity(boot, int(pid), start, *host)
