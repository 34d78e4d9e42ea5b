"""Command lines: gated ones in many spellings, and ordinary ones. `⏎` is a line end."""

from __future__ import annotations

from pathlib import Path


def read_lines(name):
    """Return the lines of a list by their heading."""
    found = {}
    for line in (Path(__file__).parent / f"{name}.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("# "):
            found[line[2:]] = []
        elif line:
            found[list(found)[-1]].append(line.replace("⏎", "\n"))
    return found
