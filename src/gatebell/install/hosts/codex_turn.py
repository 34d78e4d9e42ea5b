"""One turn of Codex with its app server, which asks hooks as its terminal does."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from contextlib import contextmanager, suppress
from threading import Timer
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_MAX_SECONDS = 60


class _Server:
    """Codex's app server: lines of JSON in both directions."""

    def __init__(self, program: str, environ: Mapping[str, str], folder: str) -> None:
        self._process = subprocess.Popen(
            [program, "app-server"],
            env={**environ, "SCRIPTED_KEY": "none"},
            cwd=folder,
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def send(self, **message: Any) -> None:
        said = self._process.stdin
        assert said is not None
        said.write(json.dumps(message) + "\n")
        said.flush()

    def receive(self) -> Iterator[dict[str, Any]]:
        """Introduce ourselves; yield each message after that."""
        heard = self._process.stdout
        assert heard is not None
        client = {"clientInfo": {"name": "gatebell", "version": "1"}}
        self.send(id=1, method="initialize", params=client)
        for line in heard:
            message = json.loads(line)
            if message.get("id") == 1 and "method" not in message:
                self.send(method="initialized")
            yield message

    def kill(self) -> None:
        # The program on the PATH may be a launcher: the server is its child.
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)

    def close(self) -> None:
        self.kill()
        self._process.communicate()


@contextmanager
def _open_server(
    program: str, environ: Mapping[str, str], folder: str, seconds: float
) -> Iterator[_Server]:
    server = _Server(program, environ, folder)
    enough = Timer(seconds, server.kill)
    enough.start()
    try:
        yield server
    finally:
        enough.cancel()
        server.close()


def run(
    program: str,
    environ: Mapping[str, str],
    folder: str,
    prompt: str,
    *,
    policy: str = "on-request",
    seconds: float = _MAX_SECONDS,
) -> None:
    """Run one turn in a folder; decline every dialog of Codex itself."""
    with _open_server(program, environ, folder, seconds) as server:
        for message in server.receive():
            method, number = message.get("method"), message.get("id")
            if method and number is not None:
                server.send(id=number, result={"decision": "decline"})
            elif number == 1:
                start = {"cwd": folder, "approvalPolicy": policy}
                server.send(id=2, method="thread/start", params=start)
            elif number == 2:
                thread = message.get("result", {}).get("thread", {}).get("id")
                turn = {"threadId": thread, "input": [{"type": "text", "text": prompt}]}
                server.send(id=3, method="turn/start", params=turn)
            elif method == "turn/completed" or (number == 3 and "error" in message):
                return


def build_trust(program: str, environ: Mapping[str, str], folder: str) -> str:
    """Return the settings with which a person trusts each hook that Codex finds."""
    with _open_server(program, environ, folder, _MAX_SECONDS) as server:
        for message in server.receive():
            if message.get("id") == 1:
                server.send(id=2, method="hooks/list", params={"cwds": [folder]})
            elif message.get("id") == 2:
                found = message.get("result", {}).get("data", [])
                hooks = [hook for one in found for hook in one["hooks"]]
                return "".join(
                    f"\n[hooks.state.{json.dumps(hook['key'])}]\n"
                    f"trusted_hash = {json.dumps(hook['currentHash'])}\n"
                    for hook in hooks
                )
    return ""


SETTINGS = """\
model = "scripted"
model_provider = "scripted"
check_for_update_on_startup = false
sandbox_mode = "danger-full-access"

[features]
apps = false
plugins = false
daemon_auto_start = false

[model_providers.scripted]
name = "scripted"
base_url = "{url}/v1"
wire_api = "responses"
env_key = "SCRIPTED_KEY"
request_max_retries = 0
stream_max_retries = 0
supports_websockets = false

"""
