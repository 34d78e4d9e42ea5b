"""What the audit trail says happened, and how its chain is checked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from gatebell.domain.digests import GENESIS, digest, link

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


class Event(NamedTuple):
    """One change of state, as it is handed to the store."""

    kind: str
    """Noun and past participle: `ask.opened`, `answer.refused`."""
    subject: str
    """The ask, person or group it happened to."""
    actor: str
    """The principal who did it."""
    content: dict[str, Any]
    """What else is known; the only part that may be erased later."""


class Entry(NamedTuple):
    """An event in its place in the chain."""

    seq: int
    at: str
    event: Event
    content_digest: str
    hash: str
    erased: bool
    rows: dict[str, dict[str, list[str]]] | None = None
    """The rows that its transaction wrote, sealed (`domain/audit/trails.py`); None in older events."""

    @property
    def is_news(self) -> bool:
        """Whether it tells people of something; else it only seals rows."""
        return not self.event.kind.endswith(".written")

    @property
    def content(self) -> Any:
        """The whole content, as its digest covers it."""
        told = self.event.content
        return told if self.rows is None else {**told, "rows": self.rows}


class Head(NamedTuple):
    """The newest link. Kept elsewhere, it proves that no tail was cut off."""

    seq: int
    hash: str

    def __str__(self) -> str:
        return f"{self.seq}:{self.hash}"


def verify(entries: Iterable[Entry], kept: Head | None = None) -> Iterator[str]:
    """Yield a sentence for every fault found in the chain."""
    previous, expected, kept_seen = GENESIS, 1, kept is None or kept.seq == 0
    for entry in entries:
        if entry.seq != expected:
            yield f"event {expected} is missing: the next one found is {entry.seq}"
        if not entry.erased and digest(entry.content) != entry.content_digest:
            yield f"event {entry.seq} ({entry.event.kind}): its content was changed"
        if link(previous, entry.seq, entry.at, entry.event, entry.content_digest) != entry.hash:
            yield f"event {entry.seq} ({entry.event.kind}) does not follow from the one before it"
        if kept and entry.seq == kept.seq:
            kept_seen = True
            if entry.hash != kept.hash:
                yield f"event {entry.seq} is not the one whose head was kept"
        previous, expected = entry.hash, entry.seq + 1
    if not kept_seen and kept:
        yield f"the log ends at event {expected - 1}, but a head of event {kept.seq} was kept"
