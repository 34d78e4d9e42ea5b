"""A proxy before PostgreSQL: it stalls, cuts, freezes or refuses, at once or at a statement."""

from __future__ import annotations

import socket
import threading
import time
from contextlib import suppress
from urllib.parse import parse_qs, urlsplit

_FROZEN_SECONDS = 60.0
"""Both sides have given a frozen connection up long before. Then its sockets are closed: a long run
would use up all numbers of files."""


class _Link:
    """One connection through the proxy."""

    def __init__(self, client: socket.socket, server: socket.socket) -> None:
        self.client, self.server = client, server
        self.is_cut = threading.Event()
        self.is_frozen = False
        self.frozen_at = 0.0
        self.is_over = threading.Event()
        self.pumps: list[threading.Thread] = []

    def close(self) -> None:
        self.is_over.set()
        for end in (self.client, self.server):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def free(self) -> None:
        """Close for good once nothing uses the sockets any more."""
        for pump in self.pumps:
            pump.join()
        self.client.close()
        self.server.close()


class Proxy:
    """Listens on a TCP port of this machine; needs no rights."""

    def __init__(self, dsn: str, listening: socket.socket | None = None) -> None:
        parts = urlsplit(dsn)
        self._host = parse_qs(parts.query).get("host", [parts.hostname])[0]
        self._port = parts.port or 5432
        self._server = listening or socket.create_server(("127.0.0.1", 0), backlog=100)
        user = parts.netloc.rpartition("@")[0]
        host, port = self._server.getsockname()
        self.address = f"{host}:{port}"
        self.dsn = parts._replace(
            netloc=f"{user}@{self.address}",
            query="sslmode=disable&gssencmode=disable",
        ).geturl()
        self.flows = threading.Event()
        self.flows.set()
        self.refuses = False
        """Whether new connections end at once."""
        self.cut_after = b""
        """After a message with these bytes, the server's answer does not come back."""
        self._links: list[_Link] = []
        self._lock = threading.Lock()
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._server.accept()
                client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self._join(client)

    def _join(self, client: socket.socket) -> None:
        try:
            if self.refuses:
                raise ConnectionRefusedError
            server = self._connect()
        except OSError:
            client.close()
            return
        link = _Link(client, server)
        for ways in ((client, server), (server, client)):
            link.pumps.append(threading.Thread(target=self._pump, args=(*ways, link), daemon=True))
            link.pumps[-1].start()
        with self._lock:
            over = [one for one in self._links if one.is_over.is_set()]
            self._links = [one for one in self._links if one not in over] + [link]
        for one in over:
            one.free()

    def _connect(self) -> socket.socket:
        if not self._host.startswith("/"):
            return socket.create_connection((self._host, self._port))
        server = socket.socket(socket.AF_UNIX)
        try:
            server.connect(f"{self._host}/.s.PGSQL.{self._port}")
        except OSError:
            server.close()
            raise
        return server

    def _pump(self, source: socket.socket, target: socket.socket, link: _Link) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                self.flows.wait()
                if link.is_frozen or link.is_cut.is_set():
                    break
                if self.cut_after and self.cut_after in data:
                    link.is_cut.set()
                target.sendall(data)
        if link.is_frozen:
            # Neither side hears that the other one has gone.
            link.is_over.wait()
        link.close()

    def _list_links(self) -> list[_Link]:
        with self._lock:
            return list(self._links)

    def cut(self) -> None:
        """Close every connection that is not frozen."""
        for link in self._list_links():
            if not link.is_frozen:
                link.close()

    def freeze(self) -> list[_Link]:
        """Let nothing through on the present connections any more; new ones work."""
        found, now = self._list_links(), time.monotonic()
        for link in found:
            if link.is_frozen and now - link.frozen_at > _FROZEN_SECONDS:
                link.close()
            elif not link.is_frozen:
                link.is_frozen, link.frozen_at = True, now
        return found

    def close(self) -> None:
        self.flows.set()
        with suppress(OSError):
            self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()
        for link in self._list_links():
            link.close()
            link.free()
