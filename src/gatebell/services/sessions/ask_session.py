"""The session of an ask: a person opens it, works on the question, and leaves it."""

from __future__ import annotations

import os
import signal
from datetime import timedelta
from typing import TYPE_CHECKING, NamedTuple

from gatebell.domain.asks.asks import make_id, settled_sentence
from gatebell.domain.asks.requirements import why_not
from gatebell.domain.enums import AskKind, VisitEnd
from gatebell.domain.people.principals import must_be_a_person
from gatebell.domain.sessions import changes, session_prompt, visits as rules
from gatebell.domain.sessions.visits import FAILED, GRACE_SECONDS, Terms, Visit
from gatebell.domain.text.display import storable
from gatebell.errors import AlreadySettledError, AskExpiredError, RefusedError, UsageError
from gatebell.ports.results import Done
from gatebell.services.asks import create_ask
from gatebell.services.sessions import visit_session, visits
from gatebell.services.sessions.visit_session import MAY_STAY_SECONDS

if TYPE_CHECKING:
    from collections.abc import Callable

    from gatebell.domain.asks.asks import Ask, Change
    from gatebell.domain.people.principals import Caller
    from gatebell.domain.sessions.proposals import Proposal
    from gatebell.ports.agents import Host, Talk
    from gatebell.ports.store import Store
    from gatebell.services.sessions.visit_session import ProgramEnd

_MAX_TRANSCRIPT_CHARACTERS = 4_000_000
_SOON_SECONDS = 3.0
# People leave many programs with Ctrl+C.
_INTERRUPTED = (-signal.SIGINT, 128 + signal.SIGINT)


class AskVisit(NamedTuple):
    """A person's visit in the session of an ask."""

    ask: Ask
    visit: Visit
    terms: Terms
    goes_on: bool
    """Whether an existing conversation is resumed."""
    seconds_left: float | None
    """Until the time limit, if there is one."""

    @property
    def visit_id(self) -> str:
        """The visit's id; all programs of the session carry it in GATE_TURN."""
        return self.visit.id

    @property
    def session_id(self) -> str:
        """The conversation's id, as `PROGRAM/ID`."""
        return self.visit.conversation

    @property
    def session(self) -> str:
        """The part of the conversation's id that its program knows; empty before it is known."""
        return self.visit.session

    @property
    def cwd(self) -> str:
        return os.path.join(self.ask.origin.cwd, self.terms.cwd)

    @property
    def mcp_config(self) -> str:
        named = self.terms.mcp_config
        return os.path.join(self.ask.origin.cwd, named) if named else ""


class AskSession:
    """The session of an ask; `cli` and `session` are for a new conversation."""

    def __init__(self, cli: str, session: str) -> None:
        self._new, self._goes_on = (cli, session), False
        self._seconds_left: float | None = None

    def find(self, store: Store, ask: Ask, caller: Caller) -> Visit | None:
        terms = _find_terms(ask, caller)
        now, earlier = store.now(), store.asks.visits(ask.id)
        if earlier and not earlier[-1].ended_at:
            visit_session.must_be_left(store, earlier[-1], ask.id)
            return None
        self._seconds_left = rules.seconds_left(terms, earlier, now)
        if self._seconds_left == 0:
            raise AskExpiredError(
                f"the time limit of {ask.id} is used up. Answer it: gate answer {ask.id}"
            )
        begun = rules.conversation(terms, earlier, self._new[0])
        self._goes_on = begun is not None
        cli, session = begun or self._new
        return Visit(
            id=make_id(12, os.urandom(16), "t-"),
            ask_id=ask.id,
            number=len(earlier) + 1,
            by=caller.actor,
            cli=cli,
            session=session,
            process=str(store.machine.me()),
            started_at=now,
            expires_at=ask.deadlines.expires_at,
        )

    def enter(self, store: Store, ask: Ask, ask_visit: Visit, caller: Caller) -> AskVisit | None:
        left, terms = self._seconds_left, _find_terms(ask, caller)
        seconds = GRACE_SECONDS + (MAY_STAY_SECONDS if left is None else left)
        change = changes.open_visit(ask, ask_visit, caller, seconds)
        if not isinstance(store.asks.change(change, ask.version), Done):
            return None
        return AskVisit(change.ask, ask_visit, terms, self._goes_on, left)


def _find_terms(ask: Ask, caller: Caller) -> Terms:
    question, origin = ask.question, ask.origin
    if question.session is None:
        raise UsageError(f"{ask.id} is not a session. Answer it: gate answer {ask.id}")
    if not ask.pending:
        raise AlreadySettledError(settled_sentence(ask))
    if reason := why_not(question.requirement, origin.started_by, origin.session, caller):
        raise RefusedError(reason)
    return question.session


def open_visit(store: Store, ask_id: str, caller: Caller, cli: str, session: str) -> AskVisit:
    """Take the session of an ask; RefusedError names the holder.

    `cli` and `session` are for a new conversation; an existing one continues.
    """
    return visit_session.open_visit(store, ask_id, caller, AskSession(cli, session))


