"""One request to a server of the inbox, as any program could send it."""

from __future__ import annotations

import http.client
import json


def send(port, method, path, token, body=None):
    """Return the status and the text of the response."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    headers = {"authorization": f"Bearer {token}"}
    if body is not None:
        headers["content-type"] = "application/json"
    connection.request(method, path, None if body is None else json.dumps(body), headers)
    reply = connection.getresponse()
    said = reply.read().decode()
    connection.close()
    return reply.status, said
