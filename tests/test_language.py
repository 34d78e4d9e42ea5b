"""The limits of dialect words and bare participles, and the words of the glossary."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

from tests import language, retired_words
from tests.language import (
    ROOT,
    Count,
    count_files,
    count_page,
    count_pages,
    count_source,
    is_bare_participle,
)
from tests.retired_words import Retired

# The most dialect words per 1,000, and the most functions named by a bare participle in per cent.
LIMITS = {"src": (2.0, 1.0), "tests": (2.0, 1.0), "bench": (2.0, 1.0)}
# The same for the prose of each page.
PAGE_LIMIT = 2.0
PAGES = count_pages()
PLAIN = '''"""Asks and their answers."""


def build_ask():
    """Return an ask. The caller stores it."""
'''


@cache
def figures(place):
    return sum(count_files(place).values(), Count())


@pytest.mark.proves("LANG-1")
@pytest.mark.parametrize("place", LIMITS)
def test_dialect_words_stay_below_the_limit(place):
    assert figures(place).words > 1000
    assert figures(place).dialect_per_thousand <= LIMITS[place][0]


@pytest.mark.proves("LANG-5")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: Path(page).stem)
def test_dialect_words_of_a_page_stay_below_the_limit(page):
    count = PAGES[page]
    assert count.words > 100
    assert count.dialect_per_thousand <= PAGE_LIMIT


@pytest.mark.proves("LANG-5")
def test_dialect_is_counted_in_prose_of_pages():
    page = "# What is it?\n\nIt is\ntold.\n\n| nobody | `road` |\n\n  ```sh\n  whoever\n  ```\n"
    assert count_page(page) == Count(words=7, dialect=3)


@pytest.mark.proves("LANG-2")
@pytest.mark.parametrize("place", LIMITS)
def test_bare_participles_stay_below_the_limit(place):
    assert figures(place).functions > 100
    assert figures(place).participle_percent <= LIMITS[place][1]


@pytest.mark.proves("LANG-1")
@pytest.mark.parametrize(
    "text",
    ["Whoever asks.", "somebody", "It stands there.", "She is told.", "What it says counts.",
     "This is no road.", "all that waits", "store trouble", "made anew", "Meanwhile it waits."],
)  # fmt: skip
def test_dialect_is_counted_in_docstrings_and_comments(text):
    as_docstring, as_comment = count_source(f'"""{text}"""'), count_source(f"# {text}\nx = 1")
    assert as_docstring.dialect == as_comment.dialect >= 1
    assert count_source(f"x = '{text}'").words == 0


@pytest.mark.proves("LANG-1")
def test_dialect_across_two_lines_is_counted():
    assert count_source("# It is\n# told.\n\nx = 1  # is\n\n# told").dialect == 1
    assert count_source('"""It is\n\n   told."""').dialect == 1
    assert count_source('class A:\n    b: int\n    """What is kept."""\n').dialect == 1


@pytest.mark.proves("LANG-1", "LANG-2")
def test_plain_source_counts_nothing():
    assert count_source(PLAIN) == Count(words=11, dialect=0, functions=1)


@pytest.mark.proves("LANG-2")
def test_bare_participles_are_distinguished_from_verbs():
    bare = ("told", "_kept", "__made__", "settled", "gone")
    verbs = ("tell", "settled_asks", "is_settled", "edit", "held_calls", "read")
    assert all(map(is_bare_participle, bare)) and not any(map(is_bare_participle, verbs))
    source = "async def told(): ...\nclass A:\n    def _made(self): ...\n    def make(self): ..."
    assert count_source(source).participles == ("told", "_made")


@pytest.mark.proves("LANG-1", "LANG-2")
def test_figures_and_worst_files_are_printed(capsys):
    assert language.main(["docs"]) == 0
    said = capsys.readouterr().out
    assert "docs: " in said and " per 1,000 of " in said and " bare participles, " in said
    assert "docs/reference.py" in said


@pytest.mark.proves("LANG-3")
def test_retired_words_stay_below_their_ceilings():
    whole = "\n".join(retired_words.read_project().values())
    counts = {word: word.count(whole) for word in retired_words.read_list()}
    over = [
        (*word.words, number, word.instead)
        for word, number in counts.items()
        if number > word.ceiling
    ]
    assert over == []


@pytest.mark.proves("LANG-3")
def test_retired_words_are_found_inside_of_names():
    route = Retired(("road", "roads"), "route", 0)
    assert route.count("the road, Roads, parse_road, ROADS and High_Road") == 5
    assert route.count("roadmap, broad, abroad") == 0


@pytest.mark.proves("LANG-3")
@pytest.mark.parametrize(
    "text", ["letters and digits", "Letters, digits and .", "the user nobody", "the user `nobody`"]
)
def test_ordinary_uses_are_allowed(text):
    assert sum(word.count(text) for word in retired_words.read_list()) == 0


@pytest.mark.proves("LANG-3")
def test_every_retired_word_has_a_replacement():
    listed = retired_words.read_list()
    words = [one for word in listed for one in word.words]
    assert len(words) == len(set(words)) and all(word.instead for word in listed)
    assert sum(word.ceiling == 0 for word in listed) > 5
    lines = retired_words.LIST.read_text(encoding="utf-8").splitlines()
    assert [str(word) for word in listed] == [one for one in lines if one and one[0] != "#"]


@pytest.mark.proves("LANG-3")
def test_ceilings_are_lowered_and_never_raised(tmp_path, monkeypatch):
    copy = tmp_path / "words.txt"
    copy.write_text("# A list.\nroad | route | 9 |\ncrew | people | 0 |\n")
    monkeypatch.setattr(retired_words, "LIST", copy)
    retired_words.lower_ceilings("A road, a crew.")
    assert copy.read_text() == "# A list.\nroad | route | 1 |\ncrew | people | 0 |\n"


@pytest.mark.proves("LANG-4")
def test_glossary_has_one_line_for_each_word():
    page = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    lines = [line for line in page.splitlines() if line.startswith("- ")]
    words = [re.fullmatch(r"- \*\*([a-z ]+)\*\*: .+[.…]", line)[1] for line in lines]
    assert words == sorted(set(words)) and len(words) > 60
    assert page.rstrip().splitlines()[-len(lines) :] == lines
    retired = {one for word in retired_words.read_list() for one in word.words}
    assert not retired & set(words)


@pytest.mark.proves("LANG-4")
def test_words_of_the_glossary_are_used():
    page = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    others = {
        name: text for name, text in retired_words.read_project().items() if "glossary" not in name
    }
    whole = " ".join(others.values()).lower()
    unused = [
        word
        for word in re.findall(r"^- \*\*(.+?)\*\*", page, re.MULTILINE)
        if not re.search(rf"(?<![a-z]){word.replace(' ', '.')}", whole)
    ]
    assert unused == []
