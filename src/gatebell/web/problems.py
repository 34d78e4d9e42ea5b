"""Errors over HTTP: a status, and a sentence that says what to do."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING

from starlette.responses import JSONResponse

from gatebell import errors

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.responses import Response

_STATUS: dict[type[errors.GateError], int] = {
    errors.UsageError: 400,
    errors.NotFoundError: 404,
    errors.AlreadySettledError: 409,
    errors.InvalidAnswerError: 422,
    errors.RefusedError: 403,
    errors.StoreError: 503,
}


class Problem(Exception):  # noqa: N818 - it is what the document is called
    """A request that cannot be served, with the status that says why."""

    def __init__(self, status: int, detail: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail
        self.headers = dict(headers or {})


def problem_of(error: Exception) -> Problem:
    """Convert an error of a service."""
    if isinstance(error, Problem):
        return error
    for kind in type(error).__mro__:
        if kind in _STATUS:
            return Problem(_STATUS[kind], str(error))
    raise error


def document(problem: Problem) -> Response:
    """`application/problem+json` (RFC 9457)."""
    content = {
        "type": "about:blank",
        "title": HTTPStatus(problem.status).phrase,
        "status": problem.status,
        "detail": problem.detail,
    }
    return JSONResponse(
        content, problem.status, problem.headers, media_type="application/problem+json"
    )
