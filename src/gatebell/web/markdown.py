"""Markdown as safe HTML: no image, no foreign markup, no disguised link, no hidden text."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

import nh3
from markdown_it import MarkdownIt
from markupsafe import Markup, escape

from gatebell.domain.text.display import inert
from gatebell.web.asks import diffs

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from markdown_it.rules_block import StateBlock
    from markdown_it.rules_inline import StateInline
    from markdown_it.token import Token
    from markdown_it.utils import EnvType

MAX_CHARACTERS = 200_000
# About half a second of parsing; a text of this length in ordinary prose takes a fifth of it.
_MAX_STEPS = 80_000
# The parser silently drops content that is nested deeper than this.
_DEEPEST = 20
_DEEPEST_EMPHASIS = 50

# No user name, no blanks, no number instead of a host: nothing that can be read in two ways.
_BYTE = r"(?:0|[1-9]\d{0,2})"
_HOST = rf"(?:[a-z0-9-]+\.)*[a-z][a-z0-9-]*|{_BYTE}(?:\.{_BYTE}){{3}}|\[[0-9a-f:.]+\]"
_WEB = re.compile(rf"https?://({_HOST})(:\d+)?([/?#][!-~]*)?", re.IGNORECASE)
_ADDRESS = re.compile(r"(?<![\w/@.-])https?://[!-~]+", re.IGNORECASE)
# Marks at the end of an address belong to the sentence.
_AFTER_ADDRESS = ".,;:!?)]}>'\"*_`"
_LINK = Markup('<a href="{}" target="_blank" rel="noopener noreferrer nofollow">{}</a>')
_IN_LINK = "in a link"
_MAIL = re.compile(r"mailto:[!-~]+@[a-z0-9.-]+(\?[!-~]*)?", re.IGNORECASE)

_TAGS = {
    *("p", "br", "hr", "h3", "h4", "h5", "h6", "blockquote", "ul", "ol", "li", "pre", "code"),
    *("em", "strong", "s", "a", "span", "table", "caption", "thead", "tbody", "tr", "th", "td"),
    *("section", "details", "summary"),
}
_CLASSED = ("p", "pre", "code", "span", "section", "table", "tr", "th", "td")
_ATTRIBUTES = {tag: {"class"} for tag in _CLASSED} | {
    "a": {"href"},
    "ol": {"start"},
    "th": {"class", "scope", "colspan"},
    "td": {"class", "colspan"},
    "section": {"class", "aria-label"},
}


class _TooIntricateError(Exception):
    """As Markdown, this text would take too long or lose words."""


def render(text: str) -> Markup:
    """Render the text as HTML; as plain text where Markdown would take too long or lose words."""
    words = inert(text[:MAX_CHARACTERS])
    try:
        made = _format(words)
    except _TooIntricateError:
        made = Markup('<pre class="plain">{}</pre>').format(words)
    if (left := len(text) - MAX_CHARACTERS) > 0:
        made += Markup('<p class="cut">… {:,} more characters are not shown</p>').format(left)
    return made


def _format(words: str) -> Markup:
    parser = _parser()
    tokens = parser.parse(words, {})
    _check_rows(tokens, words.split("\n"))
    if any(one.level > _DEEPEST_EMPHASIS for token in tokens for one in token.children or ()):
        raise _TooIntricateError
    _lower_headings(tokens)
    _mark_links(tokens)
    html = nh3.clean(
        parser.renderer.render(tokens, parser.options, {}),
        tags=_TAGS,
        attributes=_ATTRIBUTES,
        url_schemes={"http", "https", "mailto"},
        link_rel="noopener noreferrer nofollow",
        set_tag_attribute_values={"a": {"target": "_blank"}},
    )
    return Markup(html)  # noqa: S704 - nh3 has cleaned it


def _lower_headings(tokens: Sequence[Token]) -> None:
    """Begin with the third level: the page uses the first two itself."""
    headings = [token for token in tokens if token.type in ("heading_open", "heading_close")]
    first = min((int(token.tag[1]) for token in headings), default=1)
    for token in headings:
        token.tag = f"h{min(6, int(token.tag[1]) - first + 3)}"


def _mark_links(tokens: Sequence[Token]) -> None:
    """Mark the text of links: an address in it must not become a second link."""
    for token in tokens:
        inside = False
        for one in token.children or ():
            inside = one.type == "link_open" or (inside and one.type != "link_close")
            if inside:
                one.meta[_IN_LINK] = True


def _check_rows(tokens: Sequence[Token], lines: Sequence[str]) -> None:
    """Refuse a table row with more cells than columns: the cells would be lost."""
    row, cells = 0, ""
    for token in tokens:
        if token.type == "tr_open" and token.map:
            row, cells = token.map[0], ""
        elif token.type == "inline":
            cells += token.content
        elif token.type == "tr_close" and not _bare(lines[row]).endswith(_bare(cells)):
            raise _TooIntricateError


def _bare(cells: str) -> str:
    return re.sub(r"[|\\\s]", "", cells)


@cache
def _parser() -> MarkdownIt:
    # Line ends stay: agents write for terminals. Definitions of references are left as text,
    # because Markdown does not show them at all.
    options = {"html": False, "breaks": True, "maxNesting": _DEEPEST + 3}
    parser = _Parser("commonmark", options)
    parser.enable(["table", "strikethrough"]).disable("reference")
    chains = ["paragraph", "reference", "blockquote", "list"]
    parser.block.ruler.before("table", "bounded", _bounded_block, {"alt": chains})
    parser.inline.ruler.before("text", "bounded", _bounded_inline)
    for name, made in _MADE.items():
        parser.add_render_rule(name, _rule(made))
    return parser


def _rule(made: Callable[[Sequence[Token], int], str]) -> Callable[..., str]:
    return lambda _renderer, tokens, at, _options, _env: made(tokens, at)


def _bounded_block(state: StateBlock, _start: int, _end: int, _silent: bool) -> bool:
    if state.level >= _DEEPEST:
        raise _TooIntricateError
    return _count(state.env)


def _bounded_inline(state: StateInline, _silent: bool) -> bool:
    return _count(state.env)


def _count(env: EnvType) -> bool:
    """A rule that never matches, and is called at every step."""
    env["steps"] = env.get("steps", 0) + 1
    if env["steps"] > _MAX_STEPS:
        raise _TooIntricateError
    return False


class _Parser(MarkdownIt):
    def validateLink(self, url: str) -> bool:  # noqa: N802 - the parser's own name
        """Keep anything but a safe link as plain text."""
        return bool(_WEB.fullmatch(url) or _MAIL.fullmatch(url))


def _text(tokens: Sequence[Token], at: int) -> str:
    # Once more: an entity may have become an invisible character.
    text = inert(tokens[at].content)
    return escape(text) if _IN_LINK in tokens[at].meta else link_addresses(text)


def link_addresses(text: str) -> Markup:
    """Return a text in which each web address is a link; the link shows the whole address."""
    text, parts, end = inert(text), list[str](), 0
    for found in _ADDRESS.finditer(text):
        address = found[0].rstrip(_AFTER_ADDRESS)
        if _WEB.fullmatch(address):
            parts += [escape(text[end : found.start()]), _LINK.format(address, address)]
            end = found.start() + len(address)
    return Markup().join([*parts, escape(text[end:])])


def _image(tokens: Sequence[Token], at: int) -> str:
    token = tokens[at]
    return escape(inert(f"[image: {token.content} {token.attrs['src']}{_title(token)}]"))


def _fence(tokens: Sequence[Token], at: int) -> str:
    language, content = tokens[at].info.strip(), tokens[at].content
    if language == "diff":
        return diffs.render(content)
    named = Markup('<p class="language">{}</p>').format(language) if language else ""
    return named + Markup("<pre><code>{}</code></pre>\n").format(content)


def _heading_open(tokens: Sequence[Token], at: int) -> str:
    return f"<{tokens[at].tag}>"


def _heading_close(tokens: Sequence[Token], at: int) -> str:
    return f"</{tokens[at].tag}>\n"


def _link_open(tokens: Sequence[Token], at: int) -> str:
    return Markup('<a href="{}">').format(tokens[at].attrs["href"])


def _link_close(tokens: Sequence[Token], at: int) -> str:
    """Show the target of the link, unless its text is exactly that."""
    start = at - 1
    while tokens[start].type != "link_open":
        start -= 1
    words = "".join(token.content for token in tokens[start + 1 : at])
    href, title = str(tokens[start].attrs["href"]), _title(tokens[start])
    goes_to = href.removeprefix("mailto:")
    if words in (href, goes_to) and not title:
        return "</a>"
    host = _WEB.fullmatch(href)
    shown = f"[{host[1] if host and words else goes_to}{title}]"
    return Markup(' <span class="destination">{}</span></a>').format(inert(shown))


def _title(token: Token) -> str:
    return f" “{title}”" if (title := token.attrs.get("title")) else ""


_MADE = {
    "text": _text,
    "image": _image,
    "fence": _fence,
    "heading_open": _heading_open,
    "heading_close": _heading_close,
    "link_open": _link_open,
    "link_close": _link_close,
}
