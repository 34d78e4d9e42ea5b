"""Send by a command of the user; it gets the message in variables and on stdin."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from contextlib import suppress
from typing import TYPE_CHECKING

from gatebell.adapters.system.secret_variables import remove_secrets
from gatebell.errors import DeliveryError

if TYPE_CHECKING:
    from gatebell.domain.notifications.messages import NotificationMessage
    from gatebell.ports.channels import Withdrawal

_LIMIT_SECONDS = 30.0


class CommandChannel:
    def __init__(self, command: str, limit_seconds: float = _LIMIT_SECONDS) -> None:
        self._command = command
        self._limit_seconds = limit_seconds

    def withdraw(self, withdrawal: Withdrawal) -> None:
        self.send(withdrawal.news)

    def send(self, message: NotificationMessage) -> None:
        environ = remove_secrets(os.environ)
        told = message._asdict()
        del told["document"]
        process = subprocess.Popen(
            ["/bin/sh", "-c", self._command],
            # Not the agent's folder: a name in the command must not find a file there.
            cwd=os.path.expanduser("~"),
            env=environ | _build_variables(message),
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            process.communicate(json.dumps(told).encode(), timeout=self._limit_seconds)
        except subprocess.TimeoutExpired:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            raise DeliveryError(
                f"the command was ended after {self._limit_seconds:g} seconds: run "
                "slow work in the background"
            ) from None
        if process.returncode:
            raise DeliveryError(f"the command ended with exit code {process.returncode}")


def _build_variables(message: NotificationMessage) -> dict[str, str]:
    return {
        "GATE_NOTICE_ID": message.id,
        "GATE_KIND": message.kind,
        "GATE_TITLE": message.title,
        "GATE_BODY": message.body,
        "GATE_LINK": message.link,
        "GATE_PRIORITY": message.priority.word,
        "GATE_ASK_ID": message.ask_id,
        "GATE_ASK_IDS": " ".join(message.ask_ids),
    }
