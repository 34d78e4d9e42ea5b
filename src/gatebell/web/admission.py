"""Admits a request to a route: its login, its scope, its limits and its body."""

from __future__ import annotations

import hmac
import json
from typing import TYPE_CHECKING, Any

from starlette.concurrency import run_in_threadpool

from gatebell.domain.asks.attachments import MAX_FILES
from gatebell.domain.digests import text_digest, token_digest
from gatebell.domain.people.logins import Login
from gatebell.services.people import manage_logins
from gatebell.web.api.schemas import BYTES, faults
from gatebell.web.context import COOKIE, WebRequest
from gatebell.web.problems import Problem

if TYPE_CHECKING:
    from starlette.requests import Request

    from gatebell.web.context import Row, WebContext

_MORE_RIGHTS = "A person who manages this inbox can make a token for you that has it"


async def admit(web_context: WebContext, row: Row, request: Request) -> WebRequest:
    """Check the login, the scope and the body of a request, in this order."""
    secret, by_header = _secret(request)
    login = await _find_login(web_context, row, secret, by_header) if secret else None
    address = request.client.host if request.client else ""
    whose = limited_name(secret) if login else address
    if row.waits and login:
        # Ten thousand agents may share a token, and each waits for an ask of its own. A client that
        # invents ids gets no new limit with each of them.
        web_context.limits.check("missed wait", whose)
        web_context.limits.count("wait", f"{whose} {request.path_params['id']}")
    elif login or row.needs:
        # Sign-in counts only failures: a flood of them must not keep others out.
        web_context.limits.count(_kind(row), whose)
    csrf = text_digest(f"csrf {secret}") if login and not by_header else ""
    if row.needs:
        if login is None:
            way = "gate link --as NAME" if web_context.site.personal else "gate link"
            why = f"sign in first: {way}"
            if by_header:
                why = "this server does not know that token: make one there, gate person token NAME"
            raise Problem(401, why, {"www-authenticate": "Bearer"})
        named = request.headers.get("x-gate-as", login.person)
        if named != login.person:
            raise Problem(403, f"this token belongs to {login.person}, not to {named[:64]}")
        if not set(row.needs) & set(login.scopes):
            needed, had = " or ".join(row.needs), ", ".join(login.scopes)
            why = f"this needs the scope {needed}; yours: {had}"
            if not row.api:
                why = f"this page needs the right “{needed}”, and you have: {had}. {_MORE_RIGHTS}"
            raise Problem(403, why)
    web_request = WebRequest(
        web_context,
        login,
        csrf,
        request.path_params,
        request.query_params,
        request.headers,
        address=address,
        secret=secret if login else "",
    )
    _check_query(row, web_request)
    if not row.changes:
        return web_request
    if not by_header and "origin" not in request.headers:
        raise Problem(
            403, "this must come from a page of the inbox, so nothing was done: reload it"
        )
    return await _read(row, request, web_request)


def limited_name(secret: str) -> str:
    """Return the name under which the requests of a token or login are counted."""
    return token_digest(secret)[:16]


def _check_query(row: Row, web_request: WebRequest) -> None:
    for name, schema, about in row.query:
        given: Any = web_request.query.get(name)
        if schema.get("type") == "integer" and given and given.isascii() and given.isdecimal():
            given = int(given) if len(given) < 17 else given
        if given is not None and faults(schema, given):
            words = f" ({' or '.join(schema['enum'])})" if "enum" in schema else ""
            raise Problem(400, f"{name}: {about}{words}; got {given!r}")


def _kind(row: Row) -> str:
    if row.waits:
        return "wait"
    if not row.changes:
        return "read"
    return "ask" if row.needs == ("ask",) else "change"


async def _find_login(
    web_context: WebContext, row: Row, secret: str, by_header: bool
) -> Login | None:
    """Return the login of a request. Only a waiting one may be a few seconds old.

    A token that was revoked since then is found before the wait ends.
    """
    cached = web_context.hub.tokens.get(secret) if row.waits and by_header else None
    if cached:
        return cached
    login = await run_in_threadpool(_login, web_context, secret, by_header)
    if row.waits and by_header and login:
        web_context.hub.tokens.keep(secret, login)
    return login


def _secret(request: Request) -> tuple[str, bool]:
    """The token of the header, or the login of the cookie."""
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    if scheme:
        return (token.strip() if scheme.lower() == "bearer" else "?"), True
    return request.cookies.get(COOKIE, ""), False


def _login(web_context: WebContext, secret: str, by_header: bool) -> Login | None:
    if not by_header:
        login = manage_logins.whose_login(web_context.store, secret)
        return login if login and (login.verified or not web_context.site.personal) else None
    token = web_context.store.people.by_token(token_digest(secret))
    if token is None:
        return None
    return Login(token.person, True, token.scopes, web_context.store.now(), token.id)


async def _read(row: Row, request: Request, web_request: WebRequest) -> WebRequest:
    """Read the body: JSON for the API; a form for a page, with the proof that our page sent it."""
    seal = web_request.headers.get("x-seal", "")
    if row.api:
        given = web_request.headers.get("x-csrf-token", "")
        web_request = web_request._replace(
            body=_check_body(row, await request.body(), web_request.headers)
        )
    else:
        # One file more than is possible: the page then says so, and keeps what was typed.
        files = MAX_FILES + 1 if row.takes_files else 0
        form = await request.form(max_files=files, max_fields=10_000)
        given = str(form.get("csrf", "")) or web_request.headers.get("x-csrf-token", "")
        seal = str(form.get("seal", "")) or seal
        web_request = web_request._replace(form=form)
    if row.by_button:
        # A service worker has no page, so it knows neither. Its token is checked by the route.
        return web_request
    if web_request.csrf and not hmac.compare_digest(given.encode(), web_request.csrf.encode()):
        raise Problem(403, "this page is older than your sign-in: reload it and send it again")
    if web_request.csrf and web_request.who.seal and token_digest(seal) != web_request.who.seal:
        # A cookie goes to every port of its host, so it may come from any page there.
        raise Problem(403, "another page made this sign-in: sign out, then sign in again")
    return web_request


def _check_body(row: Row, raw: bytes, headers: Any) -> Any:
    if row.body is None:
        return None
    if not raw and not row.body.get("required", True):
        return {}
    media_type = headers.get("content-type", "").partition(";")[0].strip().lower()
    if row.body is BYTES:
        if media_type != "application/octet-stream":
            raise Problem(415, "send the bytes: content-type application/octet-stream")
        return raw
    if media_type != "application/json":
        raise Problem(415, "send JSON: content-type application/json")
    try:
        body = json.loads(raw)
        found = faults(row.body, body)
    except (ValueError, RecursionError):
        # Also text that cannot be encoded: half of a surrogate pair.
        raise Problem(400, "the body is not JSON") from None
    if found:
        raise Problem(400, f"the body does not fit: {found}")
    return body


def is_still_admitted(web_context: WebContext, secret: str, *, by_header: bool) -> bool:
    """Return whether the token or the login of a long request is still known."""
    return _login(web_context, secret, by_header) is not None
