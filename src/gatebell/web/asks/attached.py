"""The files of asks and answers: uploads and downloads, shown inert."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.datastructures import UploadFile
from starlette.responses import JSONResponse, Response

from gatebell.domain.asks.attachments import MAX_FILE_BYTES, UNKNOWN, choose_file_names
from gatebell.services.asks import attachments
from gatebell.web.api.endpoints import find
from gatebell.web.asks.uploads import find_uploads, name_uploader
from gatebell.web.problems import Problem

if TYPE_CHECKING:
    from starlette.datastructures import FormData

    from gatebell.domain.asks.asks import Ask
    from gatebell.domain.asks.attachments import Attachment
    from gatebell.web.context import WebRequest

FIELD = "attachment"
KEPT_FIELD = "attached"
"""The digest and name of a file that came with an earlier attempt of the same form."""
_INERT = "sandbox; default-src 'none'; frame-ancestors 'none'"


def upload(web_request: WebRequest) -> Response:
    """Keep the bytes of a file, for an ask or answer of the same token."""
    name = web_request.query.get("name", "")
    kept = attachments.attach(web_request.store, name, web_request.body, name_uploader(web_request))
    return JSONResponse(kept._asdict(), 201)


def download(web_request: WebRequest) -> Response:
    """Return the bytes of a file of this ask."""
    ask = find(web_request)
    attachment = _find(web_request, ask, web_request.path["digest"])
    content = attachments.read(web_request.store, attachment)
    (name,) = choose_file_names([attachment.name])
    way = "inline" if attachment.is_image else "attachment"
    headers = {
        "content-disposition": f'{way}; filename="{name}"',
        "content-security-policy": _INERT,
        "x-content-type-options": "nosniff",
    }
    media_type = attachment.media_type if attachment.is_image else UNKNOWN
    return Response(content, headers=headers, media_type=media_type)


def _find(web_request: WebRequest, ask: Ask, digest: str) -> Attachment:
    if {"read", "answer"} & set(web_request.who.scopes):
        return attachments.find(web_request.store, ask, digest)
    # Its asker sees the question and the answer, and no answers that were refused.
    for one in (*ask.question.attachments, *ask.answer_attachments):
        if one.digest == digest:
            return one
    raise Problem(404, f"{ask.id} has no such attachment")


def keep_posted(web_request: WebRequest, form: FormData) -> tuple[Attachment, ...]:
    """Keep the files of a form; return them after those of an earlier attempt."""
    kept = [str(one).partition(" ") for one in form.getlist(KEPT_FIELD)]
    found = find_uploads(web_request, [{"digest": one[0], "name": one[2]} for one in kept])
    return found + tuple(
        attachments.attach(web_request.store, one.filename, _read(one), name_uploader(web_request))
        for one in form.getlist(FIELD)
        if isinstance(one, UploadFile) and one.filename
    )


def _read(posted: UploadFile) -> bytes:
    # One byte more than is possible: the error then says that it is too large.
    return posted.file.read(MAX_FILE_BYTES + 1)
