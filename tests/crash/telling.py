"""What a long run has to tell besides that it passed."""

from __future__ import annotations


def tell(capsys, text: str) -> None:
    """Print past pytest's capture: figures are wanted from runs that pass, too."""
    with capsys.disabled():
        print(f"\n  {text}", end="")
