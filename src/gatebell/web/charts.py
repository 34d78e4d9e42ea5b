"""Small charts drawn on the server, each with the same numbers as a table."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from markupsafe import Markup

from gatebell.domain.text.display import inert_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

# As wide as the narrowest phone, so that text is not scaled down.
_WIDTH = 320
_ROW = 38
_MAX_BARS = 40
_LABEL_COLUMNS = 32
_LEFT, _TOP, _BOTTOM, _HEIGHT = 44, 12, 24, 180
_LETTERS = 13


def bars(rows: Sequence[tuple[str, float]], title: str, unit: str) -> Markup:
    """Draw one bar per row, with its label above it and its number at its end."""
    if not rows:
        return _figure(title, _nothing(), Markup())
    longest = max(rows, key=lambda row: row[1])
    told = f"{len(rows)} bars; the longest: {longest[0]}, {_number(longest[1])} {unit}"
    shown = rows[:_MAX_BARS]
    drawn = Markup().join(_bar(place, row, longest[1]) for place, row in enumerate(shown))
    picture = _picture(title, told, _ROW * len(shown), drawn)
    if len(rows) > len(shown):
        picture += Markup("<p>… {} more in the table</p>").format(len(rows) - len(shown))
    return _figure(title, picture, _table(rows, unit))


def over_time(points: Sequence[tuple[str, float | None]], title: str, unit: str) -> Markup:
    """Draw a line through the points, broken where there is no number."""
    known = [(label, number) for label, number in points if number is not None]
    if not known:
        return _figure(title, _nothing(), Markup())
    top = max(number for _, number in known)
    lowest = min(number for _, number in known)
    told = (
        f"From {points[0][0]} to {points[-1][0]}; lowest {_number(lowest)}, highest {_number(top)}, "
        f"last {_number(known[-1][1])} {unit}"
    )
    picture = _picture(title, told, _HEIGHT, _axes(points, top) + _line(points, top))
    return _figure(title, picture, _table(points, unit))


def _bar(place: int, row: tuple[str, float], longest: float) -> Markup:
    label, number = row
    share = max(0.0, number) / longest if longest > 0 else 0.0
    # Leave room for the number behind the longest bar.
    width = round(share * (_WIDTH - 70), 1)
    y = place * _ROW
    return Markup('{}<rect class="bar" x="0" y="{}" width="{}" height="14"/>{}\n').format(
        _text("label", 0, y + 14, "start", inert_line(label, _LABEL_COLUMNS)),
        y + 19,
        width,
        _text("number", width + 5, y + 31, "start", _number(number)),
    )


def _axes(points: Sequence[tuple[str, float | None]], top: float) -> Markup:
    floor, right = _HEIGHT - _BOTTOM, _WIDTH - 8
    axis = Markup('<line class="axis" x1="{}" y1="{}" x2="{}" y2="{}"/>')
    first, last = (inert_line(points[place][0], 16) for place in (0, -1))
    return Markup().join(
        (
            axis.format(_LEFT, floor, right, floor),
            axis.format(_LEFT, _TOP, _LEFT, floor),
            _text("number", _LEFT - 5, floor + 4, "end", "0"),
            _text("number", _LEFT - 5, _TOP + 5, "end", _number(top)) if top > 0 else Markup(),
            _text("label", _LEFT, _HEIGHT - 6, "start", first),
            _text("label", right, _HEIGHT - 6, "end", last) if len(points) > 1 else Markup(),
            Markup("\n"),
        )
    )


def _line(points: Sequence[tuple[str, float | None]], top: float) -> Markup:
    floor, right = _HEIGHT - _BOTTOM, _WIDTH - 8
    step = (right - _LEFT) / max(1, len(points) - 1)
    placed = [
        (round(_LEFT + place * step, 1), _height(number, top, floor))
        for place, (_, number) in enumerate(points)
    ]
    drawn = Markup()
    for is_known, run in groupby(placed, key=lambda one: one[1] is not None):
        if is_known:
            drawn += _run(list(run))
    return drawn


def _height(number: float | None, top: float, floor: int) -> float | None:
    if number is None:
        return None
    share = max(0.0, number) / top if top > 0 else 0.0
    return round(floor - share * (floor - _TOP), 1)


def _run(placed: list[tuple[float, float | None]]) -> Markup:
    corners = " ".join(f"{x},{y}" for x, y in placed)
    dots = (Markup('<circle class="dot" cx="{}" cy="{}" r="3"/>').format(*one) for one in placed)
    return Markup('<polyline class="line" fill="none" points="{}"/>{}\n').format(
        corners, Markup().join(dots)
    )


def _text(kind: str, x: float, y: float, anchor: str, words: str) -> Markup:
    return Markup(
        '<text class="{}" x="{}" y="{}" font-size="{}" text-anchor="{}">{}</text>'
    ).format(kind, x, y, _LETTERS, anchor, words)


def _number(number: float) -> str:
    return f"{number:,.1f}".removesuffix(".0")


def _picture(title: str, told: str, height: int, drawn: Markup) -> Markup:
    return Markup(
        '<svg role="img" viewBox="0 0 {} {}"><title>{}</title><desc>{}</desc>\n{}</svg>\n'
    ).format(_WIDTH, height, inert_line(title), inert_line(told), drawn)


def _nothing() -> Markup:
    return Markup("<p>There is nothing to show yet.</p>\n")


def _table(rows: Iterable[tuple[str, float | None]], unit: str) -> Markup:
    lines = (
        Markup('<tr><th scope="row">{}</th><td class="num">{}</td></tr>\n').format(
            inert_line(label), "none" if number is None else _number(number)
        )
        for label, number in rows
    )
    return Markup(
        '<details><summary>The numbers</summary>\n<table><thead><tr><th scope="col">of</th>'
        '<th scope="col">{}</th></tr></thead>\n<tbody>{}</tbody></table></details>\n'
    ).format(inert_line(unit), Markup().join(lines))


def _figure(title: str, picture: Markup, table: Markup) -> Markup:
    return Markup('<figure class="chart"><figcaption>{}</figcaption>\n{}{}</figure>\n').format(
        inert_line(title), picture, table
    )
