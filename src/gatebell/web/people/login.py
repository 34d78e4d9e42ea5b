"""Signing in and out, by a link or a token, and the pages for people who are not signed in."""

from __future__ import annotations

import re
from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from starlette.responses import RedirectResponse, Response

from gatebell.errors import RefusedError
from gatebell.services.people import manage_logins
from gatebell.web.asks.answer_fields import field
from gatebell.web.context import COOKIE
from gatebell.web.rendering import bare_page

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import HTMLResponse

    from gatebell.domain.people.logins import Login
    from gatebell.web.context import WebRequest
    from gatebell.web.problems import Problem

# One slash, and then nothing that a browser could read as another host.
_LOCAL = re.compile(r"/(?![/\\])[!-\[\]-~]*")
_OLD_LINK = "This link was used, or is older than 15 minutes."
_TRIED = "tried"
# On a page the way on is a button, and not a command.
_COMMAND = re.compile(r"(\. [A-Z][^.]*: gate |; gate ).*")
_HEADINGS = {403: "Not allowed", 404: "Not found", 405: "Nothing to read here"}


def local(path: str) -> str:
    """Return the path if it leads to a page of ours; otherwise the inbox."""
    return path if _LOCAL.fullmatch(path) else "/"


def login_page(web_request: WebRequest) -> Response:
    goes_on = local(web_request.query.get("next", "/"))
    return _login_page(web_request, 200, goes_on)


def login(web_request: WebRequest) -> Response:
    goes_on = local(field(web_request.sent_form, "next"))
    try:
        token, seal = field(web_request.sent_form, "token"), field(web_request.sent_form, "seal")
        secret = manage_logins.enter_by_token(web_request.store, token, web_request.evidence, seal)
    except RefusedError as error:
        # Only failures are counted, so that no client can keep others from signing in.
        web_request.web_context.limits.count("login", web_request.address)
        return _login_page(web_request, 403, goes_on, problem=str(error))
    return _enter(web_request, secret, goes_on)


def link_page(web_request: WebRequest) -> Response:
    """Show who would sign in. Only its button uses the link up, so scanners may open it."""
    found = manage_logins.find_link(web_request.store, web_request.path["secret"])
    goes_on = local(web_request.query.get("next", "/"))
    if found is None:
        return _login_page(web_request, 404, goes_on, "Old link", problem=_OLD_LINK)
    if not _may_enter(web_request, found):
        return _login_page(
            web_request, 403, goes_on, problem=_sentence(manage_logins.PERSONAL_ONLY)
        )
    return bare_page(
        "link.html", "Sign in · gatebell", csrf=web_request.csrf, found=found, next=goes_on
    )


def link(web_request: WebRequest) -> Response:
    seal = field(web_request.sent_form, "seal")
    found = manage_logins.find_link(web_request.store, web_request.path["secret"])
    if found and not _may_enter(web_request, found):
        # Before it is used up: at a private address the same link is still valid.
        raise RefusedError(manage_logins.PERSONAL_ONLY)
    try:
        secret = manage_logins.enter_by_link(
            web_request.store, web_request.path["secret"], web_request.evidence, seal
        )
    except RefusedError:
        web_request.web_context.limits.count("login", web_request.address)
        raise
    return _enter(web_request, secret, local(field(web_request.sent_form, "next")))


def _may_enter(web_request: WebRequest, found: Login) -> bool:
    return found.verified or not web_request.web_context.site.personal


def _login_page(
    web_request: WebRequest, status: int, goes_on: str, title: str = "Sign in", **more: str
) -> Response:
    personal = web_request.web_context.site.personal
    data: dict[str, Any] = {"csrf": web_request.csrf, "next": goes_on, "personal": personal, **more}
    return bare_page("login.html", f"{title} · gatebell", status, **data)


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."


def _enter(web_request: WebRequest, secret: str, goes_on: str) -> Response:
    response = RedirectResponse(goes_on, 303)
    response.set_cookie(
        COOKIE,
        secret,
        max_age=int(manage_logins.LOGINS_LIVE.total_seconds()),
        path="/",
        secure=web_request.web_context.site.secure,
        httponly=True,
        samesite="strict",
    )
    return response


def logout(web_request: WebRequest) -> Response:
    manage_logins.leave(web_request.store, web_request.secret, web_request.who)
    response = RedirectResponse("/login", 303)
    response.delete_cookie(COOKIE, path="/", httponly=True, samesite="strict")
    return response


def problem_page(
    problem: Problem,
    path: str,
    *,
    personal: bool = False,
    has_cookie: bool = False,
    retry: str = "",
) -> HTMLResponse:
    """Show the error, and the next step."""
    place = local(re.sub(r"(/asks/[^/]+)/.*|/(login|logout|link/.*)", r"\1", path) or "/")
    if problem.status == HTTPStatus.UNAUTHORIZED:
        if retry:
            return bare_page("retry.html", "gatebell", 401, problem.headers, retry=retry)
        data: dict[str, Any] = {"next": place, "personal": personal}
        # With a cookie that was not enough, opening the page again would end here again.
        data |= {} if has_cookie else {"again": place}
        return bare_page("login.html", "Sign in · gatebell", 401, problem.headers, **data)
    words = _HEADINGS.get(problem.status) or HTTPStatus(problem.status).phrase
    detail = _COMMAND.sub("", problem.detail) if problem.status == HTTPStatus.NOT_FOUND else ""
    detail = detail or problem.detail
    data = {"code": problem.status, "words": words, "detail": detail, "place": place}
    return bare_page("problem.html", f"{words} · gatebell", problem.status, problem.headers, **data)


def find_retry(request: Request) -> str:
    """Return the address with which a page without a login opens itself once more, or "".

    A browser opens a link of another site or program without our strict cookie. The page that it
    gets belongs to this site, so its own request has the cookie. The address is marked: a second
    miss means that the person is not signed in.
    """
    if request.method != "GET" or COOKIE in request.cookies or _TRIED in request.query_params:
        return ""
    query = f"{request.url.query}&" if request.url.query else ""
    address = f"{quote(request.url.path)}?{query}{_TRIED}=1"
    return address if local(address) == address else ""
