"""One canonical form for JSON, and every digest made of it."""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gatebell.domain.audit.events import Event

GENESIS = "0" * 64

_encode = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
).encode


def canonical(value: Any) -> str:
    """The one JSON text of a value: sorted keys, no blanks, no NaN."""
    return _encode(value)


def digest(value: Any) -> str:
    """SHA-256 over the canonical form. Lone surrogates are digested as they are."""
    return text_digest(canonical(value))


def text_digest(text: str) -> str:
    found: str = _sha256()(text.encode("utf-8", "surrogatepass")).hexdigest()
    return found


@cache
def _sha256() -> Any:
    """Python's own SHA-256: `hashlib` loads OpenSSL, which takes longer than most commands digest."""
    # Imported here and below: reading the inbox needs no digest.
    try:
        from _sha2 import sha256  # type: ignore[import-not-found,unused-ignore]  # since Python 3.12
    except ImportError:
        try:
            from _sha256 import sha256  # type: ignore[import-not-found,unused-ignore]  # before
        except ImportError:
            from hashlib import sha256
    return sha256


def keyed_digest(value: Any, key: bytes) -> str:
    """A digest that cannot be guessed at without the key, which nobody keeps."""
    import hashlib

    text = canonical(value).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(text, key=key, digest_size=32).hexdigest()


def token_digest(token: str) -> str:
    """What the store keeps of a token. Tokens carry 256 random bits, so no salt is needed."""
    return text_digest(token)


def link(previous: str, seq: int, at: str, event: Event, content: str) -> str:
    """The hash that ties an event to all before it.

    Covers the digest of the content, not the content, so that content can be erased
    and the chain still verifies.
    """
    parts = [previous, seq, at, event.kind, event.subject, event.actor, content]
    return digest(parts)
