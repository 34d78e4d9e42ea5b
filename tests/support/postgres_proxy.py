"""A proxy before PostgreSQL that stalls, or cuts a connection at a chosen statement."""

from __future__ import annotations

import socket
import tempfile
import threading
from contextlib import suppress
from pathlib import Path
from urllib.parse import parse_qs, urlsplit


class Proxy:
    def __init__(self, dsn: str) -> None:
        parts = urlsplit(dsn)
        self._host = parse_qs(parts.query).get("host", [parts.hostname])[0]
        self._port = parts.port or 5432
        self._folder = tempfile.TemporaryDirectory(prefix="gate-proxy-")
        self._server = socket.socket(socket.AF_UNIX)
        self._server.bind(str(Path(self._folder.name) / f".s.PGSQL.{self._port}"))
        self._server.listen()
        self.dsn = parts._replace(
            netloc=f"{parts.username}@", query=f"host={self._folder.name}&port={self._port}"
        ).geturl()
        self.flows = threading.Event()
        self.flows.set()
        self.cut_after = b""
        """After a message with these bytes, the server's answer does not come back."""
        self._open: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._server.accept()
                server = self._connect()
                self._open += [client, server]
                is_cut = threading.Event()
                for ways in ((client, server), (server, client)):
                    threading.Thread(target=self._pump, args=(*ways, is_cut), daemon=True).start()

    def _connect(self) -> socket.socket:
        if not self._host.startswith("/"):
            return socket.create_connection((self._host, self._port))
        server = socket.socket(socket.AF_UNIX)
        server.connect(f"{self._host}/.s.PGSQL.{self._port}")
        return server

    def _pump(self, source: socket.socket, target: socket.socket, is_cut: threading.Event) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                self.flows.wait()
                if is_cut.is_set():
                    break
                if self.cut_after and self.cut_after in data:
                    is_cut.set()
                target.sendall(data)
        for end in (source, target):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self.flows.set()
        for one in (self._server, *self._open):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()
        self._folder.cleanup()
