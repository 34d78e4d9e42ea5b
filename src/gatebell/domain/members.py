"""The processes that serve a store: servers, workers and senders, on any host."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from gatebell.domain.records import NamedTuple

if TYPE_CHECKING:
    from datetime import datetime

    from gatebell.domain.enums import MemberKind

BEAT_SECONDS = 10.0
FRESH_FOR = timedelta(seconds=BEAT_SECONDS * 3)
"""After so long without a beat, a process that cannot be seen no longer counts as alive."""


class Member(NamedTuple):
    """One process that serves a store."""

    kind: MemberKind
    process: str
    """Its identity."""
    url: str
    """Where a server is reached."""
    joined_at: datetime
    beat_at: datetime

    @property
    def id(self) -> str:
        return f"{self.kind} {self.process}"


def is_fresh(member: Member, now: datetime) -> bool:
    """Return whether a member reported recently."""
    return member.beat_at + FRESH_FOR > now
