"""The verbs for files (`ports/backends/backend.py`, `Attaching`) as requests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gatebell.adapters.remote.wire_format import quote
from gatebell.domain.asks.attachments import Attachment, describe_bytes, hash_bytes
from gatebell.errors import ServerError

if TYPE_CHECKING:
    from gatebell.adapters.remote.http import Http

_FILE_SECONDS = 120.0


def attach(http: Http, name: str, content: bytes) -> Attachment:
    """Upload a file."""
    wanted = describe_bytes(content, name)
    path = f"/api/attachments?name={quote(wanted.name)}"
    found: Any = http.send("POST", path, content, seconds=_FILE_SECONDS)
    if not isinstance(found, dict) or found.get("digest") != wanted.digest:
        raise ServerError(f"the server {http.server} did not keep {wanted.name!r}: try again")
    return wanted


def read_attachment(http: Http, ask_id: str, attachment: Attachment) -> bytes:
    """Download a file; other bytes than those of its digest are refused."""
    path = f"/api/asks/{quote(ask_id)}/attachments/{quote(attachment.digest)}"
    content = http.send("GET", path, seconds=_FILE_SECONDS, is_raw=True)
    if not isinstance(content, bytes) or hash_bytes(content) != attachment.digest:
        raise ServerError(f"the server {http.server} sent other bytes than {attachment.name!r}")
    return content
