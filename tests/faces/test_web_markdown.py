"""Markdown in the browser: readable, harmless, and with nothing hidden."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from markupsafe import Markup
from tests.support.markup import read, text_of
from tests.support.payloads import PAYLOADS

from gatebell.domain.text.display import inert
from gatebell.web import markdown
from gatebell.web.markdown import render


def links(html):
    return [attributes["href"] for tag, attributes in read(html).elements if tag == "a"]


@pytest.mark.proves("WEB-60")
def test_common_markdown_is_formatted():
    html = render(
        "# One\n\n## Two\n\n##### Five\n\n*a* **b** ~~c~~ `d`\ne\n\n3. x\n\n|h|\n|-|\n|i|\n"
    )
    for part in (
        *("<h3>One</h3>", "<h4>Two</h4>", "<h6>Five</h6>", "<em>a</em>", "<strong>b</strong>"),
        *("<s>c</s>", "<code>d</code><br>", '<ol start="3">', "<th>h</th>", "<td>i</td>"),
    ):
        assert part in html
    assert '<p class="language">sh</p><pre><code>ls &lt;x\n</code></pre>' in render(
        "```sh\nls <x\n```"
    )


@pytest.mark.proves("WEB-60")
def test_fenced_diff_becomes_the_view_of_a_diff():
    html = render("```diff\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n```")
    assert '<table class="diff">' in html and '<td class="sign">+</td>' in html


@pytest.mark.proves("WEB-61")
def test_no_payload_leaves_more_than_the_allowed_elements():
    assert len(PAYLOADS) >= 300
    for payload in PAYLOADS:
        reader = read(render(payload))
        assert reader.faults == [], payload
        shown = "".join(reader.text)
        assert inert(shown) == shown, payload


@pytest.mark.proves("WEB-61")
def test_image_is_its_words_and_its_address():
    html = render("![a cat](https://evil.example/x.png 'really')")
    assert text_of(html).strip() == "[image: a cat https://evil.example/x.png “really”]"
    assert read(html).elements == [("p", {})]


@pytest.mark.proves("WEB-62")
@pytest.mark.parametrize(
    ("typed", "shown", "goes_to"),
    [
        ("<https://a.example/x>", "https://a.example/x", "https://a.example/x"),
        ("[docs](https://a.example/x)", "docs [a.example]", "https://a.example/x"),
        ("[https://good](https://evil)", "https://good [evil]", "https://evil"),
        ("[](https://a.example/x)", " [https://a.example/x]", "https://a.example/x"),
        ("<https://раypal.com>", "https://раypal.com [xn--ypal-43d9g.com]", "https://xn--ypal-43d9g.com"),
        ("[x](https://a 'words')", "x [a “words”]", "https://a"),
        ("[https://a](https://a 'words')", "https://a [a “words”]", "https://a"),
        ("<http://127.0.0.1:8080/x>", "http://127.0.0.1:8080/x", "http://127.0.0.1:8080/x"),
        ("[x](http://[::1]/y)", "x [[::1]]", "http://[::1]/y"),
        ("<a@b.example>", "a@b.example", "mailto:a@b.example"),
        ("[a@b.example](mailto:c@d.example)", "a@b.example [c@d.example]", "mailto:c@d.example"),
    ],
)  # fmt: skip
def test_link_says_where_it_goes(typed, shown, goes_to):
    html = render(typed)
    assert text_of(html).strip("\n") == shown and links(html) == [goes_to]
    assert 'rel="noopener noreferrer nofollow"' in html and 'target="_blank"' in html


@pytest.mark.proves("WEB-62")
@pytest.mark.parametrize(
    "address",
    [
        *("javascript:x", "data:text/html,x", "ftp://a.example", "/logout", "#x", "//a.example"),
        *("https://good@evil", "https:evil", "file:///x", "https://", "mailto:x", "tel:1"),
        *("https://2130706433", "http://0x7f.1", "http://0177.0.0.1", "http://1.2.3", "http://a.1"),
    ],
)
def test_address_that_is_not_plain_stays_as_typed(address):
    assert text_of(render(f"[x]({address})")).strip() == f"[x]({address})"
    assert links(render(f"[x]({address}) <{address}>")) == []


@pytest.mark.proves("WEB-63")
@pytest.mark.parametrize(
    "typed",
    [
        *("> " * 30 + "words", "> - " * 30 + "words", "- " * 30 + "words", "|a|\n|-|\n|b|words|\n"),
        *("[//]: # (words)", "<!-- words -->", "[x](https://a 'words')", "```sh words\nls\n```"),
        *(
            "[words]: https://a.example",
            "*" * 200 + "words" + "*" * 200,
            "> |a|\n> |-|\n> |b|words|",
        ),
    ],
)
def test_markdown_hides_no_words(typed):
    assert "words" in text_of(render(typed))


@pytest.mark.proves("WEB-63")
def test_entity_cannot_hide_a_control_character():
    assert text_of(render("&#8238;a&#x200b;b \u202e")).strip() == "‹U+202E›a‹U+200B›b ‹U+202E›"


@pytest.mark.proves("WEB-63")
def test_long_text_is_cut_and_counts_the_rest():
    html = render("a" * (markdown.MAX_CHARACTERS + 1_234))
    assert text_of(html).endswith("… 1,234 more characters are not shown")
    assert "a" * markdown.MAX_CHARACTERS in html and "a" * (markdown.MAX_CHARACTERS + 1) not in html
    assert 'class="cut"' not in render("a" * markdown.MAX_CHARACTERS)


# In a separate process, because measuring coverage makes it many times slower.
MEASURE = """
import json, sys, time
from gatebell.web.markdown import MAX_CHARACTERS, render
seconds = {}
for piece in json.loads(sys.argv[1]):
    text = (piece * 50_000)[:MAX_CHARACTERS]
    started = time.process_time()
    render(text)
    seconds[piece] = time.process_time() - started
