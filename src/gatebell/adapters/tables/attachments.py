"""Store which attachments there are and who uploaded them; each database keeps the bytes its way."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from gatebell.domain.asks.asks import iso
from gatebell.domain.asks.attachments import Attachment
from gatebell.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import datetime

    from gatebell.adapters.tables.store import TableStore

_PAGE = 1000


class Contents(Protocol):
    """The bytes of attachments by digest, as one database keeps them."""

    def write(self, digest: str, content: bytes) -> None:
        """Keep the bytes durably, unless they are there already."""
        ...

    def read(self, digest: str) -> bytes | None:
        """Return the bytes, or None."""
        ...

    def has(self, digest: str) -> bool:
        """Return whether there are bytes."""
        ...

    def remove(self, digest: str) -> None:
        """Remove the bytes, as part of an open transaction."""
        ...


class StoredAttachments:
    def __init__(self, store: TableStore, contents: Contents) -> None:
        self._store = store
        self._contents = contents
        self._db = store.statements("attachments")

    def keep(self, attachment: Attachment, content: bytes, whose: str = "") -> None:
        with self._store.quiet_transaction() as at:
            row = {"digest": attachment.digest, "kept_at": at}
            about = {"size": attachment.size, "media_type": attachment.media_type}
            self._db.write("announce_attachment", row | about)
            if whose:
                self._db.write("note_upload", row | {"whose": whose})
        self._contents.write(attachment.digest, content)

    def use(self, attachments: Iterable[Attachment]) -> None:
        """Mark the attachments of a new ask or answer as used, in its transaction.

        Raises:
            UsageError: The bytes are not there, for example because they were uploaded long ago.
        """
        # In one order, so that two transactions do not wait for each other.
        for one in sorted(set(attachments), key=lambda one: one.digest):
            known = self._db.write("use_attachment", {"digest": one.digest})
            if not known or not self._contents.has(one.digest):
                raise UsageError(f"the store does not have {one.name!r} any more: attach it again")

    def find_upload(self, whose: str, digest: str, since: datetime) -> Attachment | None:
        found = self._db.rows("find_upload", (whose, digest, iso(since)))
        return Attachment("", found[0][0], found[0][1], digest) if found else None

    def count_uploaded(self, whose: str, since: datetime) -> int:
        return int(self._db.rows("count_uploaded", (whose, iso(since)))[0][0])

    def read(self, digest: str) -> bytes | None:
        return self._contents.read(digest)

    def used(self) -> Iterator[str]:
        last = ""
        while page := self._db.rows("used_attachments", (last, _PAGE)):
            for (last,) in page:
                yield last

    def remove_unused(self, before: datetime) -> int:
        old = self._db.rows("unused_attachments", (iso(before),))
        with self._store.quiet_transaction():
            self._db.write("forget_uploads", {"before": iso(before)})
            for (digest,) in old:
                # While this transaction lasts, no ask or answer can begin to use the bytes.
                if self._db.write("forget_attachment", {"digest": digest, "before": iso(before)}):
                    self._contents.remove(digest)
        return len(old)
