"""The processes that serve a store: servers, workers and senders, on any host."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from gatebell.domain.enums import MemberKind
from gatebell.domain.records import NamedTuple
from gatebell.domain.runs.identities import Identity, parse_identity

if TYPE_CHECKING:
    from datetime import datetime

BEAT_SECONDS = 10.0
FRESH_FOR = timedelta(seconds=BEAT_SECONDS * 3)
"""After so long without a beat, a process that cannot be seen no longer counts as alive."""
LOST_AFTER = timedelta(minutes=10)
"""After so long without a beat of any of its members, people are asked about a host's runs."""


class Member(NamedTuple):
    """One process that serves a store."""

    kind: MemberKind
    process: str
    """Its identity."""
    url: str
    """Where a server is reached; of a worker the keys of its projects, one in each line."""
    joined_at: datetime
    beat_at: datetime

    @property
    def project_keys(self) -> list[str]:
        """The projects of which a worker has a checkout."""
        return self.url.splitlines() if self.kind == MemberKind.WORKER else []

    @property
    def id(self) -> str:
        return f"{self.kind} {self.process}"

    @property
    def host(self) -> str:
        return parse_identity(self.process).host


def lose_host(host: str, now: datetime) -> Member:
    """Return the row of a host that is lost since now."""
    return Member(MemberKind.LOST, str(Identity("", 0, "", host)), "", now, now)


def is_fresh(member: Member, now: datetime) -> bool:
    """Return whether a member reported recently."""
    return member.beat_at + FRESH_FOR > now
