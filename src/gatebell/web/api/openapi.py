"""The API's document (OpenAPI 3.1), built from the route table."""

from __future__ import annotations

import re
from typing import Any

from gatebell import __version__
from gatebell.web.api.schemas import BYTES, TEXT, WORDS, thing
from gatebell.web.routes import API

_PROBLEM = thing({"type": TEXT, "title": TEXT, "status": {"type": "integer"}, "detail": TEXT})
_REFUSALS = {
    400: "The request does not fit the schema, or is not valid",
    401: "Not signed in, or an unknown token",
    403: "This login or token may not do this, or another site sent the request",
    404: "It does not exist, or you may not see it",
    409: "Another answer settled it first (yours is kept), or the state of the run does not allow it",
    413: "The body is too large",
    415: "The body has another content type",
    422: "The answer does not fit the question",
    429: "Too many requests",
    503: "The store has a problem",
}


def _document() -> dict[str, Any]:
    paths: dict[str, Any] = {}
    for row in API:
        paths.setdefault(row.path, {})[row.method.lower()] = _operation(row)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "gatebell",
            "version": __version__,
            "description": "Ask people and wait for their answers; answer waiting asks. "
            "Make tokens with `gate person token NAME --scope …`.",
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        "paths": paths,
        "components": {
            "schemas": {"Problem": _PROBLEM},
            "securitySchemes": {
                "token": {"type": "http", "scheme": "bearer"},
                "login": {"type": "apiKey", "in": "cookie", "name": "gatebell"},
            },
        },
    }


def _operation(row: Any) -> dict[str, Any]:
    status, gives = row.gives
    operation: dict[str, Any] = {
        "operationId": row.act.__name__,
        "summary": row.about,
        "description": f"Needs the scope {' or '.join(row.needs)}."
        if row.needs
        else "For everybody.",
        "parameters": _parameters(row),
        "responses": {str(status): _response(row, gives)}
        | {str(code): _refusal(about) for code, about in _REFUSALS.items()},
        "security": [{"token": []}, {"login": []}] if row.needs else [],
    }
    if row.path in ("/api/asks", "/api/permissions") and row.changes:
        operation["responses"]["200"] = _response(row, gives)
    if row.body is not None:
        content = {_find_media_type(row.body): {"schema": row.body}}
        operation["requestBody"] = {"required": True, "content": content}
    return operation


def _parameters(row: Any) -> list[dict[str, Any]]:
    path = [
        {"name": name, "in": "path", "required": True, "schema": WORDS}
        for name in re.findall(r"\{(\w+)\}", row.path)
    ]
    query = [
        {"name": name, "in": "query", "schema": schema, "description": about}
        for name, schema, about in row.query
    ]
    keyed = row.path in ("/api/asks", "/api/answers", "/api/asks/{id}/answers") and row.changes
    about = "A retry with the same key returns the first result"
    key = {"name": "Idempotency-Key", "in": "header", "schema": TEXT | {"maxLength": 200}}
    return [*path, *query, *([key | {"description": about}] if keyed else [])]


def _response(row: Any, gives: dict[str, Any] | None) -> dict[str, Any]:
    if row.path.endswith("/stream"):
        return {"description": row.about, "content": {"text/event-stream": {"schema": TEXT}}}
    if gives is None:
        return {"description": row.about}
    return {"description": row.about, "content": {_find_media_type(gives): {"schema": gives}}}


def _find_media_type(schema: dict[str, Any]) -> str:
    return "application/octet-stream" if schema is BYTES else "application/json"


def _refusal(about: str) -> dict[str, Any]:
    schema = {"$ref": "#/components/schemas/Problem"}
    return {"description": about, "content": {"application/problem+json": {"schema": schema}}}


DOCUMENT = _document()
