"""What an event keeps of the rows that its transaction wrote: digests, and a hint for each column.

Apart from their comparison: whoever writes loads only this.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gatebell.domain.digests import canonical, text_digest

if TYPE_CHECKING:
    from collections.abc import Sequence

_SHORT = 32


def seal(values: Sequence[Any]) -> str:
    """What an event keeps of some columns of a row; nothing is kept of none."""
    if not values:
        return ""
    return text_digest(canonical(list(values))) + "".join(map(hint, values))


def seal_shortly(values: Sequence[Any]) -> str:
    """What an event keeps of how a row was before: it must be how the last event left it."""
    return text_digest(canonical(list(values)))[:_SHORT]


def hint(value: Any) -> str:
    """By this a changed column is named."""
    # Imported here: reading needs none of it.
    from zlib import crc32

    return f"{crc32(canonical(value).encode('utf-8', 'surrogatepass')) & 0xFFFF:04x}"
