"""HTTP/1.1 over a socket: one request at a time, JSON in and out, with a limit for each request.

Written by hand, because `http.client` alone takes as long to load as the rest of a command.
"""

from __future__ import annotations

import json
import os
import socket
import time
from contextlib import nullcontext, suppress
from typing import TYPE_CHECKING, Any

from gatebell.adapters.remote.servers import split_address
from gatebell.domain.records import NamedTuple
from gatebell.errors import (
    AlreadySettledError,
    GateError,
    InvalidAnswerError,
    NotFoundError,
    RefusedError,
    ServerError,
    UsageError,
)

if TYPE_CHECKING:
    from ssl import SSLContext

    from gatebell.ports.backends.server_watcher import ServerWatcher
    from gatebell.ports.calls.waiting_calls import CallHost

REQUEST_SECONDS = 20.0
"""How long a request may take that the server answers at once."""
_CONNECT_SECONDS = 10.0
_LOOK_SECONDS = 1.0
# A server closes a connection that is idle for some seconds.
_MAX_IDLE_SECONDS = 3.0
MAX_HEAD_BYTES = 65_536
_MAX_BODY_BYTES = 64_000_000
_PROBES = (("TCP_KEEPINTVL", 5), ("TCP_KEEPCNT", 2))
_OK = 200
_FIRST_PAUSE_SECONDS, _MAX_PAUSE_SECONDS = 0.1, 5.0

_ERRORS: dict[int, type[GateError]] = {
    400: UsageError,
    401: RefusedError,
    403: RefusedError,
    404: NotFoundError,
    405: UsageError,
    409: AlreadySettledError,
    413: UsageError,
    415: UsageError,
    422: InvalidAnswerError,
}
"""The error for each status; every other one above 399 is a failure of the server."""


class StoppedError(GateError):
    """The host does not need the response any more."""


class _LostError(ConnectionError):
    """The connection ended before a byte of the response came."""


