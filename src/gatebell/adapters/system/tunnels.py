"""Ask tailscale and cloudflared for an https:// address, with fixed arguments and limits."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from contextlib import suppress

from gatebell.domain.enums import TunnelKind, TunnelState
from gatebell.domain.phone.tunnels import (
    Tunnel,
    explain_refusal,
    find_quick_tunnel,
    read_tailscale,
)
from gatebell.errors import GateError
from gatebell.ports.phone import OpenTunnel

_STATUS_SECONDS = 5.0
_SERVE_SECONDS = 20.0
_STARTS_WITHIN_SECONDS = 30.0
_POLL_SECONDS = 0.1
_MAX_OUTPUT = 100_000


class ProgramTunnels:
    """The programs on the PATH; the log of a started one is at a path."""

    def __init__(self, log: str) -> None:
        self._log = log

    def find(self, kind: TunnelKind, port: int) -> Tunnel:
        program = shutil.which(kind)
        if program is None:
            return Tunnel(kind, TunnelState.MISSING)
        if kind == TunnelKind.CLOUDFLARED:
            return Tunnel(kind, TunnelState.READY)
        status = _run(_STATUS_SECONDS, program, "status", "--json")
        serve = _run(_STATUS_SECONDS, program, "serve", "status", "--json")
        return read_tailscale(status, serve, port)

    def open(self, tunnel: Tunnel, port: int) -> OpenTunnel:
        program = shutil.which(tunnel.kind)
        if program is None:
            raise GateError(f"{tunnel.kind} is not on the PATH: install it first")
        if tunnel.kind == TunnelKind.CLOUDFLARED:
            return self._start_cloudflared(program, port)
        words = ("serve", "--bg", f"--https={tunnel.https_port}", f"http://127.0.0.1:{port}")
        said = _run(_SERVE_SECONDS, program, *words, with_errors=True)
        after = self.find(tunnel.kind, port)
        if after.state != TunnelState.SERVING:
            raise GateError(explain_refusal(said))
        return OpenTunnel(after.url)

    def _start_cloudflared(self, program: str, port: int) -> OpenTunnel:
        """Start a quick tunnel that outlives this process."""
        kept = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
        streams = [
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, self._log, kept, 0o600),
            (os.POSIX_SPAWN_DUP2, 1, 2),
        ]
        command = [program, "tunnel", "--no-autoupdate", "--url", f"http://127.0.0.1:{port}"]
        pid = os.posix_spawn(program, command, os.environ, file_actions=streams, setsid=True)
        until = time.monotonic() + _STARTS_WITHIN_SECONDS
        while time.monotonic() < until:
            if url := find_quick_tunnel(self._read_log()):
                return OpenTunnel(url, pid)
            if os.waitpid(pid, os.WNOHANG) != (0, 0):
                break
            time.sleep(_POLL_SECONDS)
        else:
            # Nothing knows this process, so it must not stay.
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)
        lines = self._read_log().strip().splitlines()
        said = f"; it said: {lines[-1][:200]}" if lines else ""
        raise GateError(f"cloudflared made no address{said}. Its log: {self._log}")

    def _read_log(self) -> str:
        with open(self._log, encoding="utf-8", errors="replace") as file:
            return file.read(_MAX_OUTPUT)


def _run(seconds: float, *words: str, with_errors: bool = False) -> str:
    """Return the output of a program; after the limit it is ended."""
    errors = subprocess.STDOUT if with_errors else subprocess.DEVNULL
    try:
        output = subprocess.run(
            words,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            timeout=seconds,
            check=False,
        ).stdout
    except subprocess.TimeoutExpired as error:
        output = error.stdout or b""
    except OSError as error:
        return str(error.strerror)
    return output[:_MAX_OUTPUT].decode("utf-8", "replace")
