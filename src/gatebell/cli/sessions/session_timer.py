"""Watch a visit: end it when its time is over or when the ask is settled elsewhere."""

from __future__ import annotations

import os
import sys
from contextlib import closing, suppress
from math import ceil
from typing import TYPE_CHECKING, NamedTuple

from gatebell.domain.asks.asks import Origin, last_settler
from gatebell.domain.enums import VisitEnd
from gatebell.domain.sessions.visits import VIA
from gatebell.errors import GateError
from gatebell.services.asks import create_ask
from gatebell.services.asks.apply_deadlines import fall_due
from gatebell.services.notifications import notes
from gatebell.services.sessions import ask_session

if TYPE_CHECKING:
    from gatebell.cli.sessions.terminal_handover import Program
    from gatebell.domain.asks.asks import Ask
    from gatebell.domain.people.principals import Caller
    from gatebell.domain.sessions.visits import Visit
    from gatebell.ports.store import Store

TIME = VisitEnd.TIME
STOPPED = VisitEnd.STOPPED
_POLL_SECONDS = 1.0
_TITLE_EVERY_SECONDS = 10.0


class VisitTimer(NamedTuple):
    """Watches a visit in a thread beside its program."""

    store: Store
    visit: Visit
    caller: Caller
    seconds_left: float | None
    grace_seconds: float

    def attend(self, program: Program) -> None:
        """Watch until the program ends, or end it."""
        began = self.store.monotonic()
        # An error of the store must not end the conversation.
        with suppress(GateError):
            ask_session.note_program(self.store, self.visit, str(program.process))
        warned_at: float | None = None
        with closing(self.store.bell()) as bell:
            while not program.over:
                if ask := self._find_settled():
                    if not self._is_decided_here(ask):
                        program.end(STOPPED)
                    return
                used = self.store.monotonic() - began
                left = self._compute_left(used)
                if left is not None and warned_at is None and left < self.grace_seconds:
                    # After Ctrl+Z the person was not warned in time, so the grace starts now.
                    late = self.grace_seconds - left
                    began, used, left = began + late, used - late, self.grace_seconds
                if left is not None and left <= 0:
                    program.end(TIME)
                    return
                if left is not None and left <= self.grace_seconds:
                    warned_at = self._warn(used, left, warned_at)
                bell.wait(self._pause(left))

    def _compute_left(self, used: float) -> float | None:
        """Return the seconds until the visit is ended, with the grace."""
        return None if self.seconds_left is None else self.seconds_left + self.grace_seconds - used

    def _pause(self, left: float | None) -> float:
        """Return how long to wait until the next look, unless the bell rings."""
        if left is None:
            return _POLL_SECONDS
        quiet = left - self.grace_seconds
        return min(_POLL_SECONDS, quiet if quiet > 0 else left)

    def _find_settled(self) -> Ask | None:
        with suppress(GateError):
            ask = fall_due(self.store, create_ask.get(self.store, self.visit.ask_id))
            return None if ask.pending else ask
        return None

    def _is_decided_here(self, ask: Ask) -> bool:
        """Return whether the visitor settled it in the session; they leave when they like."""
        return ask.settled_via == VIA and last_settler(ask) == self.visit.by

    def _warn(self, used: float, left: float, warned_at: float | None) -> float:
        """Ring once, and show the remaining time in the title, which the program may overwrite."""
        if warned_at is not None and used - warned_at < _TITLE_EVERY_SECONDS:
            return warned_at
        bell = "\a" if warned_at is None else ""
        title = f"Time is over: this session ends in {ceil(left)} seconds"
        with suppress(OSError):
            os.write(sys.stdout.fileno(), f"{bell}\x1b]0;{title}\a".encode())
        if warned_at is None:
            with suppress(GateError):
                ask = create_ask.get(self.store, self.visit.ask_id)
                text = f"{ask.id}: time is over. This session ends in {ceil(left)} seconds."
                notes.tell(self.store, Origin(ask.origin.project, agent="gate"), self.caller, text)
        return used
