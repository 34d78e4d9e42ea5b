"""A person's stay in the session of an ask: taking it, one at a time, and giving it back."""

from __future__ import annotations

import os
from datetime import timedelta
from typing import TYPE_CHECKING, NamedTuple

from gatebell.domain.asks.asks import make_id, settled_sentence
from gatebell.domain.asks.requirements import why_not
from gatebell.domain.enums import AskKind, VisitEnd
from gatebell.domain.people.principals import must_be_a_person
from gatebell.domain.sessions import changes, visits
from gatebell.domain.sessions.visits import GRACE_SECONDS, LOST, Sitting, Terms
from gatebell.domain.text.display import storable
from gatebell.errors import AlreadySettledError, RefusedError, TimedOutError, UsageError
from gatebell.ports.results import Done
from gatebell.services.asks import create_ask
from gatebell.services.asks.apply_deadlines import fall_due
from gatebell.services.sessions import presence
from gatebell.services.sessions.lost_visits import close_lost

if TYPE_CHECKING:
    from collections.abc import Callable

    from gatebell.domain.asks.asks import Ask, Change
    from gatebell.domain.people.principals import Caller
    from gatebell.ports.store import Store

MAY_STAY_SECONDS = 8 * 3600.0
"""Where nobody said how long a session may last, a deadline leaves so long to who comes."""

_MOST_TRANSCRIPT_CHARACTERS = 4_000_000


class Seated(NamedTuple):
    """A session in a person's hands."""

    ask: Ask
    sitting: Sitting
    terms: Terms
    goes_on: bool
    """There is a conversation already, and it is resumed."""
    seconds_left: float | None
    """Until its time is up, where it is limited."""

    @property
    def cwd(self) -> str:
        return os.path.join(self.ask.origin.cwd, self.terms.cwd)

    @property
    def mcp_config(self) -> str:
        named = self.terms.mcp_config
        return os.path.join(self.ask.origin.cwd, named) if named else ""


def sit(store: Store, ask_id: str, caller: Caller, cli: str, session: str) -> Seated:
    """Take the session of an ask; RefusedError says who has it.

    A new conversation is with this program and has this id; one that was begun goes on.
    """
    must_be_a_person(caller, "opens a session")
    while True:
        ask = fall_due(store, create_ask.get(store, ask_id))
        terms = _terms(ask, caller)
        now, earlier = store.now(), store.asks.sittings(ask.id)
        if earlier and not earlier[-1].ended_at:
            _must_be_left(store, earlier[-1])
            continue
        left = visits.seconds_left(terms, earlier, now)
        if left == 0:
            raise TimedOutError(f"the time of {ask.id} is used up: gate answer {ask.id}")
        begun = visits.conversation(terms, earlier, cli)
        cli, session = begun or (cli, session)
        _must_be_free(store, ask, cli, session)
        new = Sitting(
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
        seconds = GRACE_SECONDS + (MAY_STAY_SECONDS if left is None else left)
        change = changes.sit(ask, new, caller, seconds)
        if _is_entered(store, change, new):
            return Seated(change.ask, new, terms, begun is not None, left)


def _is_entered(store: Store, change: Change, new: Sitting) -> bool:
    """Whether the visit is written; from then on each process sees that its holder lives."""
    store.machine.enter_visit(new.id)
    written = False
    try:
        written = isinstance(store.asks.change(change, change.ask.version - 1), Done)
    finally:
        if not written:
            store.machine.leave_visit(new.id)
    return written


def _terms(ask: Ask, caller: Caller) -> Terms:
    question, origin = ask.question, ask.origin
    if question.session is None:
        raise UsageError(f"{ask.id} is no session: answer it with gate answer {ask.id}")
    if not ask.pending:
        raise AlreadySettledError(settled_sentence(ask))
    if reason := why_not(question.requirement, origin.sponsor, origin.session, caller):
        raise RefusedError(reason)
    return question.session


def _must_be_left(store: Store, holder: Sitting) -> None:
    """RefusedError names the holder of a session, or the processes that outlive the holder."""
    orphans = presence.orphans(store, holder)
    if orphans or presence.lives(store, holder):
        raise RefusedError(visits.held(holder, holder.ask_id, orphans, store.now()))


def stays(store: Store, ask_id: str) -> list[Sitting]:
    """Every stay in a session; one whose process died is lost, though nobody has closed it yet."""
    found = store.asks.sittings(ask_id)
    return [
        one
        if one.ended_at or presence.holds(store, one)
        else one._replace(ended_at=store.now(), end=LOST)
        for one in found
    ]


def _must_be_free(store: Store, ask: Ask, cli: str, session: str) -> None:
    """A conversation has one holder, be it through another ask or the agent of a run."""
    if other := store.asks.holder(cli, session):
        _must_be_left(store, other)
        close_lost(store, create_ask.get(store, other.ask_id))
    turn = store.runs.holder(cli, session)
    if turn and (not turn.by or presence.holds(store, turn)):
        raise RefusedError(
            f"run {turn.run} is at work in the conversation that {ask.id} goes on with: wait until "
            f"it needs you, or answer without it: gate answer {ask.id}"
        )


def began(store: Store, sitting: Sitting, program: str) -> Sitting:
    """The agent's program runs, as this process."""
    after = sitting._replace(program=program)
    _write(store, sitting.ask_id, lambda ask: changes.at_work(ask, after))
    return after


def rise(
    store: Store,
    sitting: Sitting,
    caller: Caller,
    end: VisitEnd,
    *,
    trouble: str = "",
    transcript: str = "",
    session: str = "",
    seconds: float | None = None,
) -> Ask:
    """Give the session back, with how it ended; the ask as it is after that.

    `seconds` is how long it was, where whoever had it measured that.
    """
    now = store.now()
    closed = sitting._replace(
        started_at=sitting.started_at if seconds is None else now - timedelta(seconds=seconds),
        ended_at=now,
        end=end,
        trouble=storable(trouble),
        transcript=storable(transcript)[-_MOST_TRANSCRIPT_CHARACTERS:],
        session=session or sitting.session,
    )

    def leave(ask: Ask) -> Change | None:
        kept = store.asks.sitting(sitting.id)
        if kept and kept.ended_at:
            # Another process found it lost and closed it: its asker may have it by now.
            return None
        terms = ask.question.session
        assert terms, "a sitting is one of a session ask"
        earlier = [one for one in store.asks.sittings(ask.id) if one.id != sitting.id]
        failed = visits.failures([*earlier, closed])
        given_up = end == visits.FAILED and 0 < terms.max_attempts <= failed
        return changes.rise(ask, closed, caller.actor, given_up=given_up)

    after = _write(store, sitting.ask_id, leave)
    store.machine.leave_visit(sitting.id)
    return after


def _write(store: Store, ask_id: str, step: Callable[[Ask], Change | None]) -> Ask:
    while True:
        ask = create_ask.get(store, ask_id)
        change = step(ask)
        if change is None:
            return ask
        if isinstance(store.asks.change(change, ask.version), Done):
            return change.ask


def fail(store: Store, ask_id: str, caller: Caller, reason: str) -> Ask:
    """A person says that nothing will come of a session: its asker gets `failed`."""
    must_be_a_person(caller, "gives a session up")
    if create_ask.get(store, ask_id).question.kind != AskKind.SESSION:
        raise UsageError(f"{ask_id} is no session: gate cancel {ask_id}")
    return create_ask.cancel(store, ask_id, caller._replace(via=visits.FAILED), reason)
