"""A figure, its limit, and the table that shows both."""

from __future__ import annotations

from typing import NamedTuple


class Figure(NamedTuple):
    """One measured number, and its upper limit."""

    what: str
    measured: float
    unit: str
    limit: float | None = None
    """None: the figure is for information only."""
    detail: str = ""

    @property
    def over(self) -> bool:
        return self.limit is not None and self.measured > self.limit

    @property
    def cells(self) -> tuple[str, ...]:
        measured = f"{_number(self.measured)} {self.unit}".strip()
        if self.limit is None:
            return self.what, measured, "", "", self.detail
        limit = f"{self.limit:g} {self.unit}".strip()
        return self.what, measured, limit, "OVER" if self.over else "ok", self.detail


HEADINGS = ("what", "measured", "limit", "verdict", "detail")


def _number(value: float) -> str:
    return f"{value:.0f}" if isinstance(value, int) or value >= 100 else f"{value:.2f}"


def table(figures: list[Figure]) -> list[str]:
    """Return the figures as a table."""
    return align([HEADINGS, *(figure.cells for figure in figures)])


def align(rows: list[tuple[str, ...]]) -> list[str]:
    """Format rows, headings first, so that they read well both as text and as Markdown."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = ["| " + " | ".join(map(str.ljust, row, widths)) + " |" for row in rows]
    return [lines[0], "|" + "|".join("-" * (width + 2) for width in widths) + "|", *lines[1:]]
