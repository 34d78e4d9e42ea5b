"""`Human`: asking people one question at a time, also one that they work out in a session."""

from __future__ import annotations

import os
import sys
import threading
from typing import TYPE_CHECKING, Any, Protocol, cast

from gatebell.api import session_options
from gatebell.api.schemas import wish
from gatebell.app import wiring
from gatebell.domain.asks.answers import Given, interpret
from gatebell.domain.asks.asks import settled_sentence
from gatebell.domain.asks.outcomes import SessionOutcome
from gatebell.domain.enums import AskKind, StrEnum, VisitEnd
from gatebell.domain.sessions.visits import VIA
from gatebell.domain.text.display import plain
from gatebell.domain.text.redaction import redact
from gatebell.domain.text.suggestions import suggest
from gatebell.errors import AlreadySettledError, InvalidAnswerError, UsageError
from gatebell.services.asks import answer_ask, apply_deadlines, create_ask
from gatebell.services.sessions import ask_session

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Unpack

    from gatebell.api.schemas import ExpectedAnswer
    from gatebell.api.session_options import InteractiveOptions
    from gatebell.domain.asks.asks import Ask
    from gatebell.domain.asks.outcomes import Outcome, Session
    from gatebell.domain.people.principals import Caller
    from gatebell.ports.store import Store
    from gatebell.services.asks.create_ask import Request
    from gatebell.services.sessions.ask_session import AskVisit

    class Inbox(Protocol):
        """Where a handle asks: a `Gate`."""

        store: Store
        token: str

        def open(
            self, prompt: str, kind: str, *, options: Sequence[str] = ..., **more: Any
        ) -> str: ...
        def send(self, request: Request) -> str: ...
        def wait(self, ask_id: str) -> Outcome: ...
        def caller(self) -> Caller: ...


class HandleStatus(StrEnum):
    """How far the last ask of a handle is."""

    IDLE = "idle"
    PENDING = "pending"
    RESOLVED = "resolved"


_MAX_LISTED = 10_000
_ENDS = {
    SessionOutcome.COMPLETED: VisitEnd.LEFT,
    SessionOutcome.CANCELLED: VisitEnd.LEFT,
    SessionOutcome.TIMEOUT: VisitEnd.TIME,
    SessionOutcome.FAILED: VisitEnd.FAILED,
}
# Whoever asks while another session has the terminal waits for an answer from elsewhere.
_terminal = threading.Lock()


