"""A figure, its limit, and how both are written down."""

from __future__ import annotations

from typing import NamedTuple


class Figure(NamedTuple):
    """One measured number, and the most it may be."""

    what: str
    measured: float
    unit: str
    limit: float | None = None
    """None: told for information only."""
    detail: str = ""

    @property
    def over(self) -> bool:
        return self.limit is not None and self.measured > self.limit

    @property
    def cells(self) -> tuple[str, ...]:
        limit = "" if self.limit is None else f"{_number(self.limit)} {self.unit}"
        verdict = "" if self.limit is None else "OVER" if self.over else "ok"
        return self.what, f"{_number(self.measured)} {self.unit}", limit, verdict, self.detail


HEADINGS = ("what", "measured", "limit", "verdict", "detail")


def _number(value: float) -> str:
    return f"{value:.0f}" if value == int(value) or abs(value) >= 100 else f"{value:.2f}"


def table(figures: list[Figure]) -> list[str]:
    """The figures as a table that reads well both as text and as Markdown."""
    rows = [HEADINGS, *(figure.cells for figure in figures)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEADINGS))]
    lines = ["| " + " | ".join(map(str.ljust, row, widths)) + " |" for row in rows]
    return [lines[0], "|" + "|".join("-" * (width + 2) for width in widths) + "|", *lines[1:]]
