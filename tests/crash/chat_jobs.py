"""A bridge in a process of its own: it receives, acts and confirms until nothing is left.

The process prints READY and waits for a byte, as in `operation.py`. When its updates are confirmed,
it prints ACK.
"""

from __future__ import annotations

import os
import socket
import sys
import threading
from contextlib import closing

import operation
import workers

from gatebell.adapters.channels.slack import SlackChat
from gatebell.adapters.channels.telegram import TelegramChat
from gatebell.app import wiring
from gatebell.services.chats.take_update import take_update


class _UntilConfirmed(TelegramChat):
    """Ends once a poll has confirmed everything."""

    def _poll(self):
        found = super()._poll()
        if not found:
            self.stop()
        return found


def telegram(path: str, url: str, tokens: list[str]) -> None:
    with closing(wiring.open_store(path, starts_sender=False)) as store:
        chat = _UntilConfirmed(url, tokens[0], poll_seconds=0)
        os.write(1, b"READY\n")
        workers.may_start()
        chat.listen(lambda update: take_update(store, update, chat_calls=True), list)
        os.write(1, b"ACK done\n")


def slack(path: str, url: str, tokens: list[str]) -> None:
    """End when the hold on stdin is gone: only the service knows that all is confirmed."""
    with closing(wiring.open_store(path, starts_sender=False)) as store:
        chat = SlackChat(url, *tokens)
        os.write(1, b"READY\n")
        workers.may_start()

        def end() -> None:
            os.read(0, 1)
            chat.stop()

        threading.Thread(target=end, daemon=True).start()
        chat.listen(lambda update: take_update(store, update, chat_calls=True), list)
        os.write(1, b"ACK done\n")


operation.JOBS.update(telegram=telegram, slack=slack)

if __name__ == "__main__":
    # Imported here, so that no process spends its calls on it.
    import slack_sdk.socket_mode.builtin

    assert slack_sdk.socket_mode.builtin
    operation.serve(socket.socket(fileno=int(sys.argv[1])))
