"""Carry asks to chats and answers back, until Ctrl+C.

gate up and gate serve do it, too. You need gate bridge only without them, such as on a machine
without a web inbox. What is set up where: docs/chat.md.

Example: gate bridge
Example: gate person link telegram
"""

from __future__ import annotations

import os
import signal
import threading
from typing import TYPE_CHECKING

from gatebell.app import chats, locks, settings, wiring
from gatebell.domain.enums import MemberKind
from gatebell.errors import UsageError
from gatebell.services.people import manage_logins

if TYPE_CHECKING:
    import argparse

_LOOK_AGAIN_SECONDS = 2.0


def configure(parser: argparse.ArgumentParser) -> None:
    """Take no options."""


def run(args: argparse.Namespace) -> int:
    # This process sends, so it starts no sender for its own notices.
    store = wiring.open_store(starts_sender=False)
    manage_logins.must_be_let_in(store, wiring.caller(store, "cli"))
    found = chats.list_set_up()
    if not found:
        raise UsageError(
            "no chat is set up: name a file with its token in telegram_token_file or "
            "slack_token_file (docs/chat.md)"
        )
    # Imported here: --help needs none of it.
    from gatebell.services.members import Membership
    from gatebell.services.notifications.send_notices import Sender

    stopped = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stopped.set())
    post = wiring.post(store)
    sender = Sender(store, post, wiring.post_source(store, post.url))
    membership = Membership(store, MemberKind.SENDER)
    lock = None
    end = chats.begin(store)
    print(f"Listening to {' and '.join(found)}. Ctrl+C ends it; asks stay pending.", flush=True)
    try:
        while not stopped.is_set():
            # Another sender of this store, such as one that an ask started, ends by itself.
            if lock is None and (lock := _hold_sending()) is not None:
                sender.start()
            stopped.wait(_LOOK_AGAIN_SECONDS)
    finally:
        end()
        if lock is not None:
            sender.stop()
            locks.release(lock)
        membership.end()
    return 0


def _hold_sending() -> int | None:
    path = settings.local_path(os.environ)
    if locks.is_held(locks.up_lock_path(path)):
        return None
    return locks.hold(locks.lock_path(path))
