"""A reader of HTML from untrusted text that reports forbidden parts."""

from __future__ import annotations

from html.parser import HTMLParser
from urllib.parse import urlsplit

WORDS = frozenset(
    [
        "p",
        "br",
        "hr",
        "h3",
        "h4",
        "h5",
        "h6",
        "blockquote",
        "ul",
        "ol",
        "li",
        "pre",
        "code",
        "em",
        "strong",
        "s",
        "a",
        "span",
        "table",
        "caption",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
        "section",
        "details",
        "summary",
    ]
)
FIELDS = frozenset(
    ["fieldset", "legend", "label", "input", "textarea", "select", "option", "button", "div"]
)
PICTURES = frozenset(
    [
        "figure",
        "figcaption",
        "svg",
        "title",
        "desc",
        "g",
        "rect",
        "line",
        "polyline",
        "circle",
        "text",
    ]
)
_ATTRIBUTES = frozenset(
    [
        "class",
        "data-moment",
        "href",
        "target",
        "rel",
        "start",
        "scope",
        "colspan",
        "aria-label",
        "aria-hidden",
        "aria-describedby",
        "aria-invalid",
        "aria-required",
        "aria-labelledby",
        "role",
        "id",
        "for",
        "name",
        "value",
        "type",
        "rows",
        "cols",
        "checked",
        "selected",
        "required",
        "autocomplete",
        "inputmode",
        "spellcheck",
        "formnovalidate",
        "step",
        "viewbox",
        "x",
        "y",
        "x1",
        "x2",
        "y1",
        "y2",
        "width",
        "height",
        "points",
        "cx",
        "cy",
        "r",
        "text-anchor",
        "fill",
        "font-size",
        "open",
    ]
)
_VOID = frozenset(("br", "hr", "input"))


class _Reader(HTMLParser):
    def __init__(self, allowed):
        super().__init__(convert_charrefs=True)
        self.allowed = allowed
        self.faults: list[str] = []
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.text: list[str] = []
        self._open: list[str] = []

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in self.allowed:
            self.faults.append(f"<{tag}>")
        for name, value in attrs:
            if name not in _ATTRIBUTES or name.startswith("on"):
                self.faults.append(f"{tag} {name}={value!r}")
            if name == "href" and urlsplit(value or "").scheme not in ("http", "https", "mailto"):
                self.faults.append(f"{tag} {name}={value!r}")
        if len({name for name, _ in attrs}) != len(attrs):
            self.faults.append(f"{tag} has an attribute twice")
        if tag not in _VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in _VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag):
        if not self._open or self._open.pop() != tag:
            self.faults.append(f"</{tag}> closes something else")

    def handle_comment(self, data):
        self.faults.append(f"<!--{data}-->")

    def handle_decl(self, decl):
        self.faults.append(f"<!{decl}>")

    def unknown_decl(self, data):
        self.faults.append(f"<![{data}]>")

    def handle_pi(self, data):
        self.faults.append(f"<?{data}>")

    def handle_data(self, data):
        self.text.append(data)


def read(html, allowed=WORDS):
    """Return the parsed HTML: its faults, its elements with attributes, its text."""
    reader = _Reader(allowed)
    reader.feed(str(html))
    reader.close()
    reader.faults += [f"<{tag}> stays open" for tag in reader._open]
    return reader


def text_of(html):
    return "".join(read(html, WORDS | FIELDS | PICTURES).text)