class Human:
    """A person to turn to. A handle asks one thing at a time; make another for another."""

    def __init__(self, inbox: Inbox) -> None:
        self._inbox = inbox
        self._lock = threading.Lock()
        self._ask_id: str | None = None
        self._opening = False
        self._seats: dict[str, AskVisit] = {}

    @property
    def status(self) -> HandleStatus:
        """`idle`, `pending` or `resolved`, of what was asked last."""
        if self._opening:
            return HandleStatus.PENDING
        if self._ask_id is None:
            return HandleStatus.IDLE
        last = create_ask.get(self._inbox.store, self._ask_id)
        is_pending = apply_deadlines.fall_due(self._inbox.store, last).pending
        return HandleStatus.PENDING if is_pending else HandleStatus.RESOLVED

    @property
    def session_id(self) -> str | None:
        """The id of what was asked last, for `gate continue ID` and `wait`."""
        return self._ask_id

    def ask(self, prompt: str, options: Sequence[str] = (), **more: Any) -> Outcome:
        """A text, or one of some options, whose `.value` is the option; neither is true or false."""
        return self._inbox.wait(self.open(prompt, options, **more))

    def ask_interactive(self, prompt: str, **options: Unpack[InteractiveOptions]) -> Session:
        """What a person and an agent come to; waits until then.

        Whoever is at this terminal finds the session opened here; everybody else with
        `gate continue ID`.
        """
        ask_id, wanted = self.open_interactive(prompt, options)
        self.sit_here(ask_id)
        return session(self._inbox.wait(ask_id), wanted)

    def wait(self, ask_id: str, outcome: object = None) -> Session:
        """Of a session that was asked for before, also by a process that has died since."""
        wanted = self.wanted(ask_id, outcome)
        return session(self._inbox.wait(ask_id), wanted)

    def cancel(self, reason: str = "") -> Ask:
        """Withdraw what is pending, from any thread; whoever waits for it gets `cancelled`."""
        with self._lock:
            if self._ask_id is None or self.status != HandleStatus.PENDING:
                raise UsageError("nothing is pending here that could be cancelled")
            return create_ask.cancel(self._inbox.store, self._ask_id, self._inbox.caller(), reason)

    def open(self, prompt: str, options: Sequence[str] = (), **more: Any) -> str:
        """Ask without waiting."""
        kind = AskKind.CHOICE if options else AskKind.TEXT
        return self._open(lambda: self._inbox.open(prompt, kind, options=options, **more))

    def open_interactive(
        self, prompt: str, options: InteractiveOptions
    ) -> tuple[str, ExpectedAnswer]:
        """Ask for a session without waiting: its id, and what its answer becomes."""
        request, wanted = session_options.request(prompt, options)
        return self._open(lambda: self._inbox.send(request)), wanted

    def _open(self, opening: Callable[[], str]) -> str:
        with self._lock:
            if self.status == HandleStatus.PENDING:
                raise UsageError(
                    f"{self._ask_id} is still pending here, and a handle asks one thing at a time: "
                    "wait for it, cancel it, or ask with another Human(gate)"
                )
            # Until the new one is there, nobody may take the old one for it.
            self._ask_id, self._opening = None, True
            try:
                self._ask_id = opening()
            finally:
                self._opening = False
            return self._ask_id

    def wanted(self, ask_id: str, outcome: object) -> ExpectedAnswer:
        """What the answer of a session that was asked for before is to become."""
        if create_ask.get(self._inbox.store, ask_id).question.kind != AskKind.SESSION:
            raise UsageError(f"{ask_id} is no session: gate wait {ask_id}")
        return wish(outcome)

    def sit_here(self, ask_id: str) -> None:
        """Open a session in this terminal, if a person is at it; comes back when they leave it."""
        if not self._is_attended() or not _terminal.acquire(blocking=False):
            return
        # Imported here: most who ask are no programs at a terminal.
        import subprocess

        told = {"GATE_STORE": os.path.abspath(self._inbox.store.path)}
        if self._inbox.token:
            told["GATE_TOKEN"] = self._inbox.token
        # -P: nothing that lies in this folder is taken for gatebell.
        words = [sys.executable, "-P", "-m", "gatebell", "continue", ask_id]
        interrupted = False
        try:
            child = subprocess.Popen(words, env=os.environ | told)
            while child.returncode is None:
                try:
                    child.wait()
                except KeyboardInterrupt:
                    # It is told the same by the terminal, and says what it has kept.
                    interrupted = True
        finally:
            _terminal.release()
        if interrupted:
            raise KeyboardInterrupt

    def _is_attended(self) -> bool:
        at_terminal = wiring.terminal().is_attended()
        return bool(at_terminal and self._inbox.store.path and not self._inbox.caller().agent)

    def request_interactive(self, prompt: str, config: InteractiveOptions | None = None) -> str:
        """Ask for a session and go on; `config` holds what `ask_interactive` takes. Its id."""
        return self._inbox.send(session_options.request(prompt, config or {})[0])

    def list_pending(self, kind: str | None = None) -> list[Ask]:
        """What is waiting, of every asker; of one kind only, if that is named."""
        if kind not in (None, *AskKind):
            near = suggest(str(kind), AskKind) or f"; there are {', '.join(AskKind)}"
            raise UsageError(f"{kind!r} is not a kind of ask{near}")
        apply_deadlines.sweep(self._inbox.store)
        found = self._inbox.store.asks.pending(_MAX_LISTED)
        return [ask for ask in found if kind in (None, ask.question.kind)]

    def claim(self, ask_id: str, cli: str = "", session: str = "") -> AskVisit:
        """Take a session, so that nobody else opens it; RefusedError says who has it.

        `cli` and `session` name the conversation; one that was begun before goes on.
        """
        store, caller = self._inbox.store, self._inbox.caller()
        with self._lock:
            # Another thread may be giving it back, and forgets the visit that it ended.
            seat = ask_session.open_visit(store, ask_id, caller, cli, session)
            self._seats[ask_id] = seat
        return seat

    def release(self, ask_id: str) -> None:
        """Give a session back undecided; it goes on waiting."""
        if ask_id not in self._seats:
            raise UsageError(f"the session of {ask_id} was not claimed here")
        self._rise(self._seats[ask_id], self._inbox.caller(), VisitEnd.LEFT)

    def complete_interactive(
        self,
        ask_id: str,
        outcome: str,
        response: Any = None,
        transcript: str | None = None,
        duration_ms: float | None = None,
    ) -> Ask:
        """Give a session back with what came of it; the ask as it is then.

        `completed` answers it with the response of the person, who is the caller; `cancelled`
        withdraws it, `timeout` says that its time is up, and `failed` that this attempt was in
        vain, with the response as the reason. A response that does not fit leaves it claimed.
        """
        ended = next((one for one in _ENDS if one == outcome), None)
        if ended is None:
            raise UsageError(f"a session's outcome is {', '.join(_ENDS)}, not {outcome!r}")
        if duration_ms is not None and not (
            isinstance(duration_ms, int | float) and 0 <= duration_ms < 1e12
        ):
            raise UsageError(f"duration_ms is a number of milliseconds, not {duration_ms!r}")
        store, caller = self._inbox.store, self._inbox.caller()._replace(via=VIA)
        ask, seat = create_ask.get(store, ask_id), self._seats.get(ask_id)
        if ask.pending:
            seat = seat or self.claim(ask_id)
            if ended == SessionOutcome.COMPLETED:
                self._must_fit(ask, response, caller)
        # Given back first: whoever waits finds it whole once the ask is settled.
        if seat:
            end = _ENDS[ended] if ask.pending else VisitEnd.STOPPED
            self._rise(seat, caller, end, response, transcript, duration_ms)
        if ended == SessionOutcome.COMPLETED:
            return answer_ask.answer(store, ask_id, caller, Given(response))[1]
        if ended == SessionOutcome.CANCELLED:
            return create_ask.cancel(store, ask_id, caller, str(response or ""))
        if not ask.pending:
            raise AlreadySettledError(settled_sentence(ask))
        return create_ask.get(store, ask_id)

    def _rise(
        self,
        seat: AskVisit,
        caller: Caller,
        end: VisitEnd,
        response: Any = None,
        transcript: str | None = None,
        duration_ms: float | None = None,
    ) -> None:
        keeps = transcript and seat.terms.capture_transcript
        with self._lock:
            # Another thread may have given it back meanwhile.
            if self._seats.get(seat.ask.id) is not seat:
                return
            ask_session.close_visit(
                self._inbox.store,
                seat.visit,
                caller,
                end,
                problem=str(response or "no reason given") if end == VisitEnd.FAILED else "",
                transcript=redact(str(transcript)) if keeps else "",
                seconds=None if duration_ms is None else duration_ms / 1000,
            )
            del self._seats[seat.ask.id]

    def _must_fit(self, ask: Ask, response: Any, caller: Caller) -> None:
        try:
            interpret(ask.question, plain(response))
        except InvalidAnswerError:
            # Kept beside the ask like every answer, and refused.
            answer_ask.answer(self._inbox.store, ask.id, caller, Given(response))


def session(outcome: Outcome, wanted: ExpectedAnswer) -> Session:
    """What came of a session, with the response that was wished for."""
    return cast("Session", outcome).convert_response(wanted.granted)
