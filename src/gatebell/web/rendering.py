"""Pages from templates; all text but our own markup becomes inert (law 8)."""

from __future__ import annotations

import os
from functools import cache
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape
from starlette.responses import HTMLResponse

from gatebell.domain.asks.asks import iso
from gatebell.domain.asks.attachments import describe_size
from gatebell.domain.asks.owners import describe_owner
from gatebell.domain.text.display import age, inert, inert_line, span

if TYPE_CHECKING:
    from datetime import datetime

    from gatebell.web.context import WebRequest

# So much of a session's id tells it from others.
_SESSION_LENGTH = 8
_JUST_NOW_SECONDS = 10
_TEMPLATES = os.path.join(os.path.dirname(__file__), "templates")


def page(
    web_request: WebRequest, template: str, title: str, status: int = 200, **data: Any
) -> HTMLResponse:
    """Render a page for a signed-in person."""
    text = _templates().get_template(template).render(_build_frame(web_request, title) | data)
    return HTMLResponse(text, status)


def render_part(web_request: WebRequest, template: str, **data: Any) -> Markup:
    """Render a part of a page, for a template that has other names for its own data."""
    frame = _build_frame(web_request, "")
    return Markup(_templates().get_template(template).render(frame | data))  # noqa: S704  a template


def _build_frame(web_request: WebRequest, title: str) -> dict[str, Any]:
    waiting = sum(number for _, number in web_request.store.asks.waiting_counts())
    return {
        "login": web_request.login,
        "scopes": web_request.login.scopes if web_request.login else (),
        "csrf": web_request.csrf,
        "now": web_request.store.now(),
        "waiting": waiting,
        "title": f"({waiting}) {title}" if waiting else title,
        "search": "",
        "freeze": web_request.store.freezes.find(),
        # Nothing, unless the page was read before the store changed: then it reloads by itself.
        "seq": 0,
    }


def bare_page(
    template: str, title: str, status: int = 200, headers: dict[str, str] | None = None, **data: Any
) -> HTMLResponse:
    """Render a page for a person who is not signed in, or an error."""
    frame = {"login": None, "scopes": (), "csrf": "", "title": title}
    text = _templates().get_template(template).render(frame | data)
    return HTMLResponse(text, status, headers)


@cache
def _templates() -> Environment:
    made = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        # Every expression of every template goes through this, so no text is forgotten.
        finalize=_inert,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {"typed": _keep_typed, "line": inert_line, "iso": iso, "clock": _clock}
    made.filters |= {"until": _until, "sentence": _sentence}
    made.filters |= {"since": _since, "ago": _ago, "principal": _principal, "owner": describe_owner}
    made.filters |= {"size": describe_size}
    return made


def _inert(value: Any) -> Any:
    return inert(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _keep_typed(text: str) -> Markup:
    """Put a person's text back into its field unchanged."""
    return Markup("\n") + escape(text)


def _clock(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M} UTC"


def _ago(at: datetime, now: datetime) -> str:
    return age((now - at).total_seconds())


def _since(at: datetime, now: datetime) -> str:
    seconds = (now - at).total_seconds()
    return "just now" if seconds < _JUST_NOW_SECONDS else f"{age(seconds)} ago"


def _until(now: datetime, at: datetime) -> str:
    return span((at - now).total_seconds())


def _sentence(text: str) -> str:
    """Show an error as a sentence on a page."""
    whole = text[:1].upper() + text[1:]
    return whole if whole.endswith((".", "!", "?")) else f"{whole}."


def _principal(who: str) -> str:
    """Show `person:ada` as ada, and `agent:claude/e2322994-…` as agent claude/e2322994."""
    host, slash, session = who.removeprefix("agent:").partition("/")
    if who.startswith("agent:") and slash:
        return inert_line(f"agent {host}/{session[:_SESSION_LENGTH]}", 80)
    return inert_line(who.removeprefix("person:"), 80)
