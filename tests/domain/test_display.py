"""Untrusted text is inert when it is shown."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given, strategies as st

from gatebell.domain.text.display import (
    _width,
    age,
    cell,
    frame,
    inert,
    inert_line,
    plain,
    span,
    storable,
)
from gatebell.errors import UsageError


def harmless(text):
    return all(c == "\n" or c.isprintable() for c in text)


@pytest.mark.proves("LAW-8")
@given(st.text())
def test_whatever_comes_in_only_printable_text_comes_out(text):
    assert harmless(inert(text))
    assert "\n" not in inert_line(text)
    assert harmless(inert_line(text))


@pytest.mark.proves("LAW-8")
@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("plain", "plain"),
        ("\x1b[31mred", "␛[31mred"),
        ("a\rb", "a␍b"),
        ("a\r\nb", "a\nb"),
        ("\x9b31m", "‹U+009B›31m"),
        ("abc\u202edef", "abc‹U+202E›def"),
        ("zero\u200bwidth", "zero‹U+200B›width"),
        ("\U000e0041", "‹U+E0041›"),
        ("no\u00a0break", "no break"),
        ("\u3164", "‹U+3164›"),
        ("a\tb", "a   b"),
        ("e\u0301\u0301\u0301\u0301", "e\u0301\u0301\u0301‹U+0301›"),
        ("e\u0301\u0301\u0301x\u0301", "e\u0301\u0301\u0301x\u0301"),
        ("日本語 é", "日本語 é"),
        ("a b~", "a b~"),
        ("❤\ufe0f", "❤\ufe0f"),
        ("a\ufe0f\ufe0f", "a‹U+FE0F›‹U+FE0F›"),
        ("\U000e0100\u034f\u180b", "‹U+E0100›‹U+034F›‹U+180B›"),
        ("\x7f", "‹U+007F›"),
        ("\x1f", "␟"),
        ("e\u20dd\u20dd\u20dd\u20dd", "e\u20dd\u20dd\u20dd‹U+20DD›"),
        ("\u2800\uffa0\u115f\u1160", "‹U+2800›‹U+FFA0›‹U+115F›‹U+1160›"),
    ],
)
def test_hidden_characters_become_visible(raw, shown):
    assert inert(raw) == shown


@pytest.mark.proves("LAW-8")
@given(st.text(), st.integers(10, 60))
def test_every_line_stays_behind_its_bar(text, columns):
    for line in frame(text, columns):
        assert line.startswith("│ ")
        assert sum(map(_width, line)) <= columns


@pytest.mark.proves("LAW-8", "ASK-26")
def test_omitted_text_is_announced():
    text = "x" * 30 + "\n" + "y\n" * 3
    assert frame(text, 40, most=31)[-1] == "│ … 6 more characters on 4 lines"
    assert frame(text, 40, most=len(text)) == frame(text, 40)
    assert frame("ab", 80, bar="> ") == ["> ab"]
    assert frame("x" * 20, 3) == ["│ " + "x" * 8, "│ " + "x" * 8, "│ " + "x" * 4]


@pytest.mark.proves("LAW-8")
def test_one_line_is_cut_with_a_mark():
    assert inert_line(" hello \n world ", 40) == "hello  ⏎  world"
    assert inert_line("x" * 10, 10) == "x" * 10
    assert inert_line("x" * 11, 10) == "x" * 9 + "…"
    assert inert_line("日" * 6, 10) == "日" * 4 + "…"
    assert inert_line("\u0301" * 50, 10).endswith("…")
    assert inert_line("ab", 1) == "a…"
    assert inert_line(" x" * 10, 30) == "x" + " x" * 9
    assert inert_line("\u0301" * 19 + "x", 10).count("\u0301") == 3
    assert inert_line("x" + "\u0301" * 30, 10) != inert_line("x" + "\u0301" * 3, 10)


@pytest.mark.proves("LAW-8")
def test_wide_and_combining_characters_count_as_they_show():
    assert [_width(c) for c in ("a", "日", "\u0301", "é", "Ａ", "ｱ")] == [1, 2, 0, 1, 2, 1]
    assert unicodedata.combining("\u0301")


@pytest.mark.proves("LAW-6", "LAW-8")
def test_only_unstorable_characters_are_replaced():
    assert storable("plain") == "plain"
    assert storable("héllo\x1b\n") == "héllo\x1b\n"
    assert "\0" not in storable("a\0b") and storable("a\0b") == "a\ufffdb"
    assert storable("a\ud800b").startswith("a") and storable("\ud800").encode()


def test_ages_are_short():
    assert [age(s) for s in (-5, 0, 59.9, 60, 3599, 3600, 86399, 86400)] == [
        "0s",
        "0s",
        "59s",
        "1m",
        "59m",
        "1h",
        "23h",
        "1d",
    ]


@pytest.mark.proves("WEB-109")
def test_spans_have_their_two_largest_units():
    found = {0: "0 s", -9: "0 s", 59.9: "59 s", 61: "1 min 1 s", 3600: "1 h", 3605: "1 h"}
    found |= {7199: "1 h 59 min", 86400: "1 d", 90061: "1 d 1 h", 172_799: "1 d 23 h"}
    assert {seconds: span(seconds) for seconds in found} == found


@pytest.mark.proves("LAW-6", "ASK-5")
def test_only_json_that_every_store_can_hold_is_taken():
    assert plain({1: (1.5, None, True, "a\0")}) == {"1": [1.5, None, True, "a\ufffd"]}
    deep = []
    for _ in range(100):
        deep = [deep]
    assert plain(deep) == deep
    for wrong in ([deep], float("nan"), float("inf"), {"a": object()}, b"x"):
        with pytest.raises(UsageError):
            plain(wrong)


@pytest.mark.proves("LAW-8", "CLI-8")
@given(st.text(), st.integers(2, 30))
def test_cell_has_the_exact_width(text, columns):
    assert sum(map(_width, cell(text, columns))) == columns


@pytest.mark.proves("TASK-293")
def test_framed_text_breaks_between_words_where_it_can():
    text = "The quick brown fox jumps over\n    indented-without-a-single-blank and 界界界 more"
    assert frame(text, 18) == [
        "│ The quick brown ",
        "│ fox jumps over",
        "│     indented-wit",
        "│ hout-a-single-bl",
        "│ ank and 界界界 ",
        "│ more",
    ]


@pytest.mark.proves("TASK-293", "LAW-8")
@given(st.text("ab  -界\u0301\n"), st.integers(10, 30))
def test_folding_loses_nothing_and_fits(text, columns):
    lines = [line.removeprefix("│ ") for line in frame(text, columns)]
    assert "".join(lines) == inert(text).replace("\n", "")
    assert all(sum(map(_width, line)) <= columns - 2 for line in lines)