class Reply(NamedTuple):
    """A response: its status, its headers by lower-case name, and its body."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def is_chunked(self) -> bool:
        return self.headers.get("transfer-encoding", "").lower() == "chunked"

    @property
    def length(self) -> int:
        """The length of the body, if it is not in chunks."""
        given = self.headers.get("content-length", "0")
        if not (given.isascii() and given.isdecimal()) or int(given) > _MAX_BODY_BYTES:
            raise OSError("its response is too long")
        return int(given)


class _Connection(NamedTuple):
    stream: socket.socket
    used_at: float


class Http:
    """Requests to one server with one token. Several threads may use it."""

    def __init__(self, server: str, token: str, ca_file: str = "") -> None:
        self.server = server
        self._token = token
        self._ca_file = ca_file
        self.name = ""
        """The person to act as; the server refuses requests with the token of another."""
        self.watcher: ServerWatcher | None = None
        self._idle: list[_Connection] = []

    def send(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        seconds: float = REQUEST_SECONDS,
        key: str = "",
        via: str = "",
        again: bool = True,
        host: CallHost | None = None,
        is_raw: bool = False,
        is_wait: bool = False,
    ) -> Any:
        """Send a request and return the JSON of its response.

        Args:
            seconds: the limit for the whole request
            key: an idempotency key: the server does the same request once
            via: the face that sends it
            again: send it a second time if the server had closed an idle connection
            host: asked about every second whether it still needs the response
            is_raw: return the bytes of the response
            is_wait: a late response is no reason to show that the server is slow

        Raises:
            ServerError: The server cannot be reached, does not respond in time, or fails.
            StoppedError: The host gave a reason to stop.
        """
        until = time.monotonic() + seconds
        request = self.build(method, path, body, key, via)
        watcher = None if is_wait else self.watcher
        try:
            with watcher.watch_request() if watcher else nullcontext():
                reply = self._exchange_on_any(request, until, host, again=again)
        except (OSError, ValueError) as error:
            raise self.describe_failure(error) from None
        if is_raw and reply.status == _OK:
            return reply.body
        return self.read_reply(reply)

    def _exchange_on_any(
        self, request: bytes, until: float, host: CallHost | None, *, again: bool
    ) -> Reply:
        kept = self._take_idle() if again else None
        try:
            return self._exchange(kept or self._connect(until), request, until, host)
        except _LostError:
            if kept is None:
                raise
            return self._exchange(self._connect(until), request, until, host)

    def build(
        self, method: str, path: str, body: object = None, key: str = "", via: str = ""
    ) -> bytes:
        """Return a request as it is sent."""
        if not self._token:
            raise RefusedError(
                f"there is no token for {self.server}: gate login {self.server}, or set GATE_TOKEN"
            )
        is_file = isinstance(body, bytes)
        text = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        address = self.server.partition("://")[2]
        lines = [
            f"{method} {path} HTTP/1.1",
            # Browsers and servers leave out the usual port.
            f"host: {address.removesuffix(':443') if self._is_secure else address}",
            f"authorization: Bearer {self._token}",
            "user-agent: gate",
            "accept: application/json",
        ]
        lines += [f"x-gate-as: {self.name}"] if self.name else []
        lines += [f"idempotency-key: {key}"] if key else []
        lines += [f"x-gate-via: {via}"] if via else []
        if text is not None:
            media_type = "application/octet-stream" if is_file else "application/json"
            lines += [f"content-type: {media_type}", f"content-length: {len(text)}"]
        elif method != "GET":
            lines.append("content-length: 0")
        if any("\r" in line or "\n" in line for line in lines):
            raise UsageError("a token, key or name with a line break cannot be sent")
        return "\r\n".join([*lines, "", ""]).encode("latin-1", "replace") + (text or b"")

    @property
    def _is_secure(self) -> bool:
        return self.server.startswith("https:")

    def _take_idle(self) -> _Connection | None:
        with suppress(IndexError):
            while True:
                found = self._idle.pop()
                if time.monotonic() - found.used_at < _MAX_IDLE_SECONDS:
                    return found
                found.stream.close()
        return None

    def close(self) -> None:
        """Close the idle connections; a later request opens a new one."""
        while self._idle:
            self._idle.pop().stream.close()

    def _connect(self, until: float) -> _Connection:
        name, port = _encode_host(self.server)
        left = min(_CONNECT_SECONDS, until - time.monotonic())
        stream = socket.create_connection((name, port), max(0.01, left))
        stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        _look_for_dead_peer(stream)
        try:
            context = self.make_context()
            if context is None:
                return _Connection(stream, 0.0)
            return _Connection(context.wrap_socket(stream, server_hostname=name), 0.0)
        except BaseException:
            stream.close()
            raise

    def make_context(self) -> SSLContext | None:
        """Return how the server's certificate is checked; None: there is no TLS."""
        if not self._is_secure:
            return None
        # Imported here: a server on this machine needs no TLS.
        import ssl

        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        if self._ca_file:
            try:
                context.load_verify_locations(self._ca_file)
            except OSError as error:
                # Else it would be told as an error of the connection.
                why = (
                    error.strerror if isinstance(error, FileNotFoundError | PermissionError) else ""
                )
                raise UsageError(
                    f"the file {self._ca_file} of GATE_CA cannot be used: "
                    f"{why or 'it has no certificate'}"
                ) from None
        else:
            context.load_default_certs()
        return context

    def _exchange(
        self, connection: _Connection, request: bytes, until: float, host: CallHost | None
    ) -> Reply:
        stream = connection.stream
        try:
            stream.settimeout(max(0.01, until - time.monotonic()))
            try:
                stream.sendall(request)
            except (BrokenPipeError, ConnectionResetError):
                raise _LostError("it has closed the connection") from None
            reader = _Reader(stream, until, host)
            reply = reader.read_reply()
        except BaseException:
            stream.close()
            raise
        if reply.headers.get("connection", "").lower() == "close":
            stream.close()
        else:
            self._idle.append(_Connection(stream, time.monotonic()))
        return reply

    def describe_failure(self, error: Exception) -> ServerError:
        """Return the error for a request that got no response."""
        if untrusted := getattr(error, "verify_message", ""):
            return ServerError(
                f"the certificate of {self.server} is not trusted ({untrusted}): set GATE_CA to "
                "the file with the certificate of its authority"
            )
        if isinstance(error, TimeoutError):
            why = "it does not respond"
        else:
            why = getattr(error, "strerror", "") or str(error) or type(error).__name__
        return ServerError(f"the server {self.server} cannot be reached ({why})")

    def read_reply(self, reply: Reply) -> Any:
        """Return the JSON of a response, or raise its error."""
        if reply.status == 304 or (not reply.body and reply.status < 300):
            return None
        try:
            found = json.loads(reply.body)
        except (ValueError, RecursionError):
            found = None
        if 200 <= reply.status < 300 and found is not None:
            return found
        detail = found.get("detail") if isinstance(found, dict) else None
        if isinstance(detail, str) and reply.status in _ERRORS:
            raise _ERRORS[reply.status](detail)
        said = detail if isinstance(detail, str) else "this is not a server of gatebell"
        said = said.rstrip(".")  # More words may follow.
        raise ServerError(f"the server {self.server} failed with {reply.status}: {said}")


