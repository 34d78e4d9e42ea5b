"""Which process is meant, on which boot of a machine."""

from __future__ import annotations

from gatebell.domain.records import NamedTuple


class Identity(NamedTuple):
    """One process of one boot: its number alone is given to others once it has ended."""

    boot: str
    """The boot, a colon, and the namespace that the number belongs to, where there is one."""
    pid: int
    start: str

    def __str__(self) -> str:
        return f"{self.boot}/{self.pid}/{self.start}"


def parse_identity(text: str) -> Identity:
    """The identity that `str` made this text of."""
    boot, pid, start = text.split("/")
    return Identity(boot, int(pid), start)