def note_program(store: Store, visit: Visit, program: str) -> Visit:
    """Record that the agent's program runs, as this process."""
    after = visit._replace(program=program)
    _write(store, visit.ask_id, lambda ask: changes.update_visit(ask, after))
    return after


def close_visit(
    store: Store,
    visit: Visit,
    caller: Caller,
    end: VisitEnd,
    *,
    problem: str = "",
    transcript: str = "",
    session: str = "",
    seconds: float | None = None,
) -> Ask:
    """Give the session back with its end; return the ask after that.

    `seconds` is the duration that the visitor's program measured, if it did.
    """
    now = store.now()
    closed = visit._replace(
        started_at=visit.started_at if seconds is None else now - timedelta(seconds=seconds),
        ended_at=now,
        end=end,
        problem=storable(problem),
        transcript=storable(transcript)[-_MAX_TRANSCRIPT_CHARACTERS:],
        session=session or visit.session,
    )

    def close(ask: Ask) -> Change | None:
        kept = store.asks.visit(visit.id)
        if kept and kept.ended_at:
            # Another process found it lost and closed it. Its asker may have the result already.
            return None
        terms = ask.question.session
        assert terms, "a visit needs a session ask"
        earlier = [one for one in store.asks.visits(ask.id) if one.id != visit.id]
        failed = rules.failures([*earlier, closed])
        given_up = end == FAILED and 0 < terms.max_attempts <= failed
        return changes.close_visit(ask, closed, caller.actor, given_up=given_up)

    after = _write(store, visit.ask_id, close)
    store.machine.leave_visit(visit.id)
    return after


def _write(store: Store, ask_id: str, step: Callable[[Ask], Change | None]) -> Ask:
    while True:
        ask = create_ask.get(store, ask_id)
        change = step(ask)
        if change is None:
            return ask
        if isinstance(store.asks.change(change, ask.version), Done):
            return change.ask


def leave(
    store: Store,
    ask_visit: AskVisit,
    caller: Caller,
    host: Host,
    ended: ProgramEnd | None,
    problem: str,
    seconds: float,
) -> tuple[Ask, Visit]:
    """Close a visit in one of our programs, with the content of its log; return ask and visit.

    `ended` is None if the program could not be opened; `problem` is the reason. `seconds` is the
    duration of the visit.
    """
    visit, mark = ask_visit.visit, session_prompt.mark(ask_visit.ask.id)
    session = visit.session or host.found_session(mark, visit.started_at)
    talk = visits.talk(store, host, session, visit.ask_id, visit.started_at)
    # A command has no log of the conversation.
    said = bool(talk.said) if talk else seconds > _SOON_SECONDS
    end = FAILED if problem else VisitEnd.LEFT
    if ended:
        end, problem = _judge_end(ended, talk, said, visit.cli)
    if end == FAILED and not said and not ask_visit.goes_on:
        # No conversation began, so the next attempt may use another program.
        visit, session = visit._replace(session=""), ""
    words = ""
    if ask_visit.terms.capture_transcript:
        since = rules.find_transcript_gap(store.asks.visits(visit.ask_id))
        words = visits.transcript(visits.talk(store, host, session, visit.ask_id, since))
    ask = close_visit(store, visit, caller, end, problem=problem, transcript=words, session=session)
    return ask, visit._replace(end=end, problem=problem, session=session)


def _judge_end(ended: ProgramEnd, talk: Talk | None, said: bool, cli: str) -> tuple[VisitEnd, str]:
    """Return how the visit ended, and the reason if it failed."""
    if ended.why or ended.signalled:
        return VisitEnd(ended.why) if ended.why else VisitEnd.LEFT, ""
    if talk and talk.problem:
        return FAILED, f"{cli} could not start a conversation: {talk.problem}"
    if ended.code in _INTERRUPTED:
        return VisitEnd.LEFT, ""
    if ended.code < 0:
        return FAILED, f"{cli} was ended by signal {-ended.code}"
    if ended.code and not said:
        return FAILED, f"{cli} ended with exit code {ended.code} before anything was said"
    return VisitEnd.LEFT, ""


def find_proposal(store: Store, ask: Ask, host: Host) -> Proposal | None:
    """Return the answer that the conversation suggests, from all visits of the ask."""
    earlier = store.asks.visits(ask.id)
    session = next((one.session for one in reversed(earlier) if one.session), "")
    talk = visits.talk(store, host, session, ask.id, earlier[0].started_at)
    files_folder, first = (
        visits.files_folder(store.local_path, ask.id),
        visits.first_words(store, ask.id),
    )
    ours = session_prompt.list_injected(ask.question, files_folder, first)
    return visits.propose_answer(ask.question, talk, ours)


def fail(store: Store, ask_id: str, caller: Caller, reason: str) -> Ask:
    """Let a person give up a session: its asker gets `failed`."""
    must_be_a_person(caller, "gives a session up")
    if create_ask.get(store, ask_id).question.kind != AskKind.SESSION:
        raise UsageError(f"{ask_id} is not a session. Cancel it: gate cancel {ask_id}")
    return create_ask.cancel(store, ask_id, caller._replace(via=FAILED), reason)
