"""What a command says on stderr while its server is slow or away."""

from __future__ import annotations

import sys
import time
from contextlib import nullcontext
from typing import TYPE_CHECKING

from gatebell.domain.text.display import inert_line

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from gatebell.errors import ServerError

# The pauses between the attempts grow, so the next failure after this comes at about two seconds.
_QUIET_SECONDS = 1.0
_MAX_COLUMNS = 300


class ServerNotices:
    """Says once that the server is away, and once that it is back.

    A slow response is shown on a terminal only, by a line that goes away.
    """

    def __init__(self, server: str) -> None:
        self._server = server
        self._failed_at: float | None = None
        self._is_told = False

    def watch_request(self) -> AbstractContextManager[None]:
        if not sys.stderr.isatty():
            return nullcontext()
        # Imported here: it needs a thread, and only people look at a terminal.
        from gatebell.cli.status_line import show_progress

        return show_progress(f"Waiting for {self._server}")

    def note_failure(self, error: ServerError) -> None:
        if self._failed_at is None:
            self._failed_at = time.monotonic()
        if not self._is_told and time.monotonic() - self._failed_at >= _QUIET_SECONDS:
            self._is_told = True
            self._say(f"{error}; trying again")

    def note_reply(self) -> None:
        if self._is_told:
            self._say(f"the server {self._server} is back")
        self._failed_at, self._is_told = None, False

    def _say(self, text: str) -> None:
        # Imported here: most commands have nothing to say about their server.
        from gatebell.cli.asks.output_answer import read_script_prefix

        begin = read_script_prefix() or "gate:"
        print(f"{begin} {inert_line(text, _MAX_COLUMNS)}", file=sys.stderr, flush=True)