def _encode_host(server: str) -> tuple[Any, int]:
    """Return the host and the port to connect to; as bytes, Python loads no tables of characters."""
    name, port = split_address(server)
    name = name.strip("[]")
    return name.encode() if name.isascii() else name, port


def _look_for_dead_peer(stream: socket.socket) -> None:
    """Let the kernel notice within 15 seconds that the network or the server's host is gone.

    While a request waits for its response, nothing else would.
    """
    stream.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    # macOS has no TCP_KEEPIDLE, and another name for the same option.
    for name, value in (("TCP_KEEPIDLE", 5), ("TCP_KEEPALIVE", 5), *_PROBES):
        if option := getattr(socket, name, None):
            stream.setsockopt(socket.IPPROTO_TCP, option, value)


def parse_head(head: bytes) -> Reply:
    """Return a response without its body."""
    first, *lines = head.decode("latin-1").split("\r\n")
    version, _, rest = first.partition(" ")
    status = rest[:3]
    if not version.startswith("HTTP/1.") or not (status.isascii() and status.isdecimal()):
        raise OSError("it does not speak HTTP")
    pairs = (line.partition(":")[::2] for line in lines)
    return Reply(int(status), {name.strip().lower(): value.strip() for name, value in pairs}, b"")


def parse_chunk_size(line: bytes, read: int) -> int:
    """Return how long the next chunk is; `read`: how long those before it were."""
    size = int(line.partition(b";")[0], 16)
    if size < 0 or read + size > _MAX_BODY_BYTES:
        raise OSError("its response is too long")
    return size


class _Reader:
    """Reads one response."""

    def __init__(self, stream: socket.socket, until: float, host: CallHost | None) -> None:
        self._stream = stream
        self._until = until
        self._host = host
        self._buffer = bytearray()

    def read_reply(self) -> Reply:
        head = parse_head(self._read_until(b"\r\n\r\n"))
        if head.is_chunked:
            return head._replace(body=self._read_chunks())
        return head._replace(body=self._read_exactly(head.length))

    def _read_chunks(self) -> bytes:
        body = bytearray()
        while True:
            size = parse_chunk_size(self._read_until(b"\r\n"), len(body))
            body += self._read_exactly(size)
            self._read_until(b"\r\n")
            if not size:
                return bytes(body)

    def _read_until(self, mark: bytes) -> bytes:
        while (end := self._buffer.find(mark)) < 0:
            if len(self._buffer) > MAX_HEAD_BYTES:
                raise OSError("its response has too many headers")
            self._receive()
        found = bytes(self._buffer[:end])
        del self._buffer[: end + len(mark)]
        return found

    def _read_exactly(self, size: int) -> bytes:
        while len(self._buffer) < size:
            self._receive()
        found = bytes(self._buffer[:size])
        del self._buffer[:size]
        return found

    def _receive(self) -> None:
        while True:
            left = self._until - time.monotonic()
            if left <= 0:
                raise TimeoutError
            self._stream.settimeout(min(left, _LOOK_SECONDS) if self._host else left)
            try:
                part = self._stream.recv(65_536)
            except TimeoutError:
                reason = self._host.find_reason_to_stop() if self._host else ""
                if reason:
                    raise StoppedError(reason) from None
                continue
            except ConnectionResetError:
                part = b""
            if part:
                self._buffer += part
                return
            if not self._buffer:
                raise _LostError("it has closed the connection")
            raise OSError("its response is incomplete")


class Patience:
    """Pauses between attempts that grow, until a time is over."""

    def __init__(self, seconds: float) -> None:
        self._until = time.monotonic() + seconds
        self._pause = _FIRST_PAUSE_SECONDS

    def pause(self) -> bool:
        """Pause before the next attempt; return False, at once, if the time is over."""
        seconds = self.choose_pause()
        if seconds is None:
            return False
        time.sleep(seconds)
        return True

    def choose_pause(self) -> float | None:
        """Return the seconds before the next attempt; None if the time is over."""
        # Not all clients come back in the same moment.
        seconds = self._pause * (0.5 + os.urandom(1)[0] / 255)
        if time.monotonic() + seconds > self._until:
            return None
        self._pause = min(self._pause * 2, _MAX_PAUSE_SECONDS)
        return seconds

    def begin_again(self) -> None:
        """Forget earlier failures after a success."""
        self._pause = _FIRST_PAUSE_SECONDS
