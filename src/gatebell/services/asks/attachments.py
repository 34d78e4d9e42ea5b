"""Keep and read the files of asks and answers."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from gatebell.domain.asks.attachments import clean_name, describe_bytes, describe_size, hash_bytes
from gatebell.domain.text.display import inert_line
from gatebell.errors import NotFoundError, RefusedError, StoreError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gatebell.domain.asks.asks import Ask
    from gatebell.domain.asks.attachments import Attachment
    from gatebell.ports.store import Store

UNUSED_FOR = timedelta(days=1)
"""How long bytes stay that no ask or answer names."""
MAX_DAILY_BYTES = 1_000_000_000
"""How much one token or person may upload in a day."""


def attach(store: Store, name: str, content: bytes, whose: str = "") -> Attachment:
    """Keep the bytes of a file durably, for an ask or answer that names them next.

    Args:
        store: the store
        name: the name that people see
        content: the bytes
        whose: the token or person who uploads them over HTTP

    Raises:
        UsageError: The file is too large, or has no name.
        RefusedError: There were too many uploads.
    """
    attachment = describe_bytes(content, name)
    yesterday = store.now() - UNUSED_FOR
    store.attachments.remove_unused(yesterday)
    if whose:
        before = store.attachments.count_uploaded(whose, yesterday)
        if before + attachment.size > MAX_DAILY_BYTES:
            most = describe_size(MAX_DAILY_BYTES)
            raise RefusedError(f"you have uploaded more than {most} in a day: try again tomorrow")
    store.attachments.keep(attachment, content, whose)
    return attachment


def find_upload(store: Store, whose: str, name: str, digest: str) -> Attachment:
    """Return bytes that this token or person has uploaded, under a name.

    Another digest is refused: knowing it must not be enough to read the bytes.
    """
    since = store.now() - UNUSED_FOR
    found = store.attachments.find_upload(whose, digest, since)
    if found is None:
        shown = inert_line(name, 60)
        raise UsageError(f"you have not uploaded {shown!r} in the last day: upload it first")
    return found._replace(name=clean_name(name))


def find(store: Store, ask: Ask, digest: str) -> Attachment:
    """Return the file of this digest that belongs to an ask or to one of its answers."""
    answers = store.asks.answers(ask.id)
    for files in (ask.question.attachments, *(answer.attachments for answer in answers)):
        for one in files:
            if one.digest == digest:
                return one
    raise NotFoundError(f"{ask.id} has no such attachment. List them: gate show {ask.id}")


def read(store: Store, attachment: Attachment) -> bytes:
    """Return the bytes of a file, if they are still those of its digest."""
    content = store.attachments.read(attachment.digest)
    if content is None or hash_bytes(content) != attachment.digest:
        raise StoreError(_describe_fault(store, attachment.digest, content))
    return content


def list_faults(store: Store) -> Iterator[str]:
    """Yield a sentence for each used file whose bytes are missing or altered."""
    for digest in store.attachments.used():
        content = store.attachments.read(digest)
        if content is None or hash_bytes(content) != digest:
            yield _describe_fault(store, digest, content)


def _describe_fault(store: Store, digest: str, content: bytes | None) -> str:
    if content is None:
        return f"the store {store.name} lacks the bytes of attachment {digest}: restore a copy"
    return f"the bytes of attachment {digest} were altered: restore a copy"
