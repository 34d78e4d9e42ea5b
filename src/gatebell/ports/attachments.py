"""The port to the bytes of attachments, which are kept by their digest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from gatebell.domain.asks.attachments import Attachment


class Attachments(Protocol):
    """The bytes of attachments. The writes of asks and answers mark them as used."""

    def keep(self, attachment: Attachment, content: bytes, whose: str = "") -> None:
        """Keep the bytes; they survive a power cut when this returns.

        Args:
            attachment: their description
            content: the bytes
            whose: the token or person who uploaded them over HTTP, for `find_upload`
        """
        ...

    def find_upload(self, whose: str, digest: str, since: datetime) -> Attachment | None:
        """Return the bytes, without a name, that this token or person has uploaded since then."""
        ...

    def count_uploaded(self, whose: str, since: datetime) -> int:
        """Return how many bytes this token or person has uploaded since then."""
        ...

    def read(self, digest: str) -> bytes | None:
        """Return the bytes as they are now; None if they are missing."""
        ...

    def used(self) -> Iterator[str]:
        """Yield the digests that asks and answers name, in pages."""
        ...

    def remove_unused(self, before: datetime) -> int:
        """Remove bytes kept before then that no ask or answer names; return how many files."""
        ...
