"""A machine with an empty home, and scripts in place of the programs that make an address.

They print the output of the real programs, as far as public documentation shows it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from gatebell.app import daemon
from tests.support.certificates import make_certificates
from tests.support.tls_proxy import TlsProxy
from tests.support.web_server import free_port

TAILSCALE = """#!/bin/sh
# $STATE/running: connected; $STATE/refuses: what `serve` prints instead of serving.
echo "$*" >> "{state}/calls"
case "$*" in
"status --json")
    if [ -e "{state}/running" ]; then now=Running; else now=Stopped; fi
    echo '{{"Version": "1.90.2", "BackendState": "'$now'", "Self": {{"DNSName": "localhost."}}}}' ;;
"serve status --json")
    if [ -e "{state}/serve" ]; then cat "{state}/serve"; else echo '{{}}'; fi ;;
"serve --bg --https="*)
    if [ -e "{state}/refuses" ]; then cat "{state}/refuses"; exit 1; fi
    printf '{{"TCP": {{"{https}": {{"HTTPS": true}}}}, "Web": {{"localhost:{https}":' > "{state}/serve"
    printf '{{"Handlers": {{"/": {{"Proxy": "%s"}}}}}}}}}}' "$4" >> "{state}/serve"
    printf 'Available within your tailnet:\\n\\nhttps://localhost:{https}/\\n|-- proxy %s\\n\\n' "$4"
    echo 'Serve started and running in the background.' ;;
*) exit 2 ;;
esac
"""
CLOUDFLARED = """#!/bin/sh
echo "cloudflared $*" >> "{state}/calls"
if [ -e "{state}/refuses" ]; then cat "{state}/refuses" >&2; exit 1; fi
now=2026-01-01T12:00:00Z
{{
echo "$now INF Thank you for trying Cloudflare Tunnel."
echo "$now INF Requesting new quick Tunnel on trycloudflare.com..."
echo "$now INF +------------------------------------------------------------------------------+"
echo "$now INF |  Your quick Tunnel has been created! Visit it at (it may take some time):   |"
echo "$now INF |  https://calm-river-1234.trycloudflare.com                                  |"
echo "$now INF +------------------------------------------------------------------------------+"
}} >&2
exec sleep 600
"""


class NtfyServer:
    """Keeps the messages that are published."""

    def __init__(self):
        self.messages = messages = []
        self.came = came = threading.Event()

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["content-length"]))
                messages.append((self.path, dict(self.headers), body.decode()))
                self.send_response(200)
                self.send_header("content-length", "2")
                self.end_headers()
                self.wfile.write(b"{}")
                came.set()

            def log_message(self, *_):
                """Print nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def close(self):
        self._server.shutdown()
        self._server.server_close()


class PhoneWorld:
    """An empty home, a PATH with these scripts, a name with TLS, and `gate` in it."""

    def __init__(self, folder):
        self.home, self.bin, self.state = folder / "home", folder / "bin", folder / "state"
        for one in (self.home, self.bin, self.state):
            one.mkdir()
        self.port = free_port()
        certificates = make_certificates(folder, "DNS:localhost")
        self.proxy = TlsProxy(certificates)
        self.proxy.ports = [self.port]
        self.url = f"https://localhost:{self.proxy.port}"
        self.ntfy = NtfyServer()
        self.store = str(self.home / ".local" / "share" / "gatebell" / "gate.db")
        path = f"{self.bin}:{os.path.dirname(sys.executable)}:/usr/bin:/bin"
        self.environ = {
            "HOME": str(self.home), "PATH": path, "GATE_CA": certificates.ca, "USER": "ada",
            "LOGNAME": "ada", "LANG": "C.UTF-8", "TERM": "screen-256color",
        }  # fmt: skip

    def add_program(self, name, text="#!/bin/sh\n"):
        place = self.bin / name
        place.write_text(text.format(state=self.state, https=self.proxy.port))
        place.chmod(0o755)

    def add_tailscale(self, *, running=True):
        self.add_program("tailscale", TAILSCALE)
        if running:
            (self.state / "running").touch()

    def calls(self):
        path = self.state / "calls"
        return path.read_text().splitlines() if path.exists() else []

    def gate(self, *words, **environ):
        return subprocess.run(
            [sys.executable, "-m", "gatebell", *words],
            env=self.environ | environ,
            cwd=self.home,
            capture_output=True,
            text=True,
            check=False,
            timeout=90,
            stdin=subprocess.DEVNULL,
        )

    def set_up(self, *words, **environ):
        """Run it for a script, and return its summary."""
        ran = self.gate("setup", "--yes", "--json", f"--port={self.port}", *words, **environ)
        return ran, json.loads(ran.stdout)

    def close(self):
        daemon.end(self.store)
        self.proxy.close()
        self.ntfy.close()
