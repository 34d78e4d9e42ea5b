"""The canonical form of JSON, and the digests of it."""

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
    """Return the canonical JSON text of a value: sorted keys, no spaces, no NaN."""
    return _encode(value)


def digest(value: Any) -> str:
    """Return the SHA-256 of the canonical form. Lone surrogates are digested unchanged."""
    return text_digest(canonical(value))


def text_digest(text: str) -> str:
    found: str = _sha256()(text.encode("utf-8", "surrogatepass")).hexdigest()
    return found


@cache
def _sha256() -> Any:
    """Return Python's own SHA-256: `hashlib` loads OpenSSL, which is slow to load."""
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
    """Return a digest that cannot be guessed without the key, which is not kept."""
    import hashlib

    text = canonical(value).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(text, key=key, digest_size=32).hexdigest()


def token_digest(token: str) -> str:
    """Return the digest of a token for the store. Tokens have 256 random bits and need no salt."""
    return text_digest(token)


def link(previous: str, seq: int, at: str, event: Event, content: str) -> str:
    """Return the hash that links an event to all earlier events.

    It covers the digest of the content, not the content. So the content can be erased, and the
    chain can still be verified.
    """
    parts = [previous, seq, at, event.kind, event.subject, event.actor, content]
    return digest(parts)
