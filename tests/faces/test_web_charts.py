"""Charts in the browser: drawn without a script, and also written as numbers."""

from __future__ import annotations

import pytest
from tests.support.markup import PICTURES, WORDS, read, text_of
from tests.support.payloads import PAYLOADS

from gatebell.domain.text.display import inert
from gatebell.web.charts import bars, over_time


def elements(html, tag):
    return [found for name, found in read(html, WORDS | PICTURES).elements if name == tag]


def table(html):
    """Return the rows of the table: label and number."""
    rows = str(html).split("<tbody>")[1].split("</tr>")[:-1]
    return [
        tuple(text_of(cell.split(">", 1)[1]) for cell in row.replace("<td", "<th").split("<th")[1:])
        for row in rows
    ]


@pytest.mark.proves("WEB-74")
def test_bars_are_as_long_as_their_numbers():
    html = bars([("gatebell", 10), ("other", 5), ("none", 0), ("odd", -3)], "Waiting now", "asks")
    widths = [float(one["width"]) for one in elements(html, "rect")]
    assert widths == [250.0, 125.0, 0.0, 0.0]
    assert table(html) == [("gatebell", "10"), ("other", "5"), ("none", "0"), ("odd", "-3")]
    picture = elements(html, "svg")[0]
    assert picture["role"] == "img" and picture["viewbox"] == "0 0 320 152"
    assert "<title>Waiting now</title><desc>4 bars; the longest: gatebell, 10 asks</desc>" in html
    assert {float(one["width"]) for one in elements(bars([("a", 0)], "t", "u"), "rect")} == {0.0}


@pytest.mark.proves("WEB-74")
def test_line_is_broken_where_nothing_is_known():
    points = [("Mon", 0), ("Tue", 60), ("Wed", None), ("Thu", 30.25)]
    html = over_time(points, "Time to answer", "minutes")
    assert [one["points"] for one in elements(html, "polyline")] == [
        "44.0,156.0 133.3,12.0", "312.0,83.4",
    ]  # fmt: skip
    assert len(elements(html, "circle")) == 3
    assert table(html) == [("Mon", "0"), ("Tue", "60"), ("Wed", "none"), ("Thu", "30.2")]
    assert "From Mon to Thu; lowest 0, highest 60, last 30.2 minutes" in html


@pytest.mark.proves("WEB-74")
def test_one_point_and_nothing_but_zeros_are_drawn():
    assert len(elements(over_time([("Mon", 5)], "t", "u"), "circle")) == 1
    html = over_time([("Mon", 0), ("Tue", 0)], "t", "u")
    assert [one["cy"] for one in elements(html, "circle")] == ["156.0", "156.0"]


@pytest.mark.proves("WEB-74")
@pytest.mark.parametrize("html", [bars([], "Waiting", "asks"), over_time([], "Waiting", "asks"),
                                  over_time([("Mon", None)], "Waiting", "asks")])  # fmt: skip
def test_missing_numbers_are_explained_in_words(html):
    assert "There is nothing to show yet." in html and "<svg" not in html and "Waiting" in html


@pytest.mark.proves("WEB-74")
def test_many_bars_are_in_the_table():
    html = bars([(f"p{number}", number) for number in range(100)], "t", "u")
    assert len(elements(html, "rect")) == 40 and "… 60 more in the table" in html
    assert len(table(html)) == 100


@pytest.mark.proves("WEB-61")
def test_no_payload_gets_out_of_a_chart():
    for payload in PAYLOADS[::3]:
        for html in (
            bars([(payload, 1)], payload, payload),
            over_time([(payload, 1), (payload, 2)], payload, payload),
        ):
            reader = read(html, WORDS | PICTURES)
            shown = "".join(reader.text)
            assert reader.faults == [] and inert(shown) == shown, payload
