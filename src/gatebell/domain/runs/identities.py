"""Identities of processes that stay unique after the process ends."""

from __future__ import annotations

from gatebell.domain.records import NamedTuple


class Identity(NamedTuple):
    """One process of one boot, because the number of an ended process is used again."""

    boot: str
    """The boot; then, if there is one, a colon and the namespace of the number."""
    pid: int
    start: str

    def __str__(self) -> str:
        return f"{self.boot}/{self.pid}/{self.start}"


def parse_identity(text: str) -> Identity:
    """Read an identity that `str` wrote."""
    boot, pid, start = text.split("/")
    return Identity(boot, int(pid), start)
