"""The bytes of attachments in PostgreSQL, in parts: a statement has a deadline."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gatebell.adapters.tables.store import TableStore

_PART_BYTES = 1_000_000


class AttachmentParts:
    def __init__(self, store: TableStore) -> None:
        self._store = store
        self._db = store.statements("attachments")

    def write(self, digest: str, content: bytes) -> None:
        # Other bytes under this digest were altered: they are replaced.
        if self.read(digest) == content:
            return
        with self._store.quiet_transaction():
            # Another writer of the same bytes waits here, and then writes them again.
            self._db.lock("hold_attachment", {"digest": digest})
            self._db.write("remove_parts", {"digest": digest})
            for number, start in enumerate(range(0, max(1, len(content)), _PART_BYTES)):
                part = {"digest": digest, "content": content[start : start + _PART_BYTES]}
                self._db.write("write_part", part | {"number": number})

    def read(self, digest: str) -> bytes | None:
        parts = range(int(self._db.rows("count_parts", (digest,))[0][0]))
        found = [self._db.rows("read_part", (digest, number)) for number in parts]
        return b"".join(bytes(rows[0][0]) for rows in found if rows) if found else None

    def has(self, digest: str) -> bool:
        return bool(self._db.rows("count_parts", (digest,))[0][0])

    def remove(self, digest: str) -> None:
        self._db.write("remove_parts", {"digest": digest})
