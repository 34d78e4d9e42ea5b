"""A small proxy with TLS, in the place of the one of deploy/."""

from __future__ import annotations

import asyncio
import random
import socket
import ssl
import threading


class TlsProxy:
    """Passes each connection to any of its servers that lives, and says for whom it is."""

    def __init__(self, certificates) -> None:
        self.ports: list[int] = []
        """The ports of the servers."""
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(certificates.cert, certificates.key)
        self._began = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True)
        self._thread.start()
        self._began.wait(10)

    async def _serve(self) -> None:
        self._loop, self._ended = asyncio.get_running_loop(), asyncio.Event()
        serving = asyncio.start_server(self._pass_on, sock=self._listener, ssl=self._context)
        async with await serving:
            self._began.set()
            await self._ended.wait()

    async def _pass_on(self, reader, writer) -> None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            near_reader, near = await self._connect()
            said = b"\r\nX-Forwarded-For: 127.0.0.1\r\nX-Forwarded-Proto: https\r\n\r\n"
            near.write(head.removesuffix(b"\r\n\r\n") + said)
            await asyncio.wait(
                [
                    asyncio.ensure_future(_pump(reader, near)),
                    asyncio.ensure_future(_pump(near_reader, writer)),
                ],
                return_when=asyncio.FIRST_COMPLETED,
            )
            near.close()
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async def _connect(self):
        for port in random.sample(self.ports, len(self.ports)):
            try:
                return await asyncio.open_connection("127.0.0.1", port)
            except OSError:
                continue
        raise OSError("no server lives")

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._ended.set)
        self._thread.join(10)


async def _pump(reader, writer) -> None:
    try:
        while part := await reader.read(65536):
            writer.write(part)
            await writer.drain()
    except OSError:
        pass
