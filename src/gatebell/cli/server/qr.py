"""QR codes in the terminal, drawn only if a phone can use them."""

from __future__ import annotations

import io
import os
import sys
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from gatebell.app import wiring
from gatebell.errors import GateError, UsageError

if TYPE_CHECKING:
    from gatebell.ports.phone import Look

_LOOK_SECONDS = 5.0
# White on black, whatever the colours of the terminal are: scanners need that contrast.
_BEGIN, _END = "\x1b[38;5;231;48;5;16m", "\x1b[0m"
LINK_LENGTH = len("/link/") + 64


def check_drawing(url: str, *, personal: bool) -> None:
    """Refuse a code for an address that no phone reaches, or that does not fit the terminal."""
    if not personal:
        raise UsageError(
            f"a phone cannot reach {url}, so there is no QR code. gate setup makes an address for "
            "your phone (docs/phone.md)"
        )
    _build_lines(url + "x" * LINK_LENGTH)


def look_at(link: str) -> Look:
    """Open the link from here; refuse to draw it if another server answers."""
    seen = wiring.probe().look(link, _LOOK_SECONDS)
    if seen.problem and seen.answered:
        address = f"{urlsplit(link).scheme}://{urlsplit(link).netloc}"
        raise GateError(f"{address}: {seen.problem}. docs/phone.md says what to check")
    return seen


def draw(text: str) -> None:
    """Print a QR code."""
    coloured = sys.stdout.isatty() and os.environ.get("TERM") != "dumb"
    for line in _build_lines(text):
        print(f"{_BEGIN}{line}{_END}" if coloured else line)


def _build_lines(text: str) -> list[str]:
    # Imported here: only QR codes need it.
    import segno

    out = io.StringIO()
    # Low redundancy: a screen is clean, and a smaller code fits more terminals.
    segno.make(text, error="l", boost_error=False, micro=False).terminal(
        out, compact=True, border=2
    )
    lines = out.getvalue().splitlines()
    if sys.stdout.isatty() and (has := os.get_terminal_size(1).columns) < len(lines[0]):
        raise UsageError(
            f"the QR code needs {len(lines[0])} columns, and this terminal has {has}: make it "
            "wider, or open the link without --qr"
        )
    return lines
