"""A person's own store with routes, and a server on this machine that takes their messages."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from gatebell.app import locks, settings, wiring
from gatebell.ports.channels import Post
from tests.support.waiting import eventually

PATIENCE_SECONDS = 30


class Server:
    """Take every request, answer as configured, or leave one without an answer."""

    def __init__(self):
        self.requests = []
        self.methods = []
        self.answers = []
        self.arrived = threading.Semaphore(0)
        self.hold = threading.Event()
        self.hold.set()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                outer.methods.append(self.command)
                body = self.rfile.read(int(self.headers["content-length"] or 0))
                headers = {name.lower(): text for name, text in self.headers.items()}
                outer.requests.append((self.path, headers, body))
                outer.arrived.release()
                outer.hold.wait(PATIENCE_SECONDS)
                status = outer.answers.pop(0) if outer.answers else 200
                try:
                    self.send_response(status)
                    self.send_header("location", f"{outer.url}/elsewhere")
                    self.end_headers()
                    self.wfile.write(b"{}")
                except OSError:
                    pass  # the client was killed, or has given up

            do_DELETE = do_POST  # noqa: N815 - http.server's name

            def log_message(self, *_):
                """Log nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.port = self._server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))
        self._thread.start()

    def take(self):
        assert self.arrived.acquire(timeout=PATIENCE_SECONDS), "no request came"
        return self.requests[-1]

    def close(self):
        self.hold.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


class Home:
    """A person's own store, with routes in the settings file."""

    def __init__(self, world):
        self.world = world
        self.path = str(world.folder / "own" / "gate.db")
        self.file = Path(world.plain.environ["HOME"]) / ".config" / "gatebell" / "config.toml"
        self.file.parent.mkdir(parents=True)
        environ = world.plain.environ | {"GATE_STORE": self.path}
        self.shell = type(world.plain)(world.plain.folder, environ)
        self.gate, self.start = self.shell.gate, self.shell.start

    def write(self, *routes, first=""):
        tables = [
            "\n".join(
                ["[[notify]]", *(f"{key} = {json.dumps(text)}" for key, text in route.items())]
            )
            for route in routes
        ]
        self.file.write_text("\n".join([first, *tables]))

    def ask(self, *words, **environ):
        ran = self.gate("ask", "--no-wait", *words, **environ)
        assert ran.code == 0, ran.err
        return ran.out.strip()

    def post(self, store):
        environ = {"XDG_CONFIG_HOME": str(self.file.parent.parent)}
        made = wiring.post(store)
        return Post(settings.routes(environ), made.channels, settings.inbox_url(environ))

    def wait_for_sender(self):
        eventually(lambda: not locks.is_held(locks.lock_path(self.path)))
