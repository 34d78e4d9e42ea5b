"""The files that a request names: only those that its own token has uploaded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gatebell.domain.people.principals import person
from gatebell.services.asks import attachments

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from gatebell.domain.asks.attachments import Attachment
    from gatebell.web.context import WebRequest


def find_uploads(
    web_request: WebRequest, named: Iterable[Mapping[str, Any]]
) -> tuple[Attachment, ...]:
    """Return the files that a request names, all uploaded with its own token."""
    store, whose = web_request.store, name_uploader(web_request)
    return tuple(attachments.find_upload(store, whose, one["name"], one["digest"]) for one in named)


def name_uploader(web_request: WebRequest) -> str:
    """Return the token or person of a request."""
    return web_request.who.token_id or person(web_request.who.person)
