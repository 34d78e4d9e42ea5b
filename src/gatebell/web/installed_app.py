"""The inbox as an installed app: its manifest, its service worker, and its offline page."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from starlette.responses import FileResponse, JSONResponse

from gatebell.web.rendering import bare_page

if TYPE_CHECKING:
    from starlette.responses import Response

    from gatebell.web.context import WebRequest

_WORKER = os.path.join(os.path.dirname(__file__), "static", "sw.js")
_MANIFEST = {
    "id": "/",
    "name": "gatebell",
    "short_name": "gatebell",
    "description": "Agents ring, you answer.",
    "start_url": "/",
    "scope": "/",
    "display": "standalone",
    "background_color": "#1f5fbf",
    "theme_color": "#1f5fbf",
    "icons": [
        {"src": "/static/icon-192.png", "sizes": "192x192", "type": "image/png"},
        {"src": "/static/icon-512.png", "sizes": "512x512", "type": "image/png"},
        {
            "src": "/static/icon-maskable-512.png",
            "sizes": "512x512",
            "type": "image/png",
            "purpose": "maskable",
        },
    ],
}


def show_service_worker(_: WebRequest) -> Response:
    # At the root and not below /static: a service worker serves only the paths below its own.
    return FileResponse(_WORKER, media_type="text/javascript")


def show_manifest(_: WebRequest) -> Response:
    return JSONResponse(_MANIFEST, media_type="application/manifest+json")


def show_offline_page(_: WebRequest) -> Response:
    """Show the page that an installed app keeps; it is the same for everybody."""
    return bare_page("offline.html", "Offline · gatebell")
