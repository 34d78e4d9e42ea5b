"""While somebody sits in a session: keeping its time, and seeing whether the ask is still open."""

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


class Attendant(NamedTuple):
    """Sees to a sitting, on a thread beside its program."""

    store: Store
    visit: Visit
    caller: Caller
    seconds_left: float | None
    grace_seconds: float

    def attend(self, program: Program) -> None:
        """Until the program is over, or has to be."""
        began = self.store.monotonic()
        # A store that gives trouble just now must not take the talk away from anybody.
        with suppress(GateError):
            ask_session.note_program(self.store, self.visit, str(program.process))
        warned_at: float | None = None
        with closing(self.store.bell()) as bell:
            while not program.over:
                if ask := self._find_settled():
                    if not self._decided_here(ask):
                        program.end(STOPPED)
                    return
                used = self.store.monotonic() - began
                left = self._left(used)
                if left is not None and warned_at is None and left < self.grace_seconds:
                    # Stopped by Ctrl+Z, nobody was warned in time: the grace begins now.
                    late = self.grace_seconds - left
                    began, used, left = began + late, used - late, self.grace_seconds
                if left is not None and left <= 0:
                    program.end(TIME)
                    return
                if left is not None and left <= self.grace_seconds:
                    warned_at = self._warn(used, left, warned_at)
                bell.wait(self._pause(left))

    def _left(self, used: float) -> float | None:
        """Seconds until it is ended, those of grace among them."""
        return None if self.seconds_left is None else self.seconds_left + self.grace_seconds - used

    def _pause(self, left: float | None) -> float:
        """How long nothing needs to be looked at; the bell may ring before."""
        if left is None:
            return _POLL_SECONDS
        quiet = left - self.grace_seconds
        return min(_POLL_SECONDS, quiet if quiet > 0 else left)

    def _find_settled(self) -> Ask | None:
        with suppress(GateError):
            ask = fall_due(self.store, create_ask.get(self.store, self.visit.ask_id))
            return None if ask.pending else ask
        return None

    def _decided_here(self, ask: Ask) -> bool:
        """Who decides in the session itself leaves it as they like."""
        return ask.settled_via == VIA and last_settler(ask) == self.visit.by

    def _warn(self, used: float, left: float, warned_at: float | None) -> float:
        """Ring once, and say in the title how long there is; the program may write its own there."""
        if warned_at is not None and used - warned_at < _TITLE_EVERY_SECONDS:
            return warned_at
        bell = "\a" if warned_at is None else ""
        title = f"Time is up: this session ends in {ceil(left)} seconds"
        with suppress(OSError):
            os.write(sys.stdout.fileno(), f"{bell}\x1b]0;{title}\a".encode())
        if warned_at is None:
            with suppress(GateError):
                ask = create_ask.get(self.store, self.visit.ask_id)
                text = f"{ask.id}: the time of this session is up. It ends in {ceil(left)} seconds."
                notes.tell(self.store, Origin(ask.origin.project, agent="gate"), self.caller, text)
        return used
