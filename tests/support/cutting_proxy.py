"""A proxy in front of a server that cuts off some requests, before or after the server got them."""

from __future__ import annotations

import re
import socket
import threading
from contextlib import suppress


class CuttingProxy:
    """Passes requests on, one per connection, except for those that begin with one of the words.

    `before`: the server never gets these. `after`: it does, but its response is dropped.
    """

    def __init__(self, port, before=(), after=()):
        self._upstream = port
        self.before, self.after = before, after
        self.cut = 0
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        with suppress(OSError):
            while True:
                connection, _ = self._socket.accept()
                threading.Thread(target=self._pass_on, args=(connection,), daemon=True).start()

    def _pass_on(self, connection):
        with connection, suppress(OSError, ValueError):
            request = self._read(connection)
            if request.startswith(tuple(word.encode() for word in self.before)):
                self.cut += 1
                return
            host = f"\r\nhost: 127.0.0.1:{self._upstream}\r\nconnection: close\r\n".encode()
            request = re.sub(rb"\r\nhost: [^\r]*\r\n", host, request, count=1)
            with socket.create_connection(("127.0.0.1", self._upstream)) as upstream:
                upstream.sendall(request)
                reply = b"".join(iter(lambda: upstream.recv(65536), b""))
            if request.startswith(tuple(word.encode() for word in self.after)):
                self.cut += 1
                return
            connection.sendall(reply)

    def _read(self, connection):
        request = b""
        while b"\r\n\r\n" not in request:
            if not (part := connection.recv(65536)):
                raise ValueError("no request")
            request += part
        head, _, body = request.partition(b"\r\n\r\n")
        length = re.search(rb"content-length: (\d+)", head)
        while length and len(body) < int(length[1]):
            part = connection.recv(65536)
            body += part
            request += part
        return request

    def close(self):
        self._socket.close()
