"""Seals of the rows that a transaction wrote: a digest, and a hint for each column.

Their comparison is in `trails.py`, so that writers load only this module.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gatebell.domain.digests import canonical, text_digest

if TYPE_CHECKING:
    from collections.abc import Sequence

_SHORT = 32


def seal(values: Sequence[Any]) -> str:
    """Return the seal of some columns of a row; empty without columns."""
    if not values:
        return ""
    return text_digest(canonical(list(values))) + "".join(map(hint, values))


def seal_shortly(values: Sequence[Any]) -> str:
    """Return a short seal of a row before the change, to compare with the last event."""
    return text_digest(canonical(list(values)))[:_SHORT]


def hint(value: Any) -> str:
    """Return four characters by which a changed column can be named."""
    # Imported here: commands that only read do not need it.
    from zlib import crc32

    return f"{crc32(canonical(value).encode('utf-8', 'surrogatepass')) & 0xFFFF:04x}"
