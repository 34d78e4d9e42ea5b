"""Figures that a long run prints although it passed."""

from __future__ import annotations


def tell(capsys, text: str) -> None:
    """Print past pytest's capture, for passed tests too."""
    with capsys.disabled():
        print(f"\n  {text}", end="")
