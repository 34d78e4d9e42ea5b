"""`Human`: a handle that asks one question at a time, in a session if that is wanted."""

from __future__ import annotations

import os
import sys
import threading
from typing import TYPE_CHECKING, Any, Protocol, cast

from gatebell.api.keywords import suggest_options
from gatebell.api.schemas import expect_answer
from gatebell.api.session_options import build_request
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
from gatebell.services.asks import answer_ask, create_ask
from gatebell.services.sessions import ask_session

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Unpack

    from gatebell.api.schemas import ExpectedAnswer
    from gatebell.api.session_options import InteractiveOptions
    from gatebell.domain.asks.ask_options import AskOptions
    from gatebell.domain.asks.asks import Ask
    from gatebell.domain.asks.outcomes import Outcome, Session
    from gatebell.domain.people.principals import Caller
    from gatebell.ports.backends.backend import Backend
    from gatebell.ports.store import Store
    from gatebell.services.asks.create_ask import Request
    from gatebell.services.sessions.ask_session import AskVisit

    class Inbox(Protocol):
        """The part of a `Gate` that a handle needs."""

        @property
        def store(self) -> Store: ...

        backend: Backend
        token: str

        def open(
            self,
            prompt: str,
            kind: str,
            *,
            options: Sequence[str] = ...,
            **more: Unpack[AskOptions],
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
# One session at a time has the terminal; other asks of this process wait for an answer elsewhere.
_terminal = threading.Lock()


@suggest_options
class Human:
    """A handle that asks one thing at a time; make another one for two at once.

    Example:
        human = Gate().human
        review = human.ask_interactive("Is this schema good?", returns=Approval)
        print(review.response, review.duration_ms)
    """

    def __init__(self, inbox: Inbox) -> None:
        self._inbox = inbox
        self._lock = threading.Lock()
        self._ask_id: str | None = None
        self._opening = False
        self._visits: dict[str, AskVisit] = {}

    @property
    def status(self) -> HandleStatus:
        """`idle`, `pending` or `resolved`: how far the last ask is."""
        if self._opening:
            return HandleStatus.PENDING
        if self._ask_id is None:
            return HandleStatus.IDLE
        is_pending = self._inbox.backend.get(self._ask_id).pending
        return HandleStatus.PENDING if is_pending else HandleStatus.RESOLVED

    @property
    def ask_id(self) -> str | None:
        """The id of the last ask, for `gate continue ID` and `wait`; None before the first."""
        return self._ask_id

    def ask(self, prompt: str, options: Sequence[str] = (), **more: Unpack[AskOptions]) -> Outcome:
        """Ask for a text, or with options for one of them, and wait for it.

        Args:
            prompt: the question
            options: the options of a choice
            more: `context`, `timeout` and all others of `AskOptions`

        Returns:
            The outcome: its `.value` is the text or the option. It is neither true nor false.

        Raises:
            UsageError: The last ask of this handle is still pending.
        """
        return self._inbox.wait(self.open(prompt, options, **more))

    def ask_interactive(self, prompt: str, **options: Unpack[InteractiveOptions]) -> Session:
        """Ask a question that a person works out with an agent, and wait for the result.

        The session opens at the terminal of this program, if a person is there. All others open
        it with `gate continue ID`.

        Args:
            prompt: the question
            options: `returns`, `context`, `timeout` and all others of `InteractiveOptions`

        Raises:
            UnknownOptionError: An option does not exist.
            UsageError: The last ask of this handle is still pending.
        """
        ask_id, expected = self.open_interactive(prompt, options)
        self.open_here(ask_id)
        return convert_session(self._inbox.wait(ask_id), expected)

    def wait(self, ask_id: str, returns: object = None) -> Session:
        """Wait for a session that was asked for before, even if that process has died.

        Args:
            ask_id: the ask's id
            returns: the same as in `ask_interactive`

        Raises:
            UsageError: The ask is not a session.
        """
        expected = self.expect(ask_id, returns)
        return convert_session(self._inbox.wait(ask_id), expected)

    def cancel(self, reason: str = "") -> Ask:
        """Cancel the pending ask, from any thread; the waiting call returns `cancelled`.

        Raises:
            UsageError: This handle has no pending ask.
        """
        with self._lock:
            if self._ask_id is None or self.status != HandleStatus.PENDING:
                raise UsageError("this handle has no pending ask to cancel")
            return self._inbox.backend.cancel(self._ask_id, self._inbox.caller(), reason)

    def open(self, prompt: str, options: Sequence[str] = (), **more: Unpack[AskOptions]) -> str:
        """Ask without waiting; return the ask's id."""
        kind = AskKind.CHOICE if options else AskKind.TEXT
        return self._open(lambda: self._inbox.open(prompt, kind, options=options, **more))

    def open_interactive(
        self, prompt: str, options: InteractiveOptions
    ) -> tuple[str, ExpectedAnswer]:
        """Ask for a session without waiting; return the ask's id and the expected answer."""
        request, expected = build_request(prompt, options)
        return self._open(lambda: self._inbox.send(request)), expected

    def _open(self, opening: Callable[[], str]) -> str:
        with self._lock:
            if self.status == HandleStatus.PENDING:
                raise UsageError(
                    f"{self._ask_id} is still pending here, and a handle asks one thing at a time: "
                    "wait for it, cancel it, or ask with another Human(gate)"
                )
            # No caller may take the old id for the new one while the ask is opened.
            self._ask_id, self._opening = None, True
            try:
                self._ask_id = opening()
            finally:
                self._opening = False
            return self._ask_id

    def expect(self, ask_id: str, returns: object) -> ExpectedAnswer:
        """Return the expected answer of a session that was asked for before."""
        if self._inbox.backend.get(ask_id).question.kind != AskKind.SESSION:
            raise UsageError(f"{ask_id} is not a session: gate wait {ask_id}")
        return expect_answer(returns)

    def open_here(self, ask_id: str) -> None:
        """Open a session in this terminal if a person is there; return when they leave it."""
        if not self._is_attended() or not _terminal.acquire(blocking=False):
            return
        # Imported here: most programs that ask are not at a terminal.
        import subprocess

        environ = dict(self._inbox.store.environ)
        if self._inbox.token:
            environ["GATE_TOKEN"] = self._inbox.token
        # -P: a file of this folder must not be taken for gatebell.
        words = [sys.executable, "-P", "-m", "gatebell", "continue", ask_id]
        interrupted = False
        try:
            child = subprocess.Popen(words, env=os.environ | environ)
            while child.returncode is None:
                try:
                    child.wait()
                except KeyboardInterrupt:
                    # The terminal interrupts the child, too, which then says how to go on.
                    interrupted = True
        finally:
            _terminal.release()
        if interrupted:
            raise KeyboardInterrupt

    def _is_attended(self) -> bool:
        at_terminal, store = wiring.terminal().is_attended(), self._inbox.backend.store
        # Without a store of this machine, no session opens here: gate continue says where.
        has_store = store is not None and store.local_path
        return bool(at_terminal and has_store and not self._inbox.caller().agent)

    def request_interactive(self, prompt: str, config: InteractiveOptions | None = None) -> str:
        """Ask for a session without waiting, beside the other asks of this handle.

        Args:
            prompt: the question
            config: the options of `ask_interactive`

        Returns:
            The ask's id.
        """
        return self._inbox.send(build_request(prompt, config or {})[0])

    def list_pending(self, kind: str | None = None) -> list[Ask]:
        """Return the pending asks of all askers, or those of one kind.

        Raises:
            UsageError: The kind does not exist.
        """
        if kind not in (None, *AskKind):
            near = suggest(str(kind), AskKind) or f"; there are {', '.join(AskKind)}"
            raise UsageError(f"{kind!r} is not a kind of ask{near}")
        found = self._inbox.backend.pending(_MAX_LISTED)
        return [ask for ask in found if kind in (None, ask.question.kind)]

    def claim(self, ask_id: str, cli: str = "", session: str = "") -> AskVisit:
        """Take a session, so that no other process opens it.

        Args:
            ask_id: the ask's id
            cli: the program of a new conversation
            session: the id of a new conversation in that program; one that was begun before
                goes on

        Returns:
            The visit: its `visit_id`, its `session_id`, its terms and the time that is left.

        Raises:
            RefusedError: Another process has it; the text says which.
        """
        store, caller = self._inbox.store, self._inbox.caller()
        with self._lock:
            # Another thread may be giving it back, and removes the visit that it ended.
            visit = ask_session.open_visit(store, ask_id, caller, cli, session)
            self._visits[ask_id] = visit
        return visit

    def release(self, ask_id: str) -> None:
        """Give a session back without a decision; the ask stays pending.

        Raises:
            UsageError: This handle did not claim it.
        """
        if ask_id not in self._visits:
            raise UsageError(f"the session of {ask_id} was not claimed here")
        self._leave(self._visits[ask_id], self._inbox.caller(), VisitEnd.LEFT)

    def complete_interactive(
        self,
        ask_id: str,
        outcome: str,
        response: Any = None,
        transcript: str | None = None,
        duration_ms: float | None = None,
    ) -> Ask:
        """Give a session back with its outcome.

        Args:
            ask_id: the ask's id
            outcome: `completed` answers the ask as the caller, who is a person. `cancelled`
                cancels it. `timeout` says that the time is over. `failed` records an attempt that
                failed.
            response: the answer; for `cancelled` and `failed` the reason
            transcript: the words of the conversation, kept if the asker wants them
            duration_ms: how long it took; without it, the time since the claim

        Returns:
            The ask after that.

        Raises:
            InvalidAnswerError: The response does not fit the question; the claim stays.
            AlreadySettledError: Another answer was faster.
            RefusedError: The caller is an agent, or another process has the session.
        """
        ended = next((one for one in _ENDS if one == outcome), None)
        if ended is None:
            raise UsageError(f"a session's outcome is {', '.join(_ENDS)}, not {outcome!r}")
        if duration_ms is not None and not (
            isinstance(duration_ms, int | float) and 0 <= duration_ms < 1e12
        ):
            raise UsageError(f"duration_ms is a number of milliseconds, not {duration_ms!r}")
        store, caller = self._inbox.store, self._inbox.caller()._replace(via=VIA)
        ask, visit = create_ask.get(store, ask_id), self._visits.get(ask_id)
        if ask.pending:
            visit = visit or self.claim(ask_id)
            if ended == SessionOutcome.COMPLETED:
                self._must_fit(ask, response, caller)
        # The visit ends first: an asker who sees the ask settled must find the visit complete.
        if visit:
            end = _ENDS[ended] if ask.pending else VisitEnd.STOPPED
            self._leave(visit, caller, end, response, transcript, duration_ms)
        if ended == SessionOutcome.COMPLETED:
            return answer_ask.answer(store, ask_id, caller, Given(response))[1]
        if ended == SessionOutcome.CANCELLED:
            return create_ask.cancel(store, ask_id, caller, str(response or ""))
        if not ask.pending:
            raise AlreadySettledError(settled_sentence(ask))
        return create_ask.get(store, ask_id)

    def _leave(
        self,
        visit: AskVisit,
        caller: Caller,
        end: VisitEnd,
        response: Any = None,
        transcript: str | None = None,
        duration_ms: float | None = None,
    ) -> None:
        keeps = transcript and visit.terms.capture_transcript
        with self._lock:
            # Another thread may have given it back before this one.
            if self._visits.get(visit.ask.id) is not visit:
                return
            ask_session.close_visit(
                self._inbox.store,
                visit.visit,
                caller,
                end,
                problem=str(response or "no reason given") if end == VisitEnd.FAILED else "",
                transcript=redact(str(transcript)) if keeps else "",
                seconds=None if duration_ms is None else duration_ms / 1000,
            )
            del self._visits[visit.ask.id]

    def _must_fit(self, ask: Ask, response: Any, caller: Caller) -> None:
        try:
            interpret(ask.question, plain(response))
        except InvalidAnswerError:
            # Answered all the same: the store keeps refused answers, too, and raises the error.
            answer_ask.answer(self._inbox.store, ask.id, caller, Given(response))


def convert_session(outcome: Outcome, expected: ExpectedAnswer) -> Session:
    """Return the result of a session, with a response of the expected type."""
    return cast("Session", outcome).convert_by(expected.convert)
