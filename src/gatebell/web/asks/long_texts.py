"""The texts of an ask's page: long ones in two parts, and the context."""

from __future__ import annotations

import json
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from markupsafe import Markup

from gatebell.domain.asks.context_text import context_text, is_plain
from gatebell.domain.asks.headings import option_meanings
from gatebell.domain.text.display import SHOWN_CHARACTERS
from gatebell.web import markdown

if TYPE_CHECKING:
    from gatebell.domain.asks.asks import Ask


class Long(NamedTuple):
    """A text of which the beginning is shown at once."""

    begin: str
    rest: str


def split_text(text: str, most: int = SHOWN_CHARACTERS) -> Long:
    if len(text) <= most:
        return Long(text, "")
    cut = text.rfind("\n", most // 2, most) + 1 or most
    return Long(text[:cut], text[cut:])


def context(one: Ask) -> tuple[Markup, Markup] | None:
    """Render the context and its rest: Markdown for a text, otherwise lines or JSON."""
    given, most = one.question.context, markdown.MAX_CHARACTERS
    how = f"gate show {one.id} --all, or GET /api/asks/{one.id}"
    if given is None or option_meanings(one.question):
        return None
    if isinstance(given, str):
        return split_markdown(given, how)
    if not (text := _readable(given, most + 1)):
        return None
    begin, rest = split_text(text[:most])
    cut = Markup()
    if len(text) > most:
        whole = len(json.dumps(given, ensure_ascii=False))
        cut = _cut(f"the rest is not shown; on one line this JSON has {whole:,} characters", how)
    return _as_it_is(begin), (_as_it_is(rest) if rest else Markup()) + cut


def split_markdown(text: str, how: str) -> tuple[Markup, Markup]:
    """Render Markdown and its rest; `how` tells where the whole text is."""
    most = markdown.MAX_CHARACTERS
    begin, rest = split_text(text[:most])
    cut = Markup()
    if len(text) > most:
        cut = _cut(f"{len(text) - most:,} more characters are not shown", how)
    return markdown.render(begin), (markdown.render(rest) if rest else Markup()) + cut


def _readable(context: Any, pieces: int) -> str:
    """Return the beginning of a JSON value, by characters: the whole would take seconds."""
    if is_plain(context):
        return context_text(context)
    written = json.JSONEncoder(indent=2, ensure_ascii=False).iterencode(context)
    return "".join(islice(written, pieces))


def _cut(left: str, how: str) -> Markup:
    return Markup('<p class="cut">… {}. All of it: {}</p>').format(left, how)


def _as_it_is(text: str) -> Markup:
    return Markup('<pre class="plain">{}</pre>').format(markdown.link_addresses(text))
