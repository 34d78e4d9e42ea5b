"""One turn of Codex with its app server, which asks hooks as its terminal does."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from contextlib import suppress
from threading import Timer
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_MAX_SECONDS = 60


def run(
    words: Sequence[str],
    environ: Mapping[str, str],
    folder: str,
    prompt: str,
    *,
    policy: str = "on-request",
    seconds: float = _MAX_SECONDS,
) -> None:
    """Run one turn in a folder; decline every dialog of Codex itself."""
    server = subprocess.Popen(
        [*words, "app-server"],
        env={**environ, "SCRIPTED_KEY": "none"},
        cwd=folder,
        text=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    enough = Timer(seconds, _kill, (server,))
    enough.start()
    try:
        _converse(server, folder, prompt, policy)
    finally:
        enough.cancel()
        _kill(server)
        server.communicate()


def _kill(server: subprocess.Popen[str]) -> None:
    # The program on the PATH may be a launcher: the server is its child.
    with suppress(ProcessLookupError):
        os.killpg(server.pid, signal.SIGKILL)


def _converse(server: subprocess.Popen[str], folder: str, prompt: str, policy: str) -> None:
    said, heard = server.stdin, server.stdout
    assert said is not None
    assert heard is not None

    def send(message: dict[str, Any]) -> None:
        said.write(json.dumps(message) + "\n")
        said.flush()

    client = {"clientInfo": {"name": "gatebell", "version": "1"}}
    send({"id": 1, "method": "initialize", "params": client})
    for line in heard:
        message = json.loads(line)
        method, number = message.get("method"), message.get("id")
        if method and number is not None:
            send({"id": number, "result": {"decision": "decline"}})
        elif number == 1:
            send({"method": "initialized"})
            start = {"cwd": folder, "approvalPolicy": policy}
            send({"id": 2, "method": "thread/start", "params": start})
        elif number == 2:
            thread = message.get("result", {}).get("thread", {}).get("id")
            turn = {"threadId": thread, "input": [{"type": "text", "text": prompt}]}
            send({"id": 3, "method": "turn/start", "params": turn})
        elif method == "turn/completed" or (number == 3 and "error" in message):
            return


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
