"""The content of an ask's page."""

from __future__ import annotations

import pytest
from tests.support.markup import text_of
from tests.support.web_inbox import inbox

__all__ = ["inbox"]


@pytest.mark.proves("WEB-64")
@pytest.mark.parametrize(
    ("context", "left"),
    [
        ("x " * 200_000, "200,000 more characters are not shown"),
        (["x"] * 200_000, "on one line this JSON has 1,000,000 characters"),
    ],
)
def test_long_context_is_shown_in_part_with_a_hint(inbox, context, left):
    asked = inbox.ask("Read this", context=context)
    page = inbox.client("read").get(f"/asks/{asked.id}").text
    shown = text_of(page)
    assert left in shown and len(shown) < 220_000
    assert f"All of it: gate show {asked.id} --all, or GET /api/asks/{asked.id}" in shown


@pytest.mark.proves("WEB-64")
def test_context_that_fits_is_shown_whole(inbox):
    asked = inbox.ask("Read this", context={"numbers": list(range(9_000)), "last": "words"})
    shown = text_of(inbox.client("read").get(f"/asks/{asked.id}").text)
    assert '"last": "words"' in shown and "not shown" not in shown


@pytest.mark.proves("TASK-282", "LAW-8")
def test_context_of_names_with_texts_is_shown_as_lines(inbox):
    asked = inbox.ask("Right?", context={"summary": "Did <b>it</b>", "details": "one\ntwo\x1b[2J"})
    page = inbox.client("read").get(f"/asks/{asked.id}").text
    shown = "summary: Did &lt;b&gt;it&lt;/b&gt;\ndetails:\none\ntwo␛[2J"
    assert f'<pre class="plain">{shown}</pre>' in page
    empty = inbox.ask("Empty?", context={"summary": ""})
    assert 'aria-label="Context"' not in inbox.client("read").get(f"/asks/{empty.id}").text