print(json.dumps(seconds))
"""


@pytest.mark.proves("WEB-64")
@pytest.mark.parametrize(
    "pieces",
    [
        ("[", "*", ">", "`", "- ", "[a](", "*a_b", "][", "> a\n", "a|b\n-|-\n"),
        pytest.param(
            ("> ", "1. ", "![", "<", "&", "~", "a**b", "a\n", "- a\n", "# a\n", "-\n", "[a\n", "|a",
             "\u202e", "_a *b "),
            marks=pytest.mark.matrix,
        ),
    ],
    ids=["usual", "more"],
)  # fmt: skip
def test_no_text_takes_long(pieces):
    ran = subprocess.run(
        [sys.executable, "-c", MEASURE, json.dumps(pieces)],
        check=True, capture_output=True, encoding="utf-8", timeout=120,
    )  # fmt: skip
    slow = {piece: took for piece, took in json.loads(ran.stdout).items() if took > 2.5}
    assert slow == {}


@pytest.mark.proves("WEB-64")
@pytest.mark.parametrize("piece", ["[", "*", ">", "`", "- ", "> - ", "|a", "\u202e", "*a_b", "a\n"])
def test_text_of_one_piece_stays_harmless(piece):
    assert read(render(piece * 3_000)).faults == []


@pytest.mark.proves("WEB-64")
def test_text_too_complex_for_markdown_is_shown_as_typed(monkeypatch):
    monkeypatch.setattr(markdown, "_MAX_STEPS", 100)
    typed = "- *a* <b>\n" * 100
    assert render(typed) == Markup('<pre class="plain">{}</pre>').format(typed)
    assert "<em>" in render("- *a* <b>\n")


@pytest.mark.proves("WEB-64")
def test_no_page_gets_deeper_than_a_browser_goes():
    assert render("*" * 400 + "a" + "*" * 400).startswith('<pre class="plain">')
    assert render("*" * 20 + "a" + "*" * 20).startswith("<p><strong><strong>")


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("see https://a.example/x?y=1.", "https://a.example/x?y=1"),
        ("(http://127.0.0.1:80/)", "http://127.0.0.1:80/"),
        ("**https://a.example/b**", "https://a.example/b"),
    ],
)
@pytest.mark.proves("WEB-102", "WEB-62")
def test_address_in_text_is_a_link_that_shows_it(text, address):
    for html in (render(text), markdown.link_addresses(text)):
        assert links(html) == [address] and f">{address}</a>" in html
        assert 'rel="noopener noreferrer nofollow"' in html and 'target="_blank"' in html


@pytest.mark.parametrize(
    "text",
    [
        *("https://good.example@evil.example/", "ahttps://a.example", "javascript://a.example"),
        *("https://\u0430.example", "https://1", "`https://a.example`"),
    ],
)
@pytest.mark.proves("WEB-102", "WEB-61")
def test_ambiguous_address_is_only_text(text):
    assert links(render(text)) == []


@pytest.mark.proves("WEB-102", "WEB-62")
def test_address_inside_a_link_adds_nothing():
    html = render("[https://good.example](https://evil.example/)")
    assert links(html) == ["https://evil.example/"] and "evil.example" in text_of(html)
