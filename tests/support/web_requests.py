"""One request to a server of the inbox, as any program could send it."""

from __future__ import annotations

import http.client
import json


def send(port, method, path, token, body=None):
    """Return the status and the text of the response; a body of bytes is sent as it is."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    headers = {"authorization": f"Bearer {token}"}
    if body is not None:
        headers["content-type"] = "application/json"
    text = body if body is None or isinstance(body, bytes) else json.dumps(body)
    connection.request(method, path, text, headers)
    reply = connection.getresponse()
    said = reply.read().decode()
    connection.close()
    return reply.status, said
