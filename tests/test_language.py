"""The limits of dialect words and bare participles, and the words of the glossary."""

from __future__ import annotations

from functools import cache

import pytest

from tests import language
from tests.language import Count, count_files, count_source, is_bare_participle

# (dialect words per 1,000, functions named by a bare participle in per cent) as counted when this
# test was written. Lower them as the figures fall; the target is (2, 1).
CEILINGS = {"src": (28.5, 7.4), "tests": (24.0, 3.6), "bench": (18.5, 7.5)}
PLAIN = '''"""Asks and their answers."""


def build_ask():
    """Return an ask. The caller stores it."""
'''


@cache
def figures(place):
    return sum(count_files(place).values(), Count())


@pytest.mark.proves("LANG-1")
@pytest.mark.parametrize("place", CEILINGS)
def test_dialect_words_stay_below_the_ceiling(place):
    assert figures(place).words > 1000
    assert figures(place).dialect_per_thousand <= CEILINGS[place][0]


@pytest.mark.proves("LANG-2")
@pytest.mark.parametrize("place", CEILINGS)
def test_bare_participles_stay_below_the_ceiling(place):
    assert figures(place).functions > 100
    assert figures(place).participle_percent <= CEILINGS[place][1]


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
def test_bare_participles_are_told_from_verbs():
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
